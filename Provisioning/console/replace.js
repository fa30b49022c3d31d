// Gives the place of a dead board to another one.

import { get, post } from "./api.js";
import { ask } from "./dialog.js";
import { field, h, say } from "./dom.js";
import { t } from "./text.js";

/** `done` gets the id of the board that has the place now. */
export async function replaceBoard(board, done) {
  const { results } = await get("/boards?sort=name&limit=200");
  const others = results.filter(one => one.sessionState === "active"
    && one.installationId !== board.installationId && one.owner === board.owner);
  const choice = h("select", { name: "by" }, others.map(one => h("option",
    { value: one.installationId }, `${one.name} (${one.installationId.slice(0, 8)})`)));
  ask({
    title: t("replace.title", board), danger: true,
    confirm: others.length > 0 && t("replace.confirm"),
    body: others.length ? [h("p", t("replace.text")), field(t("replace.by"), choice)]
      : h("p", t("replace.none")),
    async submit() {
      const { by, lost } = await post(`/boards/${board.installationId}/replace`,
        { by: choice.value });
      say(lost ? t("replace.lost", { n: lost.messages }) : t("replace.done", board));
      done(by);
    },
  });
}
