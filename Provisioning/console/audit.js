// The audit log, for administrators.

import { get, me, request } from "./api.js";
import { button, empty, entry, failure, field, fill, h, say, title } from "./dom.js";
import { loading } from "./loader.js";
import { phrase, t } from "./text.js";
import { when } from "./time.js";
import { auditWords, isAlarm } from "./words.js";

const pageSize = 100;
const kinds = ["", "login", "claim", "session", "board", "user", "keys", "alarm"];

export function makePage() {
  const board = h("select", { name: "board" }, option("", t("audit.all")));
  const event = h("select", { name: "event" }, kinds.map(kind => option(kind, t(`kind.${kind}`))));
  const actor = entry({ name: "actor" }), session = entry({ name: "session" });
  const since = h("input", { name: "since", type: "date" });
  const until = h("input", { name: "until", type: "date" });
  const form = h("form.filters", { novalidate: true, onsubmit: e => e.preventDefault(), oninput() {
    clearTimeout(typing);
    typing = setTimeout(load, 300);
  } }, field(t("audit.what"), event), field(t("word.board"), board), field(t("audit.who"), actor),
  field(t("word.session"), session), field(t("audit.from"), since), field(t("audit.to"), until));
  const rows = h("ol.log", { "aria-busy": "true" }), fault = h("div"), place = loading("div");
  const more = button(t("audit.more"), () => list(true), { hidden: true });
  const exporter = format => button(t(`audit.${format}`), () => exported(format));
  const node = h("div", title(t("word.audit"), h("div.actions", exporter("csv"), exporter("json"))),
    h("details.card.filter", h("summary", t("audit.filter")), form), place, fault,
    h("p.center", more));
  const boards = new Map();
  let last = null, asked = 0, typing = 0;

  function query() {
    const values = {
      event: event.value, board: board.value, actor: actor.value.trim(),
      session: session.value.trim(), since: day(since.value, 0, 0), until: day(until.value, 1, 1),
    };
    return new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  }

  function load() { return list(false); }

  async function list(isMore) {
    const turn = ++asked, parameters = query();
    parameters.set("limit", pageSize);
    if (isMore && last) parameters.set("before", last);
    try {
      const { results } = await get(`/audit?${parameters}`);
      if (turn !== asked) return;
      if (!isMore) rows.replaceChildren();
      rows.append(...results.map(row));
      last = results.at(-1)?.number ?? last;
      more.hidden = results.length < pageSize;
      fill(fault);
      rows.removeAttribute("aria-busy");
      fill(place, rows.childElementCount ? rows : empty(t("audit.nothing"), t("audit.noMatch")));
      place.removeAttribute("aria-busy");
    } catch (error) {
      if (me) fill(fault, failure(error.message, () => list(isMore)));
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

  function row({ event, at, actor, installationId: id, sessionId, detail }) {
    const link = id && h("a", { href: `#/boards/${id}`, "data-board": id },
      boards.get(id) ?? id.slice(0, 8));
    return h("li", { class: isAlarm(event) && "warn" }, h("p.what", auditWords(event)),
      h("p.note", phrase("audit.by", { when: when(at), who: h("span.who", actor) })),
      h("p.note", link && [phrase("audit.ofBoard", { board: link }), " "],
        sessionId && [phrase("audit.ofSession", { id: h("code", sessionId) }), " "], detail));
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

  load();
  loadBoards();
  return {
    title: t("word.audit"), node, load, close: () => clearTimeout(typing),
    event(name, entry) {
      if (name !== "audit" || query().size) return;
      if (!rows.isConnected) fill(place, rows);
      rows.prepend(row(entry));
    },
  };
}

function option(value, label) { return h("option", { value }, label); }

/** The second at which a day begins in local time, plus `days` and minus `less` seconds. */
function day(value, days, less) {
  if (!value) return "";
  const [y, m, d] = value.split("-").map(Number);
  return String(new Date(y, m - 1, d + days).getTime() / 1000 - less);
}
