// All boards, and the state of each.

import { openAlerts } from "./alerts.js";
import { get, me } from "./api.js";
import { battery } from "./charts.js";
import { empty, facts, fill, h, icon, pill, renew } from "./dom.js";
import { formerBoards } from "./former.js";
import { bringUp, noMinutes, putMinute } from "./live.js";
import { loader } from "./loader.js";
import { nowMs, when } from "./time.js";
import { boardState, count, number, sessionState, shownEnd } from "./words.js";

/** `relisten` starts to listen again, with the page's new `query`. */
export function boardsPage(relisten) {
  const cards = new Map();
  const place = h("div", { class: "grid", "aria-busy": "true" },
    h("p", { class: "loading" }, "Loading boards…"));
  const total = h("p", { class: "lead" }, " ");
  const everyone = h("input", { type: "checkbox", id: "everyone", onchange() {
    page.query = query();
    relisten();
    load();
    alerts.load();
  } });
  const query = () => (everyone.checked ? "everyone=true" : "");
  const alerts = openAlerts(query), former = formerBoards();
  const node = h("div", null,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Boards"),
      h("a", { class: "button primary", href: "claim" }, icon("plus"), "Pair a board")),
    h("div", { class: "row" }, total, me.user.isAdministrator
      && h("label", { class: "check" }, everyone, "Everyone's boards")),
    alerts.node, place, former.node);

  const load = loader(place, async () => {
    const [list, live] = await Promise.all([get(`/boards?${query()}`), get(`/live?${query()}`)]);
    const known = new Map(live.boards.map(b => [b.installationId, b]));
    cards.clear();
    for (const board of list.results) add(board, known.get(board.installationId));
    return all();
  }, fill);

  function add(board, live) {
    cards.set(board.installationId,
      card(board, live?.minutes ?? noMinutes(nowMs()), live?.arrival));
  }

  function all() {
    countOnline();
    if (!cards.size) {
      return empty("No board is paired yet",
        "On the board, run postern-agent pair and point this phone's camera at the code.",
        h("a", { class: "button", href: "claim" }, "Pair a board"));
    }
    const sorted = [...cards.values()].sort((a, b) => a.board.name.localeCompare(b.board.name));
    return sorted.map(c => c.node);
  }

  function countOnline() {
    const online = [...cards.values()].filter(c => c.board.status === "up").length;
    total.textContent = cards.size ? `${number(online)} of ${number(cards.size)} online`
      : "None yet";
  }

  function event(name, data) {
    alerts.event(name);
    if (name === "again") load(), former.load();
    if (name === "minute") cards.get(data.installationId)?.minute(data);
    if (name !== "board") return;
    if (!everyone.checked && data.ownerId !== me.user.objectId) return;
    const known = cards.get(data.installationId);
    if (known) known.update(data);
    else add(data), fill(place, all());
    countOnline();
  }

  const timer = setInterval(() => { for (const c of cards.values()) c.tick(); }, 5000);
  const page = { title: "Boards", node, event, query: "", close };
  function close() {
    clearInterval(timer);
    alerts.close();
  }

  load();
  alerts.load();
  former.load();
  return page;
}

function card(board, minutes, arrival) {
  const state = h("span"), words = h("div"), charts = battery();
  const id = board.installationId;
  const link = h("a", { href: `#/boards/${id}`, id: `b-${id}` });
  const node = h("article", { class: "card board" },
    h("div", { class: "head" }, h("h2", null, link), state), words, charts);
  const self = { node, board, update, minute, tick };

  function update(next) {
    self.board = next;
    minutes.queue[59] = next.queue ?? minutes.queue[59];
    charts.draw(minutes);
    link.textContent = next.name || "Unnamed board";
    renew(state, pill(...boardState(next)));
    const [, session] = sessionState(next.sessionState ?? next.sessionEnd);
    renew(words, facts([
      ["Session", [session, next.renewal && ", a renewal waits for the board",
        shownEnd(next) && [", ends ", when(shownEnd(next))]]],
      ["Last data", next.lastDataMs ? when(next.lastDataMs / 1000) : "none recently"],
      arrival?.missing > 0 && ["Arrived",
        pill("bad", `${count(arrival.missing, "message")} missing`)],
      next.ownerId === me?.user.objectId ? null : ["Owner", next.owner],
    ]));
  }

  function minute(event) {
    putMinute(minutes, event);
    charts.draw(minutes);
    arrival = event.arrival ?? arrival;
    if (event.messages > 0) {
      const latest = Math.min(nowMs(), event.startMs + 60000);
      self.board.lastDataMs = Math.max(self.board.lastDataMs ?? 0, latest);
    }
    update(self.board);
  }

  function tick() { if (bringUp(minutes, nowMs())) charts.draw(minutes); }

  bringUp(minutes, nowMs());
  update(board);
  return self;
}
