/* Follows the end of the page, unless the person scrolled up. */

const NEAR_END = 80; // pixels: a reader this close to the end counts as being there

let following = false, last = 0;

/** Whether the reader is at the end of the page. */
export function isAtEnd() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR_END;
}

export function isFollowing() {
  return following;
}

/** Follow the end from now on, or stop doing so. */
export function setFollowing(on) {
  following = on;
  // Without scroll anchoring, only a person can scroll up while the page follows its end.
  document.documentElement.classList.toggle("following", on);
  if (!on) return;
  keepUp();
  requestAnimationFrame(keepUp); // what came into view may be higher than it was thought to be
}

/** After the page has grown. */
export function keepUp() {
  if (following) scrollTo({ top: document.documentElement.scrollHeight });
}

export function mindScrolling() {
  last = scrollY;
  if (isAtEnd()) setFollowing(true);
  addEventListener("scroll", () => {
    const up = scrollY < last;
    last = scrollY;
    if (isAtEnd()) { if (!following) setFollowing(true); }
    else if (up && following) setFollowing(false);
  }, { passive: true });
  document.addEventListener("click", ({ target }) => {
    if (following && target.closest("summary")) requestAnimationFrame(() => setFollowing(isAtEnd()));
  });
}
