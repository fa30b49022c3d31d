// The page while the authority is away: the boards as they were last known.

import { exactTime } from "./axes.js";
import { button, facts, fill, h, icon, pill, title } from "./dom.js";
import { forget, lastKnown } from "./keep.js";
import { number, phrase, t } from "./text.js";
import { lastData, when } from "./time.js";
import { boardState } from "./words.js";

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
  const { boards, authority, username: name } = known;
  const asOf = Math.min(...boards.map(board => board.asOfMs));
  document.title = `${t("word.boards")} · ${authority}`;
  fill(place, h("header.bar", h("span.brand", icon("gate"), h("span", authority)),
    h("p.live", { role: "status", "data-state": "away" }, t("live.away"))),
  h("main#main", { tabindex: "-1" },
    title(t("word.boards"), button(t("act.tryAgain"), again, { id: "again" })),
    h("div.notice.wait", h("p#as-of.what", { role: "status" },
      phrase("away.asOf", { time: exactTime(asOf, 60000), when: when(asOf / 1000) })),
    h("p", t("away.saw", { name })),
    button(t("away.delete"), () => { forget(); again(); }, "#forget.danger")),
    h("div.grid", boards.sort((a, b) => a.name.localeCompare(b.name)).map(card))));
  return true;
}

function card(board) {
  return h("article.card", h("div.head", h("h2", board.name || t("word.unnamed")),
    pill("", t("away.was", { state: boardState(board)[1] }))),
  facts([
    [t("away.asOfLabel"), when(board.asOfMs / 1000)], [t("word.lastData"), lastData(board)],
    ...board.readings.map(r => [r.field, [h("span.what",
      r.number === null ? r.text || t("word.empty") : number(r.number)), " ",
    h("span.note", when(r.writtenMs / 1000))]]),
  ]));
}
