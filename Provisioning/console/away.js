// The page while the authority is away: the boards as they were last known.

import { exactTime } from "./axes.js";
import { button, facts, fill, h, icon, pill } from "./dom.js";
import { forget, lastKnown } from "./keep.js";
import { when } from "./time.js";
import { boardState, number } from "./words.js";

const longest = 30000;
let wait = 2500, timer = 0, isShown = false, once = null;

/**
 * Ends it, as the authority answers. True if the page must be loaded again, because its files may
 * be of an older version. On a slow line that happens once in five minutes.
 */
export function endAway() {
  if (!isShown) return false;
  clearTimeout(timer);
  removeEventListener("online", once);
  isShown = false;
  const isRecent = Date.now() - sessionStorage.getItem("loadedAgain") < 300000;
  if (!isRecent) sessionStorage.setItem("loadedAgain", Date.now());
  return !isRecent;
}

/**
 * Shows the last known boards in `place`, and calls `again` after a while. Resolves to whether
 * there are any, and `isNeeded` still holds.
 */
export async function showAway(place, again, isNeeded = () => true) {
  const known = await lastKnown();
  if (!known?.boards.length || !isNeeded()) return false;
  wait = Math.min(2 * wait, longest);
  clearTimeout(timer);
  timer = setTimeout(again, wait);
  if (isShown && document.getElementById("as-of")) return true;
  if (!isShown) addEventListener("online", once = () => again());
  isShown = true;
  const asOf = Math.min(...known.boards.map(board => board.asOfMs));
  document.title = `Boards · ${known.authority}`;
  fill(place, h("header", { class: "bar" },
    h("span", { class: "brand" }, icon("gate"), h("span", null, known.authority)),
    h("p", { class: "live", role: "status", "data-state": "away" }, "Away")),
  h("main", { id: "main", tabindex: "-1" },
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Boards"),
      button("Try again", again, { id: "again" })),
    h("div", { class: "notice wait" }, h("p", { class: "what", id: "as-of", role: "status" },
      "As of ", exactTime(asOf, 60000, Date.now()), ", ", when(asOf / 1000),
      ": the authority is away."),
    h("p", null, `This is what ${known.username} saw last. `,
      "The page goes on by itself when the authority is back."),
    button("Delete it from this device", () => {
      forget();
      again();
    }, { id: "forget", class: "danger" })),
    h("div", { class: "grid" },
      known.boards.sort((a, b) => a.name.localeCompare(b.name)).map(card))));
  return true;
}

function card(board) {
  return h("article", { class: "card" },
    h("div", { class: "head" }, h("h2", null, board.name || "Unnamed board"),
      pill("", `Was: ${boardState(board)[1]}`)),
    facts([
      ["As of", when(board.asOfMs / 1000)],
      ["Last data", board.lastDataMs ? when(board.lastDataMs / 1000) : "none recently"],
      ...board.readings.map(r => [r.field, [h("span", { class: "what" },
        r.number === null ? r.text || "(empty)" : number(r.number)), " ",
      h("span", { class: "note" }, when(r.writtenMs / 1000))]]),
    ]));
}
