// The screen of an invitation to somebody's board.

import { post } from "./api.js";
import { button, facts, h, problem, say } from "./dom.js";
import { listPage } from "./loader.js";
import { shareWords } from "./share.js";
import { t } from "./text.js";

/** The screen of a link. It is accepted only by a tap: to open a link does nothing. */
export function makePage(secret) {
  // After a gap it is not loaded again: the link may be used by now.
  const { title, node } = listPage(t("share.invitation"), async () => {
    const offer = await post("/invitations/show", { secret }), { name, by, right, present } = offer;
    const error = problem();
    const accept = button(t("share.accept"), async () => {
      accept.disabled = true;
      try {
        const { installationId } = await post("/invitations/accept", { secret });
        say(t("share.accepted", { name }));
        location.hash = `#/boards/${installationId}`;
      } catch (fault) {
        error.textContent = fault.message;
        accept.disabled = false;
      }
    }, "#accept.primary");
    return h("section.card.code#offer", h("p", t("share.offers", { name: by })),
      facts([[t("word.board"), name], [t("share.right"), shareWords(offer)],
        [t("share.means"), t(`share.${right}Note`)],
        present && [t("share.replaces"), shareWords(present)]].filter(Boolean)),
      error, h("div.actions", accept));
  });
  return { title, node };
}
