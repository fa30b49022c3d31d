// The same act on several boards. Each result is shown with its board.

import { me, post, put, Refused, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, choice, field, h, say } from "./dom.js";
import { endChoices, now, parseTime, when } from "./time.js";
import { count } from "./words.js";

/** The selected boards among `cards`; `done` is called after an act. */
export function selection(cards, done) {
  const chosen = new Set();
  let isOn = false;
  const toggle = button("Select", () => turn(!isOn), { id: "select" });
  const words = h("p", { role: "status" });
  const act = (text, id, open, kind) => button(text, () => {
    const boards = [...chosen].map(b => cards.get(b)?.board).filter(Boolean);
    if (boards.length) open(boards, done);
    else say("Select boards first.");
  }, { id, class: kind });
  const bar = h("section", { class: "card picked", "aria-label": "Selected boards", hidden: true },
    words, h("div", { class: "actions" },
      button("All shown", all, { id: "pick-all" }),
      act("Extend", "extend-all", extendBoards), act("Label", "label-all", labelBoards),
      act("Sign out", "sign-out-all", signOutBoards, "danger")));

  function turn(to) {
    isOn = to;
    toggle.textContent = isOn ? "End selection" : "Select";
    bar.hidden = !isOn;
    chosen.clear();
    show();
  }

  function all() {
    for (const id of cards.keys()) chosen.add(id);
    show();
  }

  function keep() {
    for (const id of chosen) if (!cards.has(id)) chosen.delete(id);
    show();
  }

  function show() {
    words.textContent = `${count(chosen.size, "board")} selected`;
    for (const card of cards.values()) card.offer();
  }

  function set(id, isChosen) {
    if (isChosen) chosen.add(id);
    else chosen.delete(id);
    words.textContent = `${count(chosen.size, "board")} selected`;
  }

  return { toggle, bar, keep, set, isOn: () => isOn, has: id => chosen.has(id) };
}

/**
 * Asks, then calls `act(board, read(form))` for one board after the other; it returns words. If
 * some fail, the dialog shows which and why, and tries only those again.
 */
function forEach(boards, done, { act, read, body, ...rest }) {
  const rows = boards.map(board => {
    const result = h("span", { class: "note" });
    return { board, result, node: h("li", null, h("p", null,
      h("span", { class: "what" }, board.name), " ", result)) };
  });
  let left = rows;
  const list = h("ul", { class: "rows each", tabindex: "0", "aria-label": "Boards" },
    rows.map(row => row.node));
  const dialog = ask({
    ...rest, dismiss: "Close", body: [body, list],
    async submit(form) {
      const wanted = read?.(form);
      for (const row of left) row.result.textContent = "not done yet";
      for (const row of left) {
        if (!dialog.open || !me) break;
        row.result.textContent = "…";
        try {
          row.result.replaceChildren(...[await act(row.board, wanted)].flat());
          row.isDone = true;
        } catch (error) {
          row.result.textContent = `Not done: ${error.message}`;
          // The others would fail, too.
          const status = error instanceof Refused && error.status;
          if (!status || status === 429 || status >= 500) break;
        }
      }
      left = rows.filter(row => !row.isDone);
      const sum = `${count(rows.length - left.length, "board")} of ${rows.length} done`;
      done();
      if (left.length && dialog.open) throw new Error(`${sum}. Try the others again, or close.`);
      say(`${sum}.`);
    },
  });
}

function session(board) {
  if (board.sessionState === "active") return `/sessions/${board.sessionId}`;
  throw new Refused(409, { error: "the board has no active session" });
}

function extendBoards(boards, done) {
  const least = name => Math.min(...boards.map(b => b[name] ?? Infinity));
  const spans = endChoices(least("sessionExpiresAt"), least("sessionLatestEnd")).later;
  if (!spans.length) return say("None of these sessions can be extended.");
  forEach(boards, done, {
    title: `Extend ${count(boards.length, "session")}`, confirm: "Extend",
    body: choice("How long from now", "duration", spans, spans.at(-1).value, null, "chips four"),
    read: form => Number(form.elements.duration.value),
    async act(board, seconds) {
      const latest = Math.floor((board.sessionLatestEnd ?? Infinity) - now());
      const durationSeconds = Math.min(seconds, latest);
      const { expiresAt } = await post(`${session(board)}/extend`, { durationSeconds });
      return ["ends ", when(parseTime(expiresAt))];
    },
  });
}

function labelsIn(input) {
  const labels = input.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  const odd = labels.find(l => !/^[a-z0-9][a-z0-9._-]{0,31}$/.test(l));
  if (odd) throw new Error(`${odd} is no label.`);
  return labels;
}

export function labelBoards(boards, done) {
  const input = name => h("input", { name, autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", maxlength: 300 });
  forEach(boards, done, {
    title: `Label ${boards.length === 1 ? boards[0].name : count(boards.length, "board")}`,
    confirm: "Label",
    body: [field("Labels to add", input("add"), "a-z, 0-9, . _ and -; a board has at most 8."),
      field("Labels to remove", input("remove"))],
    read: ({ elements }) =>
      ({ addLabels: labelsIn(elements.add), removeLabels: labelsIn(elements.remove) }),
    async act({ installationId }, change) {
      const { labels } = await put(`/boards/${installationId}`, change);
      return labels.join(", ") || "no labels";
    },
  });
}

function signOutBoards(boards, done) {
  forEach(boards, done, {
    title: `Sign out ${count(boards.length, "board")}?`, confirm: "Sign out", danger: true,
    body: h("p", null, "They stop sending at once, or as soon as they are online. "
      + "To use them again, pair each again."),
    async act(board) {
      const { brokerTold } = await remove(session(board));
      return brokerTold === false ? "recorded, not yet delivered" : "signed out";
    },
  });
}
