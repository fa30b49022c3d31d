// The same act on several boards. Each result is shown with its board.

import { spanChoice } from "./acts.js";
import { me, post, put, Refused, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, entry, field, h, say } from "./dom.js";
import { ruleChooser } from "./rules.js";
import { phrase, t } from "./text.js";
import { endChoices, now, parseTime, when } from "./time.js";

/**
 * The selected boards among `cards`; `done` is called after an act. `whole` loads all that match a
 * search or a label, and says whether they are there.
 */
export function selection(cards, done, whole) {
  const chosen = new Set();
  let isOn = false;
  const toggle = button(t("act.select"), turn, { id: "select" });
  const words = h("p", { role: "status" });
  const act = (name, id, open, kind) => button(t(`act.${name}`), () => {
    const boards = [...chosen].map(b => cards.get(b)?.board).filter(Boolean);
    if (boards.length) open(boards, done, cards);
    else say(t("several.first"));
  }, { id, class: kind });
  const bar = h("section.card.picked", { "aria-label": t("several.title"), hidden: true }, words,
    h("div.actions", button(t("several.all"), all, { id: "pick-all" }),
      act("rename", "rename-all", renameBoards), act("label", "label-all", labelBoards),
      act("extend", "extend-all", extendBoards), act("renew", "renew-all", renewBoards),
      act("rules", "rules-all", changeRules),
      act("signOut", "sign-out-all", signOutBoards, "danger")));

  function turn() {
    isOn = !isOn;
    toggle.textContent = t(isOn ? "several.end" : "act.select");
    bar.hidden = !isOn;
    chosen.clear();
    show();
  }

  async function all() {
    if (!await whole() || !isOn) return;
    for (const id of cards.keys()) chosen.add(id);
    show();
  }

  function keep() {
    for (const id of chosen) if (!cards.has(id)) chosen.delete(id);
    show();
  }

  function tell() { words.textContent = t("several.selected", { n: chosen.size }); }

  function show() {
    tell();
    for (const card of cards.values()) card.offer();
  }

  function set(id, isChosen) {
    chosen[isChosen ? "add" : "delete"](id);
    tell();
  }

  return { toggle, bar, keep, set, isOn: () => isOn, has: id => chosen.has(id) };
}

/**
 * Asks, then calls `act(board, read(form))` for one board after the other; it returns words. If
 * some fail, the dialog shows which and why, and tries only those again.
 */
export function forEach(boards, done, { key, act, read, body, confirm, danger }) {
  const rows = boards.map(board => {
    const result = h("span.note");
    return { board, result, node: h("li", h("p", h("span.what", board.name), " ", result)) };
  });
  let left = rows;
  const dialog = ask({
    title: t(key, { n: boards.length, name: boards[0].name }), confirm: t(confirm), danger,
    dismiss: t("act.close"), body: [body, h("ul.rows.each",
      { tabindex: "0", "aria-label": t("word.boards") }, rows.map(row => row.node))],
    async submit(form) {
      const wanted = read?.(form);
      for (const row of left) row.result.textContent = t("several.notYet");
      for (const row of left) {
        if (!dialog.open || !me) break;
        row.result.textContent = "…";
        try {
          row.result.replaceChildren(...[await act(row.board, wanted)].flat());
          row.isDone = true;
        } catch (error) {
          row.result.textContent = t("several.notDone", { error: error.message });
          // The others would fail, too.
          const status = error instanceof Refused && error.status;
          if (!status || status === 429 || status >= 500) break;
        }
      }
      left = rows.filter(row => !row.isDone);
      const sum = t("several.done", { n: rows.length - left.length, all: rows.length });
      done();
      if (left.length && dialog.open) throw new Error(t("several.again", { sum }));
      say(`${sum}.`);
    },
  });
}

function session(board) {
  if (board.sessionState === "active") return `/sessions/${board.sessionId}`;
  throw new Refused(409, { error: t("several.noSession") });
}

/**
 * Numbers the boards in the order of their names, past the names of all `cards`. A name that fits
 * the pattern stays.
 */
function renameBoards(boards, done, cards) {
  const input = entry({ name: "pattern", value: "barn-{n}", maxlength: 64 });
  forEach([...boards].sort((a, b) => a.name.localeCompare(b.name)), done, {
    key: "several.rename", confirm: "act.rename",
    body: field(t("word.name"), input, t("several.pattern", { number: "{n}" })),
    read() {
      const [before, after, ...more] = input.value.trim().split("{n}");
      if (after === undefined || more.length) {
        throw new Error(t("several.noNumber", { number: "{n}" }));
      }
      const numberIn = name => name.startsWith(before) && name.endsWith(after)
        && /^[1-9]\d*$/.exec(name.slice(before.length, name.length - after.length))?.[0];
      const known = [...boards, ...[...cards.values()].map(card => card.board)];
      const taken = new Set(known.map(board => Number(numberIn(board.name))));
      let last = 0;
      return name => {
        if (numberIn(name)) return name;
        do last++; while (taken.has(last));
        return `${before}${last}${after}`;
      };
    },
    async act(board, next) {
      const { name } = await put(`/boards/${board.installationId}`, { name: next(board.name) });
      // A further try passes it over.
      board.name = name;
      return name;
    },
  });
}

function renewBoards(boards, done) {
  forEach(boards, done, {
    key: "several.renew", confirm: "act.renew",
    async act({ installationId }) {
      await post(`/boards/${installationId}/renew`, {});
      return t("several.renewing");
    },
  });
}

function changeRules(boards, done) {
  const rules = ruleChooser();
  forEach(boards, done, {
    key: "several.rules", confirm: "several.change", body: rules.node,
    read: () => rules.scope() ?? { default: "allow", rules: [] },
    async act(board, scope) {
      const { scopePending } = await put(`${session(board)}/scope`, scope);
      return t(scopePending ? "several.waiting" : "acts.inForce");
    },
  });
}

function extendBoards(boards, done) {
  const least = name => Math.min(...boards.map(b => b[name] ?? Infinity));
  const spans = endChoices(least("sessionExpiresAt"), least("sessionLatestEnd")).later;
  if (!spans.length) return say(t("several.none"));
  forEach(boards, done, {
    key: "several.extend", confirm: "act.extend", body: spanChoice(spans),
    read: form => Number(form.elements.duration.value),
    async act(board, seconds) {
      const latest = Math.floor((board.sessionLatestEnd ?? Infinity) - now());
      const durationSeconds = Math.min(seconds, latest);
      const { expiresAt } = await post(`${session(board)}/extend`, { durationSeconds });
      return phrase("board.ends", { when: when(parseTime(expiresAt)) });
    },
  });
}

function labelsIn(input) {
  const labels = input.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  const odd = labels.find(l => !/^[a-z0-9][a-z0-9._-]{0,31}$/.test(l));
  if (odd) throw new Error(t("several.noLabel", { odd }));
  return labels;
}

export function labelBoards(boards, done) {
  const input = name => entry({ name, maxlength: 300 });
  forEach(boards, done, {
    key: boards.length === 1 ? "several.labelOne" : "several.label", confirm: "act.label",
    body: [field(t("several.add"), input("add"), t("several.labelNote")),
      field(t("several.remove"), input("remove"))],
    read: ({ elements }) =>
      ({ addLabels: labelsIn(elements.add), removeLabels: labelsIn(elements.remove) }),
    async act({ installationId }, change) {
      const { labels } = await put(`/boards/${installationId}`, change);
      return labels.join(", ") || t("several.noLabels");
    },
  });
}

function signOutBoards(boards, done) {
  forEach(boards, done, {
    key: "several.signOut", confirm: "act.signOut", danger: true,
    body: h("p", t("several.signOutText")),
    async act(board) {
      const { brokerTold } = await remove(session(board));
      return t(brokerTold === false ? "several.recorded" : "several.signedOut");
    },
  });
}
