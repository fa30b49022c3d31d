// The audit log, for administrators.

import { get, me, request } from "./api.js";
import { button, empty, failure, field, fill, h, say } from "./dom.js";
import { phrase, t } from "./text.js";
import { when } from "./time.js";
import { auditWords, isAlarm } from "./words.js";

const page = 100;
const kinds = ["", "login", "claim", "session", "board", "user", "keys", "alarm"];

export function auditPage() {
  const board = h("select", { name: "board" }, option("", t("audit.all")));
  const event = h("select", { name: "event" }, kinds.map(kind => option(kind, t(`kind.${kind}`))));
  const actor = text("actor"), session = text("session");
  const since = h("input", { name: "since", type: "date" });
  const until = h("input", { name: "until", type: "date" });
  const form = h("form.filters", { novalidate: true }, field(t("audit.what"), event),
    field(t("word.board"), board), field(t("audit.who"), actor), field(t("word.session"), session),
    field(t("audit.from"), since), field(t("audit.to"), until));
  const rows = h("ol.log", { "aria-busy": "true" });
  const more = button(t("audit.more"), () => load(true), { hidden: true });
  const fault = h("div");
  const place = h("div", h("p.loading", t("audit.loading")));
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("word.log")),
      h("div.actions", button(t("audit.csv"), () => exported("csv")),
        button(t("audit.json"), () => exported("json")))),
    h("details.card.filter", h("summary", t("audit.filter")), form), place, fault,
    h("p.center", more));
  const boards = new Map();
  let last = null, asked = 0;

  function query() {
    const values = {
      event: event.value, board: board.value, actor: actor.value.trim(),
      session: session.value.trim(),
      since: day(since.value, 0, 0), until: day(until.value, 1, 1),
    };
    return new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  }

  async function load(isMore) {
    const turn = ++asked;
    const parameters = query();
    parameters.set("limit", page);
    if (isMore && last) parameters.set("before", last);
    try {
      const { results } = await get(`/audit?${parameters}`);
      if (turn !== asked) return;
      if (!isMore) rows.replaceChildren();
      rows.append(...results.map(row));
      last = results.at(-1)?.number ?? last;
      more.hidden = results.length < page;
      fill(fault);
      rows.removeAttribute("aria-busy");
      fill(place, rows.childElementCount ? rows
        : empty(t("audit.nothing"), t("audit.noMatch")));
    } catch (error) {
      if (me) fill(fault, failure(error.message, () => load(isMore)));
    }
  }

  async function loadBoards() {
    const { results } = await get("/boards?everyone=true").catch(() => ({ results: [] }));
    for (const one of results) {
      boards.set(one.installationId, one.name);
      board.append(option(one.installationId, one.name));
    }
    for (const link of rows.querySelectorAll("a[data-board]")) {
      link.textContent = boards.get(link.dataset.board) ?? link.textContent;
    }
  }

  function row(entry) {
    return h("li", { class: isAlarm(entry.event) ? "warn" : null },
      h("p.what", auditWords(entry.event)),
      h("p.note", phrase("audit.by",
        { when: when(entry.at), who: h("span.who", entry.actor) })),
      h("p.note",
        entry.installationId && [phrase("audit.ofBoard", { board: h("a", {
          href: `#/boards/${entry.installationId}`, "data-board": entry.installationId,
        }, boards.get(entry.installationId) ?? entry.installationId.slice(0, 8)) }), " "],
        entry.sessionId && [phrase("audit.ofSession",
          { id: h("code", entry.sessionId) }), " "], entry.detail));
  }

  async function exported(format) {
    const parameters = query();
    parameters.set("format", format);
    try {
      const answer = await request("GET", `/audit/export?${parameters}`, undefined, 600000);
      const url = URL.createObjectURL(await answer.blob());
      const link = h("a", { href: url, download: `audit.${format}` });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
      say(t("audit.saved", { format }));
    } catch (error) {
      say(error.message);
    }
  }

  let typing = 0;
  form.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => load(false), 300);
  });
  form.addEventListener("submit", e => e.preventDefault());

  load(false);
  loadBoards();
  return {
    title: t("word.log"), node, close: () => clearTimeout(typing),
    event(name, entry) {
      if (name === "again") load(false);
      if (name !== "audit" || query().size) return;
      if (!rows.isConnected) fill(place, rows);
      rows.prepend(row(entry));
    },
  };
}

function option(value, label) { return h("option", { value }, label); }

function text(name) {
  return h("input", { name, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
}

/** The second at which a day begins in local time, plus `days` and minus `less` seconds. */
function day(value, days, less) {
  if (!value) return "";
  const [y, m, d] = value.split("-").map(Number);
  return String(new Date(y, m - 1, d + days).getTime() / 1000 - less);
}
