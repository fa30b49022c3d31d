// Pairing by the eight letters that a board shows, instead of its claim URL. They give nobody the
// board: somebody at the board's screen has to confirm the person first.

import { post } from "./api.js";

/** Whether this is a code, and not a URL. */
export function isCode(text) { return /^\s*([A-Z][ -]*){8}\s*$/i.test(text); }

/** The board that shows a code. */
export async function boardOf(code) {
  const { boardName, ...board } = await post("/claim-codes/show", { code });
  return { ...board, name: boardName };
}

/** Asks the board to confirm this person. The result is the claim; null after `signal`. */
export async function askBoard(order, signal) {
  await post("/claim-codes/claim", order);
  let wait = 2;
  while (!signal.aborted) {
    await new Promise(then => setTimeout(then, wait * 1000));
    wait = 2;
    if (signal.aborted) break;
    const { state, claim } = await post("/claim-codes/progress", { code: order.code })
      .catch(fault => {
        if (!fault.isAway && fault.status !== 429) throw fault;
        wait = Math.min(Math.max(fault.retryAfter, wait), 600);
        return {};
      });
    if (signal.aborted) break;
    if (claim) return claim;
    if (state === "refused") throw Object.assign(new Error(), { name: "code-refused" });
  }
  return null;
}
