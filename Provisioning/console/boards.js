// The list of boards: searched, sorted and cut by the authority, page by page.

import { openAlerts } from "./alerts.js";
import { get, me } from "./api.js";
import { boardCard } from "./card.js";
import { button, empty, failure, field, fill, h, icon, say } from "./dom.js";
import { formerBoards } from "./former.js";
import { selection } from "./several.js";
import { number, t } from "./text.js";

const pageSize = 40, mostAtOnce = 50, typing = 250, recountAfter = 10000;
// The choices stay while the user looks at a board and comes back.
let kept = {};

/** `relisten` starts to listen again, with the page's new `query`. */
export function boardsPage(relisten) {
  const cards = new Map();
  if (kept.user !== me.user.objectId) kept = { user: me.user.objectId };
  let next = null, counts = null, asking = 0, isBusy = false, typed = 0, recounting = 0;
  const place = h("div.grid", { "aria-busy": "true" },
    h("p.loading", t("boards.loading")));
  const total = h("p.lead", { role: "status" }, " ");
  const everyone = h("input", { type: "checkbox", id: "everyone", onchange() {
    page.query = query();
    relisten();
    again();
    alerts.load();
  } });
  const search = h("input", { type: "search", id: "search", value: kept.search ?? "",
    maxlength: 64, autocomplete: "off", spellcheck: "false", oninput() {
      clearTimeout(typed);
      typed = setTimeout(again, typing);
    } });
  const label = h("select", { id: "label", onchange: again });
  const labelField = field(t("act.label"), label);
  labelField.hidden = true;
  const query = () => (everyone.checked ? "everyone=true" : "");
  const alerts = openAlerts(query), former = formerBoards();
  const picked = selection(cards, later);
  const further = button("", () => (next ? more(true) : load()), { id: "more", class: "wide" });
  further.hidden = true;
  const watch = new IntersectionObserver(seen => {
    if (seen.some(entry => entry.isIntersecting)) more(false);
  }, { rootMargin: "800px" });
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("word.boards")),
      h("a.button.primary", { href: "claim" }, icon("plus"), t("act.pair"))),
    h("div.row", total, me.user.isAdministrator
      && h("label.check", everyone, t("boards.everyone"))),
    h("div.finder", { role: "search" }, field(t("boards.search"), search), labelField,
      picked.toggle),
    alerts.node, picked.bar, place, further, former.node);

  function choice(members) {
    const all = new URLSearchParams(members);
    if (everyone.checked) all.set("everyone", true);
    if (kept.search) all.set("search", kept.search);
    if (kept.label) all.set("label", kept.label);
    return `/boards?${all}`;
  }

  function again() {
    clearTimeout(typed);
    kept = { ...kept, search: search.value.trim(), label: label.value };
    load(pageSize);
  }

  async function load(limit = Math.min(Math.max(cards.size, pageSize), mostAtOnce)) {
    const asked = ++asking;
    try {
      const answer = await get(choice({ live: true, limit }));
      if (asked !== asking) return;
      cards.clear();
      counts = answer.counts;
      showLabels(answer.labels);
      answer.results.forEach(add);
      fill(place, cards.size ? [...cards.values()].map(c => c.node) : nothing());
      ended(answer.next);
    } catch (error) {
      if (asked !== asking) return;
      cards.clear();
      counts = null;
      if (me) fill(place, failure(error.message, () => load()));
      ended(null);
    }
    picked.keep();
    showCounts();
    place.removeAttribute("aria-busy");
  }

  async function more(isAsked) {
    if (!next || isBusy) return;
    const asked = asking;
    isBusy = true;
    try {
      const answer = await get(choice({ live: true, limit: pageSize, cursor: next }));
      if (asked !== asking) return;
      const fresh = answer.results.filter(b => !cards.has(b.installationId)).map(add);
      place.append(...fresh.map(c => c.node));
      if (isAsked) fresh[0]?.focus();
      ended(answer.next);
      showCounts();
    } catch (error) {
      // No further page by itself: the button is there to try again.
      watch.disconnect();
      say(error.message);
    } finally {
      isBusy = false;
      if (next && asked !== asking) ended(next);
    }
  }

  function ended(cursor) {
    next = cursor;
    watch.disconnect();
    if (next) watch.observe(further);
  }

  function add(board) {
    const card = boardCard(board, picked);
    cards.set(board.installationId, card);
    return card;
  }

  function nothing() {
    if (kept.search || kept.label) {
      return empty(t("boards.noMatch"), t("boards.searchBy"));
    }
    return empty(t("boards.noBoard"),
      t("boards.how"),
      h("a.button", { href: "claim" }, t("act.pair")));
  }

  function showLabels(all) {
    if (kept.label && !all.some(l => l.label === kept.label)) {
      all = [...all, { label: kept.label, count: 0 }];
    }
    labelField.hidden = !all.length;
    fill(label, h("option", { value: "" }, t("boards.all")), all.map(l => h("option",
      { value: l.label, selected: l.label === kept.label }, `${l.label} (${number(l.count)})`)));
  }

  function showCounts() {
    picked.toggle.hidden = !cards.size && !picked.isOn();
    let words = " ";
    if (counts && (kept.search || kept.label)) {
      words = t("boards.found", { n: counts.all, online: counts.online });
    } else if (counts) {
      words = counts.all ? t("boards.online", { n: counts.all, online: counts.online })
        : t("boards.none");
    }
    if (total.textContent !== words) total.textContent = words;
    further.hidden = !next && (!counts || cards.size === counts.all);
    further.textContent = next ? t("boards.more") : t("boards.again");
  }

  /** Whether all boards are shown. */
  function isWhole() {
    return counts && !next && !kept.search && !kept.label && cards.size === counts.all;
  }

  function later() {
    if (isWhole()) {
      const boards = [...cards.values()].map(c => c.board);
      counts = { all: boards.length, online: boards.filter(b => b.status === "up").length };
      showCounts();
    } else recounting ||= setTimeout(recount, recountAfter);
  }

  async function recount() {
    recounting = 0;
    const asked = asking;
    try {
      const answer = await get(choice({ limit: 1, sort: "name" }));
      if (asked !== asking) return;
      counts = answer.counts;
      showCounts();
    } catch { /* The next event asks again. */ }
  }

  function event(name, data) {
    alerts.event(name);
    if (name === "again") load(), former.load();
    if (name === "minute") cards.get(data.installationId)?.minute(data);
    if (name !== "board") return;
    if (!everyone.checked && data.ownerId !== me.user.objectId) return;
    const known = cards.get(data.installationId);
    if (known) known.update(data);
    else if (isWhole()) {
      if (!cards.size) fill(place);
      counts.all += 1;
      place.append(add(data).node);
    }
    later();
  }

  const timer = setInterval(() => { for (const c of cards.values()) c.tick(); }, 5000);
  const page = { title: t("word.boards"), node, event, query: "", close };
  function close() {
    asking++;
    clearInterval(timer);
    clearTimeout(typed);
    clearTimeout(recounting);
    watch.disconnect();
    alerts.close();
  }

  load();
  alerts.load();
  former.load();
  return page;
}
