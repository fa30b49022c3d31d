// The page of one board: its state, its data, its rules and the timeline of its sessions.

import * as acts from "./acts.js";
import { openAlerts } from "./alerts.js";
import { get, me } from "./api.js";
import { battery } from "./charts.js";
import { commandPart } from "./commands.js";
import { button, empty, facts, failure, fill, h, icon, pill, renew } from "./dom.js";
import { explainForm } from "./explain.js";
import { bringUp, noMinutes, putMinute } from "./live.js";
import { readings } from "./readings.js";
import { replaceBoard } from "./replace.js";
import { labelBoards } from "./several.js";
import { phrase, t } from "./text.js";
import { nowMs, when } from "./time.js";
import {
  arrivalWords, boardState, endWords, eventWords, ruleWords, sessionState, shownEnd,
} from "./words.js";

export function boardPage(id, go) {
  const path = `/boards/${encodeURIComponent(id)}`;
  const heading = h("h1", { tabindex: "-1" }, t("word.board"));
  const state = h("span"), about = h("div"), actions = h("div.actions");
  const notice = h("div"), live = readings(path), charts = battery();
  const rules = h("div"), story = h("ol.story");
  const alerts = openAlerts(() => `board=${encodeURIComponent(id)}`);
  const body = h("div.board-page");
  const node = h("div", { "aria-busy": "true" },
    h("a.back", { href: "#/boards" }, icon("back"), t("word.boards")),
    h("div.title", heading, state), alerts.node, notice, body);
  const explain = explainForm(path), commands = commandPart(path);
  const page = { title: t("word.board"), node, event, close, state: stream,
    query: `board=${encodeURIComponent(id)}` };
  let board = null, minutes = noMinutes(nowMs()), arrival = null, storyTimer = 0, isAway = false;

  const parts = [
    h("div.main", section("readings", t("word.readings"), live.node),
      section("hour", t("board.hour"), charts),
      section("rules", t("word.rules"), rules, explain.node, commands.node)),
    h("div.side", section("state", t("board.state"), about, actions),
      section("timeline", t("board.timeline"), story)),
  ];

  async function load() {
    try {
      const [full, now] = await Promise.all([get(path), get(`${path}/live`), live.load()]);
      node.removeAttribute("aria-busy");
      if (!body.childElementCount) fill(body, parts);
      minutes = now.minutes ?? minutes;
      arrival = now.arrival ?? null;
      bringUp(minutes, nowMs());
      show(full);
      await loadStory();
    } catch (error) {
      node.removeAttribute("aria-busy");
      if (!me) return;
      fill(notice, failure(error.code === 101
        ? t("board.unknown") : error.message, load));
    }
  }

  function show(next) {
    // An event has fewer members than the board's own page has loaded: keep those.
    board = { ...board, ...next };
    page.title = heading.textContent = board.name || t("word.unnamed");
    document.title = document.title.replace(/^[^·]*/, `${page.title} `);
    showState();
    fill(notice, endNotice(board), endingNotice(board),
      board.openClaim?.state === "sent" && h("div.notice",
        h("p", phrase(board.openClaim.renewal ? "board.renewalWaits" : "board.claimWaits",
          { when: when(board.openClaim.expiresAt) })),
        button(board.openClaim.renewal ? t("act.cancelRenewal") : t("act.endClaim"),
          () => acts.endClaim(board.openClaim, board.name, load),
          { id: "end-claim", class: "danger" })),
    board.identityShared && h("div.notice",
      h("p", phrase("board.shared",
        { command: h("code", "postern-agent pair --new") }))));
    live.setBoard(board);
    commands.show(board);
    renew(about, boardFacts(board, arrival));
    renew(actions, boardActions());
    renew(rules, rulePart(board, explain.open, () => acts.changeRules(board, reload)));
    minutes.queue[59] = board.queue ?? minutes.queue[59];
    charts.draw(minutes);
  }

  function showState() {
    const [kind, words] = boardState(board);
    renew(state, isAway ? pill("", t("board.lastKnown", { state: words })) : pill(kind, words));
  }

  function stream(next) {
    live.state(next);
    isAway = next === "reconnecting" || (isAway && next !== "live");
    if (board) showState();
  }

  function boardActions() {
    const hasSession = ["active", "pending"].includes(board.sessionState);
    return [
      board.renewable && button(t("act.renew"), () => acts.renewBoard(board, load),
        { id: "renew", class: "primary" }),
      hasSession && acts.endButtons({
        id: board.sessionId, name: board.name, expiresAt: board.sessionExpiresAt,
        latestEnd: board.sessionLatestEnd ?? null,
      }, load),
      button(t("act.rename"), () => acts.renameBoard(board, load), { id: "rename" }),
      button(t("act.label"), () => labelBoards([board], load), { id: "label" }),
      h("details", { id: "ends" }, h("summary", t("board.ends2")),
        h("div.actions",
          board.sessionState === "active" && button(t("act.signOut"),
            () => acts.signOutBoard(board, load), { id: "sign-out", class: "danger" }),
          button(t("replace.button"), () => replaceBoard(board, by => go(`#/boards/${by}`)),
            { id: "replace", class: "danger" }),
          button(t("act.release"), () => acts.releaseBoard(board, () => go("#/boards")),
            { id: "release", class: "danger" }))),
    ];
  }

  async function loadStory() {
    commands.load();
    const { results } = await get(`${path}/timeline`);
    renew(story, results.length ? results.map(entry) : h("li.none",
      empty(t("board.nothing"), t("board.nothingText"))));
  }

  function event(name, data) {
    alerts.event(name);
    if (name === "again") return load();
    if (data.installationId !== id) return;
    if (name === "reading") live.add(data);
    if (name === "minute") {
      putMinute(minutes, data);
      charts.draw(minutes);
      arrival = data.arrival ?? arrival;
      if (board) renew(about, boardFacts(board, arrival));
    }
    if (name === "board" && board) {
      show(data);
      // Several changes arrive together: load the timeline once for all of them.
      clearTimeout(storyTimer);
      storyTimer = setTimeout(reload, 400);
    }
  }

  async function reload() {
    try {
      show(await get(path));
      await loadStory();
    } catch { /* The next event or the user loads it again. */ }
  }

  const timer = setInterval(() => {
    if (bringUp(minutes, nowMs())) charts.draw(minutes);
    live.tick();
  }, 5000);

  function close() {
    clearInterval(timer);
    clearTimeout(storyTimer);
    alerts.close();
    live.close();
  }

  load();
  alerts.load();
  return page;
}

function section(id, title, ...children) {
  return h("section", { class: `card ${id}`, "aria-labelledby": `h-${id}` },
    h("h2", { id: `h-${id}` }, title), children);
}

/** Says why the board has no session, and what helps. */
function endNotice(board) {
  const words = endWords(board);
  return words && h("div.notice", words.map(text => h("p", text)));
}

/** Announces the end of a session that lives, 30, 7 and 1 days ahead. */
function endingNotice(board) {
  if (board.sessionState !== "active" || !board.sessionWarning) return null;
  return h("div", { class: board.sessionWarning === 1 ? "notice bad" : "notice" }, h("p",
    phrase(board.sessionEndCause === "idle" ? "board.endsUnless" : "acts.ends",
      { when: when(board.sessionEndsAt) })));
}

function boardFacts(board, arrival) {
  const [kind, session] = sessionState(board.sessionState);
  return [facts([
    [board.status === "down" ? t("board.offlineSince") : t("board.onlineSince"),
      board.status && board.statusSince ? when(board.statusSince) : null],
    [t("word.session"), [pill(kind, session), shownEnd(board) && [" ", phrase(
      shownEnd(board) === board.sessionExpiresAt ? "board.ends" : "board.endsIdle",
      { when: when(shownEnd(board)) })]]],
    [t("word.lastData"), board.lastDataMs ? when(board.lastDataMs / 1000) : t("word.noData")],
    [t("board.contact"), when(board.lastSeen)],
    [t("word.queue"), board.queue === null || board.queue === undefined ? t("board.notReported")
      : board.queue === 0 ? t("board.emptyQueue") : [t("board.waiting", { n: board.queue }),
        board.queueOldest && phrase("board.oldest", { when: when(board.queueOldest) })]],
    [t("word.arrived"), arrival && [arrival.missing > 0
      && [pill("bad", t("word.missing", { n: arrival.missing })), " "],
    arrivalWords(arrival)]],
    [t("word.refused"), board.refused ? t("board.refusedSince", { n: board.refused }) : null],
    [t("board.lost"), board.gaps ? t("board.lostCount", { n: board.gaps }) : null],
    [t("word.labels"), board.labels.join(", ")],
  ]), h("details", { id: "about" }, h("summary", t("board.about")), facts([
    [t("board.version"), board.version], [t("word.owner"), board.owner],
    [t("board.key"), h("code", board.deviceKey)],
    [t("word.installation"), h("code", board.installationId)],
  ]))];
}

function entry({ at, until, event, count: times, detail }) {
  const [kind, words] = eventWords(event);
  return h("li", { class: kind },
    h("p", h("span.what", words),
      times > 1 && h("span.times", " ", t("board.times", { n: times }))),
    h("p.note", 
      until > at ? phrase("board.fromTo", { from: when(at), to: when(until) }) : when(at),
      detail && [" · ", detail.split(/(\d{10})$/).map((part, i) =>
        (i % 2 ? when(Number(part)) : part))]));
}

function rulePart(board, explain, change) {
  return [
    h("h3", t("board.sessionRules"), " ",
      board.scopePending && pill("warn", t("board.pending"))),
    board.scope ? sentences(board.scope)
      : h("p", board.sessionId ? t("board.allRestricted")
        : t("board.noSession")),
    board.sessionState === "active" && h("div.actions",
      button(t("board.changeRules"), change, { id: "change-rules" })),
    h("h3", t("board.policy")),
    board.policy ? sentences(board.policy)
      : h("p", board.policyKnown === false || !board.reportedAt
        ? t("board.policyUnknown") : board.policyOmitted
          ? t("board.policyLong")
          : t("board.policyNone")),
    board.reportedAt && h("p.note", 
      phrase("board.unchanged", { when: when(board.reportedAt) })),
    h("h3", t("board.refusals")), refusalList(board, explain),
  ];
}

function sentences(document) {
  return h("ul.plain", ruleWords(document).map(line => h("li", line)));
}

function refusalList({ refusals, refused, reportedAt }, explain) {
  if (!refusals?.length) {
    return h("p", reportedAt && !refused ? t("board.noneRefused")
      : t("board.threeMinutes"));
  }
  const row = ({ app, rule, count: times }, index) => h("li",
    h("p", h("span.what", app || t("board.anApp")), ": ",
      phrase("board.writesBy", { n: times, rule: h("code", rule) })),
    button(t("act.explain"), () => explain({ app, rule }), {
      id: `explain-${index}`, "aria-label": 
        t("board.explainOf", { rule, app: app || t("board.someApp") }),
    }));
  return h("ul.rows", refusals.map(row));
}
