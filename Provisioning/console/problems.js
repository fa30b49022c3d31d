// What a person can do when a claim does not go on, by the problem's name.

import { span, now } from "./time.js";

const pairAgain = "On the board, run postern-agent pair --new, then scan the new code.";

/** `{title, text, steps}` of a problem; `about` has the board's name and what is known. */
export function problem(name, about) {
  const board = about.board || "the board";
  const known = {
    "board-offline": {
      title: `${board} is not online yet`,
      text: `The claim waits for it${about.expiresAt
        ? ` for another ${span(about.expiresAt - now())}` : ""}. This page goes on by itself.`,
      steps: ["See that the board has power and network.",
        "On the board, postern-agent doctor names what is wrong.",
        "Has the board shown a newer code since? Then take this one back, and scan that.",
        "You may close this page: the board pairs itself when it comes."],
    },
    "claim-expired": {
      title: "The claim has expired",
      text: `${board} did not come in time, and nothing was changed.`,
      steps: ["See that the board is on and has network.", pairAgain],
    },
    "claim-used": {
      title: "This code was already used",
      text: "A code pairs a board once.",
      steps: ["If you paired it yourself, you find it under Boards.",
        `Otherwise: ${lower(pairAgain)}`],
    },
    "claim-open": {
      title: `${board} is being claimed already`,
      text: "A claim of it is open, by you or by somebody else.",
      steps: ["Turn the board on: then the open claim goes on.",
        "Or end the open claim, on the board's page under Boards, and try again.",
        "Or wait until it has expired, at most 24 hours."],
    },
    "claim-other-authority": {
      title: "This code is for another authority",
      text: about.host ? `It belongs to ${about.host}, and it was not sent from here.`
        : "It belongs to another address than this one.",
      steps: [about.host ? `Open ${about.host} and pair the board there.`
        : "Open the address that the code names and pair the board there.",
      "Or set [claim] base on the board to this authority, and pair again."],
    },
    "board-has-another-key": {
      title: `${board} is known by another key`,
      text: "A board with this identity was paired before, and its key was another one.",
      steps: ["Was the board set up anew? Its owner releases it under Boards. Then try again.",
        "If you do not know why, be careful: somebody may pose as your board."],
    },
    "board-owned": {
      title: `${board} belongs to somebody else`,
      text: "Another user has paired this board and has not released it.",
      steps: ["Ask its owner to release it under Boards. Then try again.",
        "Or ask an administrator to pair it."],
    },
    "may-not-claim": {
      title: "You may not pair boards",
      text: `${about.user} is logged in, and has not been allowed to.`,
      steps: ["Ask an administrator: Users, then May pair boards.",
        "Or log in as somebody who may."],
    },
    "claim-malformed": {
      title: "This code cannot be read",
      text: about.text || "A part of it is missing.",
      steps: ["Scan it again, or copy the whole URL.", pairAgain],
    },
    "broker-away": {
      title: "The broker is away",
      text: "The authority is here, but the broker that carries its messages to boards is not.",
      steps: ["Try again in a minute.",
        "On the server, the authority's log names what is wrong."],
    },
    "board-rejected": {
      title: `${board} has refused the session`,
      text: about.text || "It did not say why.",
      steps: ["On the board, postern-agent status says more.", pairAgain],
    },
    cancelled: {
      title: "The claim was withdrawn",
      text: about.text || "Its session was signed out before the board took it.",
      steps: [pairAgain],
    },
    "no-data": {
      title: "Paired, but no data yet",
      text: `${board} has its session. None of its programs has sent anything so far.`,
      steps: ["See that a program on the board writes to its broker.",
        "Its page shows what its rules have refused, and why."],
    },
    refusing: {
      title: `${board} refuses what its programs send`,
      text: "The session or the board's own policy does not allow it.",
      steps: ["Open the board's page: under Rules, Explain says why.",
        "Or pair it again with other rules."],
    },
    unreachable: {
      title: "The authority cannot be reached",
      text: "This phone's network may be gone, or the server is.",
      steps: ["Check the network, then try again."],
    },
  };
  return known[name] ?? { title: "That did not work", text: about.text, steps: ["Try again."] };
}

function lower(text) { return text[0].toLowerCase() + text.slice(1); }
