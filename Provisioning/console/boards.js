// The list of boards: searched, sorted and cut by the authority, page by page.

import { openAlerts } from "./alerts.js";
import { get, me } from "./api.js";
import { boardCard } from "./card.js";
import { button, checkbox, empty, failure, field, fill, h, icon, say, title } from "./dom.js";
import { formerBoards } from "./former.js";
import { loading } from "./loader.js";
import { selection } from "./several.js";
import { number, t } from "./text.js";

const pageSize = 40, mostAtOnce = 50, typing = 250, recountAfter = 10000;
// The choices stay while the user looks at a board and comes back.
let kept = {};

/** `relisten` starts to listen again, with the page's new `query`. */
export function boardsPage(relisten) {
  const cards = new Map(), place = loading("div.grid");
  if (kept.user !== me.user.objectId) kept = { user: me.user.objectId };
  let next = null, counts = null, asking = 0, busy = null, typed = 0, recounting = 0;
  const total = h("p.lead", { role: "status" }, " ");
  const everyone = checkbox({ id: "everyone", onchange() {
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
  const label = h("select#label", { onchange: again });
  const labelField = field(t("act.label"), label);
  const query = () => (everyone.checked ? "everyone=true" : "");
  const joins = h("div"), prepared = h("div");
  let claims = null, ticks = 0;
  const alerts = openAlerts(query), former = formerBoards();
  const picked = selection(cards, later, whole);
  const further = button("", () => (next ? more(true) : list()), "#more.wide");
  labelField.hidden = further.hidden = true;
  const watch = new IntersectionObserver(seen => {
    if (seen.some(entry => entry.isIntersecting)) more(false);
  }, { rootMargin: "800px" });
  const pair = selector => h(selector, { href: "claim" },
    selector !== "a.button" && icon("plus"), t("act.pair"));
  const node = h("div", title(t("word.boards"), pair("a.button.primary")),
    h("div.row", total, me.user.isAdministrator
      && h("label.check", everyone, t("boards.everyone"))),
    h("div.finder", { role: "search" }, field(t("boards.search"), search), labelField,
      picked.toggle),
    joins, alerts.node, picked.bar, place, further, prepared, former.node);

  function choice(members) {
    const { search, label } = kept, all = new URLSearchParams(members);
    const chosen = { everyone: everyone.checked, search, label };
    for (const name in chosen) if (chosen[name]) all.set(name, chosen[name]);
    return `/boards?${all}`;
  }

  function again() {
    clearTimeout(typed);
    kept = { ...kept, search: search.value.trim(), label: label.value };
    list(pageSize);
  }

  async function list(limit = Math.min(Math.max(cards.size, pageSize), mostAtOnce)) {
    const asked = ++asking;
    const answer = await get(choice({ live: true, limit })).catch(fault => ({ fault }));
    if (asked !== asking) return;
    cards.clear();
    counts = answer.counts;
    if (!answer.fault) {
      showLabels(answer.labels);
      answer.results.forEach(add);
      fill(place, cards.size ? [...cards.values()].map(c => c.node) : nothing());
    } else if (me) fill(place, failure(answer.fault.message, () => list()));
    ended(answer.next);
    picked.keep();
    showCounts();
    place.removeAttribute("aria-busy");
  }

  function more(isAsked) {
    if (next) busy ??= read(isAsked).finally(() => { busy = null; });
    return busy;
  }

  /** Reads all that match a search or a label, and says whether this list has them. */
  async function whole() {
    const asked = asking;
    while (asked === asking && next && (kept.search || kept.label)) {
      if (!await more(false)) return false;
    }
    return asked === asking;
  }

  /** False if the authority did not give a further page. */
  async function read(isAsked) {
    const asked = asking;
    try {
      const answer = await get(choice({ live: true, limit: pageSize, cursor: next }));
      if (asked !== asking) return true;
      const fresh = answer.results.filter(b => !cards.has(b.installationId)).map(add);
      place.append(...fresh.map(c => c.node));
      if (isAsked) fresh[0]?.focus();
      ended(answer.next);
      showCounts();
      return true;
    } catch (error) {
      // No further page by itself: the button is there to try again.
      watch.disconnect();
      say(error.message);
      return false;
    } finally {
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
    return kept.search || kept.label ? empty(t("boards.noMatch"), t("boards.searchBy"))
      : empty(t("boards.noBoard"), t("boards.how"), pair("a.button"));
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
    const { all: n, online } = counts ?? {};
    const key = kept.search || kept.label ? "found" : n ? "online" : "none";
    const words = counts ? t(`boards.${key}`, { n, online }) : " ";
    if (total.textContent !== words) total.textContent = words;
    further.hidden = !next && (!counts || cards.size === n);
    further.textContent = t(next ? "boards.more" : "boards.again");
  }

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
    // Without an answer: the next event asks again.
    const answer = await get(choice({ limit: 1, sort: "name" })).catch(() => null);
    if (!answer || asked !== asking) return;
    counts = answer.counts;
    showCounts();
  }

  function event(name, data) {
    alerts.event(name);
    if (name === "unshared" && cards.has(data.installationId)) list();
    if (name === "minute") cards.get(data.installationId)?.minute(data);
    if (name !== "board") return;
    if (!everyone.checked && data.ownerId !== me.user.objectId && !data.shared) return;
    const known = cards.get(data.installationId);
    if (known) known.update(data);
    else if (isWhole()) {
      if (!cards.size) fill(place);
      counts.all += 1;
      place.append(add(data).node);
    }
    later();
  }

  /** Shows prepared claims. Their part of the page is loaded where there are some. */
  async function loadClaims() {
    const answer = await get("/prepared-claims").catch(() => null);
    if (!answer || !claims && !answer.claims.length) return;
    if (!claims) {
      claims = (await import("./prepared.js")).preparedClaims(loadClaims);
      fill(joins, claims.asking);
      fill(prepared, claims.all);
    }
    claims.show(answer.claims);
  }

  function load() {
    list();
    alerts.load();
    former.load();
    loadClaims();
  }

  function close() {
    asking++;
    clearInterval(timer);
    clearTimeout(typed);
    clearTimeout(recounting);
    watch.disconnect();
    alerts.close();
  }

  const timer = setInterval(() => {
    for (const c of cards.values()) c.tick();
    // Of a board that asks to join there is no event: it is nobody's yet.
    if (++ticks % (claims ? 1 : 12) === 0 && !document.hidden) loadClaims();
  }, 5000);
  const page = { title: t("word.boards"), node, load, event, query: "", close };
  load();
  return page;
}
