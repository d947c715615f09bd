/* What makes the page lively. The server draws everything: this carries out changes, posts forms, minds keys. */

import { follow } from "./follow.js";
import { mindForms } from "./forms.js";
import { mindKeys } from "./keys.js";
import { loadPieces } from "./loads.js";
import { mindPictures } from "./pictures.js";

const session = document.querySelector("main[data-events]");

mindForms();
mindKeys();
mindPictures();
loadPieces();
if (session) {
  follow(session);
  setInterval(countOn, 1_000);
}
document.querySelector("#theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it holds until the page is left */ }
});

/** Seconds of what still runs: the server says since when. */
function countOn() {
  for (const place of document.querySelectorAll("time[data-since]")) {
    const seconds = Math.max(0, Math.round(Date.now() / 1_000 - place.dataset.since));
    place.textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
}
