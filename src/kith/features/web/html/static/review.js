/* Questions: which pieces are kept, what is said about them, and the answer that is sent. */

const FORM = "form[data-review]";
const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox])";
const YES = { y: "yes", n: "no", a: "always", e: "edit" };

const watched = new WeakSet();

/** Let the questions in `root` be answered, now and whenever others come; calling it again does no harm. */
export function attach(root = document) {
  showViews(root);
  for (const form of root.querySelectorAll(FORM)) {
    count(form);
    form.dataset.ready = "";
  }
  if (watched.has(root.ownerDocument ?? root)) return;
  const page = root.ownerDocument ?? root;
  watched.add(page);
  page.addEventListener("submit", onSubmit, true);
  page.addEventListener("keydown", onKey, true);
  page.addEventListener("click", onClick);
  page.addEventListener("change", onChange);
  page.addEventListener("input", onInput);
}

// --- what a person does -------------------------------------------------------------------------

function onSubmit(event) {
  const form = event.target.closest(FORM);
  if (!form) return;
  event.preventDefault();
  event.stopPropagation(); // other scripts post other forms
  answer(form, event.submitter?.value ?? meant(form));
}

function onClick({ target }) {
  const button = target.closest(`${FORM} button.comment`);
  if (button) comment(button.closest(".piece"));
}

function onChange({ target }) {
  if (target.matches(".beside")) remember(target.checked);
  const form = target.closest(FORM);
  if (form) count(form);
}

function onInput({ target }) {
  const form = target.closest(FORM);
  if (!form) return;
  delete form.dataset.warned;
  if (target.name === "draft") count(form);
}

function onKey(event) {
  const { key, target } = event;
  if (event.altKey || document.querySelector("dialog[open]")) return;
  const form = target.closest(FORM);
  if (target.matches(TYPED)) {
    if (form && key === "Enter" && (event.ctrlKey || event.metaKey)) done(event, () => answer(form, meant(form)));
    else if (form && key === "Escape") done(event, () => (target.closest(".piece") ?? first(form))?.focus());
    return;
  }
  if (event.ctrlKey || event.metaKey) return;
  if (key === "u" || key === "s") {
    if (document.querySelector(".beside")) done(event, () => show(key === "s"));
    return;
  }
  const open = form ?? (target === document.body || target.matches("main") ? document.querySelector(FORM) : null);
  if (!open || "over" in open.dataset) return;
  if (key === "Enter" && !form) return; // nobody agrees to a change before standing on it
  const act = pieces(open).length ? choosing(open, event) : deciding(open, key);
  if (act) done(event, act);
}

function done(event, act) {
  event.preventDefault();
  event.stopPropagation();
  act();
}

/** What a key does in a question whose parts can be chosen. */
function choosing(form, { key, target }) {
  const here = target.closest(".piece");
  const by = { j: 1, k: -1, ...(here && { ArrowDown: 1, ArrowUp: -1 }) }[key];
  if (by) return () => move(form, here, by);
  if (key === "A" || key === "N") return () => keepAll(form, key === "A");
  if (key === "d") return () => openWords(form);
  if (key === "Enter" && !target.matches("button, summary, a")) return () => answer(form, meant(form));
  if (!here) return null;
  if (key === "y" || key === "n") return () => keep(form, here, key === "y");
  return key === "c" ? () => comment(here) : null;
}

/** What a key does in a question of a few answers: it goes to one, and Enter gives it. */
function deciding(form, key) {
  if (key === "d" && form.querySelector(".revise")) return () => openWords(form);
  const values = [YES[key], { y: "all", n: "none" }[key]];
  const button = [...form.querySelectorAll("button[name=choice]")].find((each) => values.includes(each.value) && !each.disabled);
  return button ? () => button.focus() : null;
}

// --- pieces -------------------------------------------------------------------------------------

const pieces = (form) => [...form.querySelectorAll(".piece[data-piece]")];
const isKept = (piece) => piece.querySelector(".keep input").checked;
const words = (field) => field?.value.trim() ?? "";
const first = (form) => form.querySelector("button:not(:disabled)");

function move(form, here, by) {
  const all = pieces(form);
  const next = here ? all.indexOf(here) + by : by > 0 ? 0 : all.length - 1;
  stand(all[Math.max(0, Math.min(all.length - 1, next))]);
}

/** Stand on a piece: it is opened if it was folded, and read out. */
function stand(piece) {
  piece.closest("details").open = true;
  piece.tabIndex = -1;
  piece.focus({ preventScroll: true });
  const bar = piece.closest(FORM).querySelector(".asking").getBoundingClientRect();
  const talk = document.querySelector("#talk")?.getBoundingClientRect().top ?? innerHeight;
  const top = Math.max(bar.bottom, 0) + 8, end = Math.min(talk, innerHeight) - 8; // what nothing covers
  const { top: at, bottom, height } = piece.getBoundingClientRect();
  if (at < top || bottom > end) scrollBy({ top: height > end - top || at < top ? at - top : bottom - end });
}

function keep(form, piece, kept) {
  piece.querySelector(".keep input").checked = kept;
  count(form);
  move(form, piece, 1);
}

function keepAll(form, kept) {
  for (const piece of pieces(form)) piece.querySelector(".keep input").checked = kept;
  count(form);
  form.querySelector("button.first:not(:disabled)").focus(); // Enter gives this answer
}

function comment(piece) {
  const place = piece.querySelector(".said-here");
  place.hidden = false;
  place.querySelector("textarea").focus();
}

/** Say how much is kept, and offer what that allows. */
function count(form) {
  let all = 0, kept = 0;
  for (const file of form.querySelectorAll(".file[data-path]")) {
    const own = [...file.querySelectorAll(".piece[data-piece]")], yes = own.filter(isKept).length;
    file.querySelector(".kept").textContent = `${yes} of ${own.length} kept`;
    [all, kept] = [all + own.length, kept + yes];
  }
  const some = form.querySelector("button[value=some]");
  if (some) {
    some.disabled = kept === all || kept === 0;
    some.firstChild.textContent = some.disabled ? "Apply what is kept" : `Apply the ${kept} of ${all} kept`;
    some.classList.toggle("first", !some.disabled);
    form.querySelector("button[value=all]").classList.toggle("first", kept === all);
    form.querySelector("button[value=none]").classList.toggle("first", kept === 0);
  }
  const draft = form.querySelector("textarea[name=draft]");
  if (draft) { // who has changed the text does not agree to the one before
    const changed = draft.value !== draft.defaultValue;
    form.querySelector("button[value=yes]").disabled = changed;
    const edit = form.querySelector("button[value=edit]");
    if (edit) edit.disabled = !changed;
  }
}

// --- how it is shown ----------------------------------------------------------------------------

function show(beside) {
  for (const box of document.querySelectorAll(".beside")) box.checked = beside;
  remember(beside);
}

function remember(beside) {
  try { localStorage.setItem("beside", beside ? "yes" : "no"); } catch { /* it holds until the page is left */ }
}

function showViews(root) {
  let kept = null;
  try { kept = localStorage.getItem("beside"); } catch { /* as the server drew it */ }
  if (kept) for (const box of root.querySelectorAll(".beside")) box.checked = kept === "yes";
}

// --- the answer ---------------------------------------------------------------------------------

function openWords(form) {
  const place = form.querySelector(".revise");
  if (!place) return;
  place.open = true;
  place.querySelector("textarea").focus();
}

/** What an answer without a button means: the words that were written, the text that was changed, what is kept. */
function meant(form) {
  if (said(form) && form.querySelector("button[value=revise]")) return "revise";
  const button = form.querySelector("button.first:not([value=revise]):not(:disabled), button[value=edit]:not(:disabled)");
  return form.querySelector("button[value=edit]:not(:disabled)")?.value ?? button?.value ?? "";
}

/** What should be different: the person's words, and under each part's place what was said there. */
function said(form) {
  const parts = pieces(form).map((piece) => {
    const text = words(piece.querySelector("textarea"));
    if (!text) return "";
    const path = JSON.parse(piece.closest(".file").dataset.path), where = piece.dataset.where;
    return `In ${path}${where ? `, ${where}` : ""}: ${text}`;
  });
  return [words(form.querySelector("textarea[name=text]")), ...parts].filter(Boolean).join("\n\n");
}

function kept(form) {
  return [...form.querySelectorAll(".file[data-path]")]
    .map((file) => ({
      path: JSON.parse(file.dataset.path),
      hunks: [...file.querySelectorAll(".piece[data-piece]")].filter(isKept).map((piece) => Number(piece.dataset.piece)),
    }))
    .filter(({ hunks }) => hunks.length);
}

function bodyOf(form, choice) {
  if (choice === "some") return { choice, kept: kept(form) };
  if (choice === "edit") return { choice, text: form.querySelector("textarea[name=draft]").value };
  return choice === "revise" ? { choice, text: said(form) } : { choice };
}

async function answer(form, choice) {
  if (!choice || "busy" in form.dataset || "over" in form.dataset) return;
  if (choice === "revise" && !said(form)) {
    tell(form, "Say what should be different.");
    openWords(form);
    return;
  }
  if (choice !== "revise" && said(form) && form.dataset.warned !== choice) {
    form.dataset.warned = choice;
    tell(form, "Your words go to the model only with “Say what to do differently”. Press again to answer without them.");
    return;
  }
  form.dataset.busy = "";
  tell(form, "");
  try {
    const response = await fetch(form.dataset.post, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(bodyOf(form, choice)),
    });
    if (response.ok) end(form, "Answered.");
    else refused(form, response.status, await response.json().catch(() => ({})));
  } catch {
    tell(form, "The server is away. Try again in a moment; an answer counts once.");
  } finally {
    delete form.dataset.busy;
  }
}

function refused(form, status, { first, detail }) {
  if ([404, 409, 410].includes(status)) end(form, first ? `Answered in ${first.by || "another face"}: ${first.choice}.` : detail ?? "It is not asked any more.");
  else tell(form, detail ?? `The server refused (${status}).`);
}

/** The question is over: nothing in it can be pressed or written any more. */
function end(form, sentence) {
  form.dataset.over = "";
  for (const field of form.elements) if (!field.matches(".beside")) field.disabled = true;
  tell(form, sentence, true);
}

function tell(form, sentence, calm = false) {
  const place = form.querySelector(".said");
  place.classList.toggle("told", calm);
  place.textContent = sentence;
}

attach(document);
