/* Forms that post JSON: `data-post` says where to, `data-go` where to go then. */

import { picturesOf } from "./pictures.js";
import { setFollowing } from "./scroll.js";

export function mindForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-post]");
    if (!form) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
  });
  document.addEventListener("input", ({ target }) => {
    if (target.dataset?.filters) filter(target);
  });
}

/** Post a form's fields; a refusal is said in the form itself, in the server's own sentence. */
export async function send(form, submitter) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  tell(form, "");
  const body = bodyOf(form, submitter);
  // Scripts of single panels add what no field holds.
  form.dispatchEvent(new CustomEvent("kith:post", { bubbles: true, detail: body }));
  const shown = "shown" in form.dataset ? showSent(body.words) : null;
  try {
    const images = await picturesOf(form);
    if (images.length) body.images = images;
    const { ok, status, answer } = await post(form.dataset.post, body);
    if (!ok) shown?.remove();
    if (ok) finish(form, submitter, answer);
    else if (status === 409 && answer.first) tell(form, `Answered already in ${answer.first.by || "another face"}: ${answer.first.choice}.`, true);
    else tell(form, answer.detail ?? `The server refused (${status}).`);
  } catch {
    shown?.remove();
    tell(form, "The server is away; nothing was sent. Try again in a moment.");
  } finally {
    delete form.dataset.busy;
  }
}

/** Show the person's words at once: the server's own list of what was sent replaces them. */
function showSent(words) {
  const list = document.querySelector("#sent");
  if (!list || !words) return null;
  const item = document.createElement("li");
  item.className = "words";
  item.append(Object.assign(document.createElement("header"), { textContent: "You" }));
  item.append(Object.assign(document.createElement("div"), { className: "plain words", textContent: words }));
  list.append(item);
  setFollowing(true);
  return item;
}

export async function post(url, body) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({}));
  return { ok: response.ok, status: response.status, answer };
}

/** The fields as an object: boxes are true or false, `data-list` is a list of lines, what is empty is left out. */
function bodyOf(form, submitter) {
  const body = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled || field.type === "submit" || field.type === "file") continue;
    if (field.type === "checkbox") {
      if (field.checked) body[field.name] = field.getAttribute("value") ?? true;
    } else if (field.type !== "radio" || field.checked) {
      const words = field.value.trim();
      if (words) body[field.name] = "list" in field.dataset ? [words] : words;
    }
  }
  const { second, ...rest } = body; // two models confer
  if (second && rest.kind === "confer") rest.model = rest.model ? `${rest.model},${second}` : second;
  if (submitter?.name) rest[submitter.name] = submitter.value;
  return rest;
}

function finish(form, submitter, answer) {
  if (form.dataset.go) {
    location.assign(form.dataset.go.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(answer[name] ?? "")));
    return;
  }
  form.reset();
  if (submitter && "once" in form.dataset) submitter.hidden = true;
  if (form.dataset.sent) tell(form, form.dataset.sent, true);
}

function tell(form, words, calm = false) {
  const said = form.querySelector(".said");
  if (!said) return;
  said.classList.toggle("told", calm);
  said.textContent = words;
}

/** Show only the items of a list that hold all the words. */
export function filter(field) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = document.getElementById(field.dataset.filters);
  if (!list) return;
  let left = 0;
  for (const item of list.querySelectorAll("li")) {
    const text = (item.dataset.words ?? item.textContent).toLowerCase();
    item.hidden = !words.every((word) => text.includes(word));
    left += !item.hidden;
  }
  const nothing = list.parentElement.querySelector(".nothing");
  if (nothing) nothing.hidden = left > 0;
}
