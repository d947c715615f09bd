/* Pieces of the page that come after it, or again and again: `data-load` is where from, `data-every` in seconds. */

import { filter } from "./forms.js";

export function loadPieces() {
  for (const place of document.querySelectorAll("[data-load]")) {
    if (place.dataset.every) setInterval(() => document.hidden || load(place), 1_000 * place.dataset.every);
    else load(place);
  }
}

async function load(place) {
  const response = await fetch(place.dataset.load).catch(() => null); // away: what is shown stays
  if (!response?.ok) return;
  const html = await response.text();
  if (place.kept === html) return; // nothing to disturb anybody with
  place.kept = html;
  const stood = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const chosen = place.value;
  place.innerHTML = html;
  if (chosen) place.value = chosen;
  if (stood) place.querySelector(`[href="${CSS.escape(stood)}"]`)?.focus({ preventScroll: true });
  const field = document.querySelector(`[data-filters="${place.id}"]`);
  if (field) filter(field);
}
