/* Carries out patches in the order they came, a few milliseconds of them in each frame. */

import { keepUp } from "./scroll.js";

const FRAME_MS = 8; // what a frame has left beside drawing

const waiting = [];
let asked = false;
let carriedOut = () => {};

/** Take a batch of patches; `then` is called after each frame in which some were carried out. */
export function carryOut(patches, then) {
  waiting.push(...patches);
  carriedOut = then;
  if (asked) return;
  asked = true;
  // A hidden page has no frames, and still must not pile up what it is told.
  if (document.hidden) setTimeout(work, 100);
  else requestAnimationFrame(work);
}

function work() {
  const until = performance.now() + FRAME_MS;
  let done = 0;
  while (done < waiting.length && (done % 8 || performance.now() < until)) apply(waiting[done++]);
  waiting.splice(0, done);
  keepUp();
  carriedOut();
  asked = waiting.length > 0;
  if (asked) requestAnimationFrame(work);
}

function apply({ op, target, html }) {
  const element = document.getElementById(target);
  if (!element) return; // what was there went with an earlier patch
  if (op === "append") element.insertAdjacentHTML("beforeend", html);
  else if (op === "text") write(element, html);
  else if (op === "remove") element.remove();
  else if (op === "replace") replace(element, html);
}

function write(element, words) {
  const last = element.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(words);
  else element.append(words);
}

/** Put new HTML in an element's place; what a person opened, typed or stood on stays theirs. */
function replace(element, html) {
  const open = [...element.querySelectorAll("details[open][id]"), ...(element.matches("details[open][id]") ? [element] : [])];
  const held = element.contains(document.activeElement) ? document.activeElement : null;
  const typed = held?.matches("textarea, input[type=text]") ? held.value : null;
  const template = document.createElement("template");
  template.innerHTML = html;
  element.replaceWith(template.content);
  for (const { id } of open) document.getElementById(id)?.setAttribute("open", "");
  const again = held?.id && document.getElementById(held.id);
  if (!again) return;
  if (typed !== null) again.value = typed;
  again.focus({ preventScroll: true });
}
