/* The keyboard: every key does what some button or link does, too. */

import { setFollowing } from "./scroll.js";

const TWICE_MS = 1_500; // between two Esc
const GO_MS = 1_200; // between g and where to
const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])";

export function mindKeys() {
  let before = "", at = 0;
  mindPlaces();
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey) && target.form) return void target.form.requestSubmit();
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "Escape" && !document.querySelector("dialog[open]")) {
      const now = event.timeStamp;
      if (before === "Escape" && now - at < TWICE_MS) document.querySelector("#actions.working [form=cancel]")?.click();
      else if (target.matches(TYPED)) target.blur();
      [before, at] = [before === "Escape" && now - at < TWICE_MS ? "" : key, now];
      return;
    }
    if (target.matches(TYPED) || document.querySelector("dialog[open]")) return;
    [before, at] = [key, event.timeStamp];
    if (ACTIONS[key]?.() !== undefined) event.preventDefault();
  });
}

/** `g` and a letter lead to a place from everywhere: the window hears them before a question or a dialog does. */
function mindPlaces() {
  let pressed = -Infinity; // when g was
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.(TYPED)) return;
    const place = event.timeStamp - pressed < GO_MS && PLACES[event.key];
    pressed = event.key === "g" ? event.timeStamp : -Infinity;
    if (!place) return;
    event.preventDefault();
    event.stopPropagation();
    location.assign(place);
  }, true);
}

const PLACES = { s: "/", n: "/#task", f: "/files", t: "/tools", m: "/models", p: "/profile" };

/* An action returns true when it did something. */
const ACTIONS = {
  "?": () => { document.querySelector("#keys")?.showModal(); return true; },
  "/": () => focus("textarea[name=words]:not([hidden])"),
  "f": () => focus("input[type=search]"),
  "]": () => step(1),
  "[": () => step(-1),
  "e": openAll,
  "q": () => focus("#question:not([hidden]) :is(button, input, textarea)"),
  "G": () => { setFollowing(true); return true; },
  "t": () => { document.querySelector("#theme")?.click(); return true; },
};

function focus(selector) {
  const found = [...document.querySelectorAll(selector)].find((each) => each.checkVisibility());
  found?.focus();
  return found && true;
}

/** The next step of the conversation, or the one before; where nobody stands on one, the nearest to the top. */
function step(by) {
  const steps = [...document.querySelectorAll("#log > li")].filter((each) => each.checkVisibility());
  if (!steps.length) return undefined;
  const stood = steps.indexOf(document.activeElement?.closest("#log > li"));
  const near = steps.findIndex((each) => each.getBoundingClientRect().bottom > 60);
  const from = stood >= 0 ? stood + by : by > 0 ? near : near - 1;
  const next = steps[Math.max(0, Math.min(steps.length - 1, from))];
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
  return true;
}

/** Open every step; where all are open, close them. */
function openAll() {
  const folded = [...document.querySelectorAll("#log details")];
  const open = folded.some((each) => !each.open);
  for (const each of folded) each.open = open;
  return true;
}
