// The advice for each problem of a claim, by the problem's name.

import { has, lines, t } from "./text.js";
import { now, span } from "./time.js";

// Of these the authority or the board may say more.
const open = ["claim-malformed", "board-rejected", "cancelled", "other"];

/** `{title, text, steps}` of a problem; `about` has the board's name and other known facts. */
export function advice(name, about) {
  const { board, expiresAt, host } = about;
  const known = host ? "other-host" : has(`problem.${name}`) ? name : "other";
  const [title, text, ...steps] = lines(`problem.${known}`, {
    ...about, board: board || t("claim.theBoard"), pairAgain: t("claim.pairAgain"),
    more: expiresAt && t("claim.forAnother", { span: span(expiresAt - now(), 0.5) }),
  });
  return { title, text: open.includes(known) && about.text || text, steps };
}
