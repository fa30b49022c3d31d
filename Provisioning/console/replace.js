// Gives the place of a dead board to another one.

import { get, me, post } from "./api.js";
import { ask } from "./dialog.js";
import { field, h, say } from "./dom.js";
import { t } from "./text.js";
import { boardState } from "./words.js";

/** `done` gets the id of the board that has the place now. */
export async function replaceBoard(board, done) {
  let others, rules;
  try {
    others = await candidates(board);
    rules = await keepsRules(board) ? "replace.withRules" : "replace.withoutRules";
  } catch (error) {
    return say(error.message);
  }
  const choice = h("select", { name: "by" }, others.map(one => h("option",
    { value: one.installationId },
    `${one.name} (${one.installationId.slice(0, 8)}): ${boardState(one)[1]}`)));
  ask({
    title: t("replace.title", board), danger: true,
    confirm: others.length > 0 && t("replace.confirm"),
    body: others.length
      ? [h("p", t("replace.text")), h("p", t(rules)), field(t("replace.by"), choice)]
      : h("p", t("replace.none")),
    async submit() {
      const { by, lost, brokerTold } = await post(`/boards/${board.installationId}/replace`,
        { by: choice.value });
      const words = lostWords(lost);
      const text = t(words ? "replace.doneBut" : "replace.done", { name: board.name, words });
      say(brokerTold === false ? t("acts.notTold", { text }) : text);
      done(by);
    },
  });
}

/** What a replaced board will never send, behind `before`; empty if nothing is known. */
export function lostWords({ after, waited }, before = "") {
  const words = [after !== null && t("replace.lost", { after }),
    waited !== null && t("replace.waited", { n: waited })].filter(Boolean).join("; ");
  return words && before + words;
}

/** Whether the board has sent its policy or its routes. */
async function keepsRules(board) {
  try {
    await get(`/boards/${board.installationId}/configuration`);
    return true;
  } catch (error) {
    if (error.status === 404) return false;
    throw error;
  }
}

/** The boards of the same owner with a session. */
async function candidates(board) {
  const isOwn = board.ownerId === me.user.objectId, found = [];
  let next = "";
  do {
    const answer = await get(`/boards?sort=name&limit=200&everyone=${!isOwn}${next}`);
    found.push(...answer.results);
    next = answer.next && `&cursor=${encodeURIComponent(answer.next)}`;
  } while (next);
  return found.filter(one => one.sessionState === "active" && one.ownerId === board.ownerId
    && one.installationId !== board.installationId);
}
