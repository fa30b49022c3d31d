// The advice for each problem of a claim, by the problem's name.

import { span, now } from "./time.js";

const pairAgain = "On the board, run postern-agent pair --new, then scan the new code.";

/** `{title, text, steps}` of a problem; `about` has the board's name and other known facts. */
export function problem(name, about) {
  const board = about.board || "the board";
  const known = {
    "board-offline": {
      title: `${board} is not online yet`,
      text: `The claim waits for the board${about.expiresAt
        ? ` for another ${span(about.expiresAt - now(), 0.5)}` : ""}. This page continues by itself.`,
      steps: ["Check that the board has power and network.",
        "On the board, run postern-agent doctor: it finds the problem.",
        "If the board has shown a newer code since, take this claim back and scan the new code.",
        "You may close this page: the board pairs itself when it comes online."],
    },
    "claim-expired": {
      title: "The claim has expired",
      text: `${board} did not come online in time. Nothing was changed.`,
      steps: ["Check that the board is on and has network.", pairAgain],
    },
    "claim-used": {
      title: "This code was already used",
      text: "A code can pair a board only once.",
      steps: ["If you paired the board yourself, it is under Boards.",
        `Otherwise: ${lower(pairAgain)}`],
    },
    "claim-open": {
      title: `${board} is being claimed already`,
      text: "The board has an open claim, by you or by somebody else.",
      steps: ["Turn the board on: then the open claim continues.",
        "Or end the open claim on the board's page, under Boards, and try again.",
        "Or wait until the open claim expires, at most 24 hours."],
    },
    "claim-other-authority": {
      title: "This code is for another authority",
      text: about.host ? `The code belongs to ${about.host}. Nothing was sent.`
        : "The code belongs to another address.",
      steps: [about.host ? `Open ${about.host} and pair the board there.`
        : "Open the address in the code and pair the board there.",
      "Or set [claim] base on the board to this authority's address, and pair again."],
    },
    "board-has-another-key": {
      title: `${board} has a different key than before`,
      text: "A board with this identity was paired before with a different key.",
      steps: ["If the board was set up again, its owner releases it under Boards. Then try again.",
        "If you do not know why, be careful: another machine may pretend to be your board."],
    },
    "board-owned": {
      title: `${board} belongs to somebody else`,
      text: "Another user has paired this board and has not released it.",
      steps: ["Ask its owner to release it under Boards. Then try again.",
        "Or ask an administrator to pair it."],
    },
    "may-not-claim": {
      title: "You may not pair boards",
      text: `${about.user} is logged in, but has no permission to pair boards.`,
      steps: ["Ask an administrator to allow it: Users, then May pair boards.",
        "Or log in as a user who may pair boards."],
    },
    "claim-malformed": {
      title: "This code cannot be read",
      text: about.text || "A part of it is missing. Scan the code again, or copy the whole URL.",
      steps: [pairAgain],
    },
    "broker-away": {
      title: "The broker cannot be reached",
      text: "The authority works, but cannot reach the broker that carries messages to boards.",
      steps: ["Try again in a minute.",
        "If it still fails, look at the authority's log on the server."],
    },
    "board-rejected": {
      title: `${board} has refused the session`,
      text: about.text || "The board gave no reason.",
      steps: ["On the board, run postern-agent status to see more.", pairAgain],
    },
    cancelled: {
      title: "The claim was withdrawn",
      text: about.text || "The session was signed out before the board received it.",
      steps: [pairAgain],
    },
    "no-data": {
      title: "Paired, but no data yet",
      text: `${board} has its session, but none of its programs has sent data yet.`,
      steps: ["On the board, sudo postern-agent-app add NAME makes a login for a program.",
        "Check that a program writes to postern/app/NAME/create/… at the board's own broker.",
        "The board's page shows refused writes, and why."],
    },
    refusing: {
      title: `${board} refuses what its programs send`,
      text: "The session or the board's own policy does not allow it.",
      steps: ["Open the board's page: under Rules, Explain shows why.",
        "Or pair the board again with other rules."],
    },
    "store-full": {
      title: "The authority's disk is full",
      text: "Nothing can be stored, so nothing was changed.",
      steps: ["On the server, make room on the disk of the authority's state folder or database.",
        "There, postern-authority doctor shows how much is free."],
    },
    unreachable: {
      title: "The authority cannot be reached",
      text: "This device may have no network, or the server may be down.",
      steps: ["Check the network, then try again."],
    },
  };
  return known[name] ?? { title: "That did not work", text: about.text, steps: ["Try again."] };
}

function lower(text) { return text[0].toLowerCase() + text.slice(1); }
