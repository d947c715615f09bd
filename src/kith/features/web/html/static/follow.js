/* Follows a session: reconnects when the server was away, and drops what it has seen already. */

import { carryOut } from "./patches.js";
import { attach } from "./review.js";
import { isAtEnd, isFollowing, mindScrolling, setFollowing } from "./scroll.js";

const PATIENCE_MS = 1_000; // before the server counts as away
const AGAIN_MS = [500, 1_000, 2_000, 4_000];
const HIDDEN_MS = 60_000; // a page that nobody looks at leaves its connection to others

export function follow(page) {
  const link = document.querySelector("#link");
  let seen = page.dataset.position, source = null, failed = 0, away = 0, hidden = 0;

  const open = () => {
    source = new EventSource(`${page.dataset.events}?after=${encodeURIComponent(seen)}`);
    source.onopen = () => { clearTimeout(away); failed = away = 0; say(""); };
    source.onerror = () => {
      away ||= setTimeout(() => say("The server is away. Reconnecting …"), PATIENCE_MS);
      if (source.readyState === EventSource.CLOSED) {
        source = null;
        setTimeout(() => source ?? open(), AGAIN_MS[Math.min(failed++, AGAIN_MS.length - 1)]);
      }
    };
    source.addEventListener("patch", ({ lastEventId, data }) => {
      if (!isAfter(lastEventId, seen)) return;
      seen = page.dataset.position = lastEventId;
      carryOut(JSON.parse(data), told);
    });
    // What is shown and not stored may have gone while the page was away.
    source.addEventListener("rejoin", ({ data }) => carryOut(JSON.parse(data), told));
  };
  const say = (words) => { if (link.textContent !== words) link.textContent = words; };

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden && page.dataset.state === "idle") hidden = setTimeout(() => { source?.close(); source = null; }, HIDDEN_MS);
    else if (!document.hidden && !source) open();
  });
  document.addEventListener("click", (event) => {
    const door = event.target.closest("a[data-before]");
    if (!door) return;
    event.preventDefault();
    showEarlier(page.dataset.session, door);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#to-end")) toEnd();
  });
  addEventListener("scroll", showWayDown, { passive: true });
  open();
  told();
  showNow();
  mindScrolling();
}

/** Whether position `one` ("SEQ" or "SEQ.BYTE") is after position `two`. */
export function isAfter(one, two) {
  const [[seq, byte], [seq2, byte2]] = [one, two].map((each) => each.split(".").map(Number));
  return seq > seq2 || (seq === seq2 && (byte ?? 0) > (byte2 ?? 0));
}

let asked = null, followed = false;

/** After each change. The title tells a tab that asks from one that works; whoever follows is led to a question. */
function told() {
  const title = document.querySelector("h1")?.textContent ?? "";
  const asks = document.querySelector("#question:not([hidden])"), works = document.querySelector("#actions.working");
  if (asks !== asked) {
    attach(document);
    if (asks && isFollowing()) {
      followed = true;
      show(asks);
    } else if (!asks && followed) {
      followed = false;
      setFollowing(true);
    }
  }
  asked = asks;
  const state = asks ? "asks: " : works ? "… " : "";
  if (document.title !== `${state}${title} - kith`) document.title = `${state}${title} - kith`;
  document.querySelector("#session").dataset.state = works ? "working" : "idle";
  showWayDown();
}

/** A session that goes on is shown where it is now; one that is over, from its beginning. */
function showNow() {
  if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") return;
  if (asked) {
    followed = true;
    show(asked);
  } else if (document.querySelector("#actions.working, #sent > li")) setFollowing(true);
}

/** Bring the question into view; what comes after it must not push it out. */
function show(question) {
  setFollowing(false);
  question.scrollIntoView();
}

/** To the question where there is one, else to the end. */
export function toEnd() {
  if (asked) show(asked);
  else setFollowing(true);
}

function showWayDown() {
  const button = document.querySelector("#to-end");
  if (!button) return;
  const inView = asked && asked.getBoundingClientRect().top < innerHeight - 120;
  button.hidden = asked ? inView : isAtEnd();
  const words = asked ? "kith asks you ↓" : "↓";
  if (button.textContent !== words) button.textContent = words;
  button.setAttribute("aria-label", asked ? "To the question" : "To the end");
}

/** What is older than the page; without this script the link leads to a page that holds all. */
async function showEarlier(session, door) {
  const address = `/api/sessions/${session}/earlier?before=${encodeURIComponent(door.dataset.before)}`;
  const response = await fetch(address).catch(() => null);
  if (response?.ok) carryOut(await response.json(), told);
  else location.assign(door.href);
}
