// The page of one board: its state, its data, its rules and the timeline of its sessions.

import * as acts from "./acts.js";
import { openAlerts } from "./alerts.js";
import { get, me } from "./api.js";
import { battery } from "./charts.js";
import { commandPart } from "./commands.js";
import { back, button, empty, facts, failure, fill, h, pill, renew, section } from "./dom.js";
import { explainForm } from "./explain.js";
import { bringUp, noMinutes, putMinute } from "./live.js";
import { readings } from "./readings.js";
import { lostWords, replaceBoard } from "./replace.js";
import { labelBoards } from "./several.js";
import { leaveBoard, sharedWith, shareWords } from "./share.js";
import { phrase, t } from "./text.js";
import { lastData, nowMs, when } from "./time.js";
import {
  arrivalWords, boardState, endWords, eventWords, ruleWords, sessionState, shownEnd,
} from "./words.js";

export function boardPage(id, go) {
  const path = `/boards/${encodeURIComponent(id)}`, query = `board=${encodeURIComponent(id)}`;
  const heading = h("h1", { tabindex: "-1" }, t("word.board"));
  const state = h("span"), about = h("div"), actions = h("div.actions"), notice = h("div");
  const rules = h("div"), story = h("ol.story"), body = h("div.board-page"), sharing = h("div");
  const live = readings(path), charts = battery(), alerts = openAlerts(() => query);
  const node = h("div", { "aria-busy": "true" }, back(), h("div.title", heading, state),
    alerts.node, notice, body);
  const explain = explainForm(path), commands = commandPart(path);
  const page = { title: t("word.board"), node, load, event, close, state: stream, query };
  let board = null, minutes = noMinutes(nowMs()), arrival = null, storyTimer = 0, isAway = false;
  let shares = null;

  const part = (name, heading, ...children) => section(`.card.${name}`, name, heading, ...children);
  // Only who manages the board sees its rules and its timeline.
  const managed = [part("rules", t("word.rules"), rules, explain.node, commands.node),
    part("timeline", t("board.timeline"), story)];
  const parts = [
    h("div.main", part("readings", t("word.readings"), live.node),
      part("hour", t("board.hour"), charts), managed[0]),
    h("div.side", part("state", t("board.state"), about, actions, sharing), managed[1]),
  ];
  const isOwn = () => !board.shared;
  const isManaged = () => isOwn() || board.shared.right === "manage";

  async function load() {
    try {
      const [full, now] = await Promise.all([get(path), get(`${path}/live`), live.load()]);
      if (!body.childElementCount) fill(body, parts);
      minutes = now.minutes ?? minutes;
      arrival = now.arrival ?? null;
      bringUp(minutes, nowMs());
      show(full);
      if (isOwn()) alerts.load();
      await loadStory();
    } catch (error) {
      const isUnknown = error.code === 101;
      // What the person may not see any more does not stay.
      if (isUnknown) fill(body);
      if (me) fill(notice, failure(isUnknown ? t("board.unknown") : error.message, load));
    }
    node.removeAttribute("aria-busy");
  }

  function show(next) {
    // An event has fewer members than the board's own page has loaded: keep those.
    board = { ...board, ...next };
    page.title = heading.textContent = board.name || t("word.unnamed");
    document.title = document.title.replace(/^[^·]*/, `${page.title} `);
    showState();
    fill(notice, endNotice(board), endingNotice(board), claimNotice(board, load),
      board.identityShared && h("div.notice", h("p", phrase("board.shared",
        { command: h("code", "postern-agent pair --new") }))));
    live.setBoard(board);
    if (isOwn()) commands.show(board);
    renew(about, boardFacts(board, arrival));
    renew(actions, boardActions());
    for (const part of managed) part.hidden = !isManaged();
    if (isOwn() && !shares) fill(sharing, (shares = sharedWith(board)).node);
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
    const { sessionState, sessionId, name, sessionExpiresAt: expiresAt } = board;
    return [
      board.renewable && button(t("act.renew"), () => acts.renewBoard(board, load),
        "#renew.primary"),
      isManaged() && ["active", "pending"].includes(sessionState) && acts.endButtons(
        { id: sessionId, name, expiresAt, latestEnd: board.sessionLatestEnd ?? null }, load),
      isManaged() && button(t("act.rename"), () => acts.renameBoard(board, load), "#rename"),
      isOwn() && button(t("act.label"), () => labelBoards([board], load), "#label"),
      h("details#ends", h("summary", t(isOwn() ? "board.signOutOrRelease" : "share.leaveBoard")),
        h("div.actions", !isOwn() && button(t("share.go"),
          () => leaveBoard(board, () => go("#/boards")), "#leave.danger"),
        isManaged() && sessionState === "active" && button(t("act.signOut"),
          () => acts.signOutBoard(board, load), "#sign-out.danger"),
        isOwn() && [button(t("replace.button"),
          () => replaceBoard(board, by => go(`#/boards/${by}`)), "#replace.danger"),
        button(t("act.release"), () => acts.releaseBoard(board, () => go("#/boards")),
          "#release.danger")])),
    ];
  }

  async function loadStory() {
    if (!isManaged()) return;
    if (isOwn()) commands.load();
    const { results } = await get(`${path}/timeline`);
    renew(story, results.length ? results.map(entry)
      : h("li.none", empty(t("board.nothing"), t("board.nothingText"))));
  }

  function event(name, data) {
    if (board && isOwn()) alerts.event(name);
    if (data.installationId !== id) return;
    if (name === "unshared") return load();
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
      shares?.refresh();
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
  return page;
}

function endNotice(board) {
  return endWords(board) && h("div.notice", endWords(board).map(text => h("p", text)));
}

/** Announces the end of a session that lives, 30, 7 and 1 days ahead. */
function endingNotice({ sessionState, sessionWarning, sessionEndsAt, sessionEndCause }) {
  return sessionState === "active" && sessionWarning
    && h(sessionWarning === 1 ? "div.notice.bad" : "div.notice", h("p", phrase(
      sessionEndCause === "idle" ? "board.endsUnless" : "acts.ends",
      { when: when(sessionEndsAt) })));
}

function claimNotice({ openClaim: claim, name }, load) {
  if (claim?.state !== "sent") return null;
  const waits = phrase(claim.renewal ? "board.renewalWaits" : "board.claimWaits",
    { when: when(claim.expiresAt) });
  return h("div.notice", h("p", waits),
    button(t(claim.renewal ? "act.cancelRenewal" : "act.endClaim"),
      () => acts.endClaim(claim, name, load), "#end-claim.danger"));
}

function boardFacts(board, arrival) {
  const { status, queue, refused, gaps, sessionExpiresAt } = board, end = shownEnd(board);
  return [facts([
    [t(status === "down" ? "board.offlineSince" : "board.onlineSince"),
      status && board.statusSince ? when(board.statusSince) : null],
    [t("word.session"), [pill(...sessionState(board.sessionState)), end && [" ", phrase(
      end === sessionExpiresAt ? "board.ends" : "board.endsIdle", { when: when(end) })]]],
    [t("word.lastData"), lastData(board)], [t("board.contact"), when(board.lastSeen)],
    [t("word.queue"), typeof queue !== "number" ? t("board.notReported")
      : queue === 0 ? t("board.emptyQueue") : [t("board.waiting", { n: queue }),
        board.queueOldest && phrase("board.oldest", { when: when(board.queueOldest) })]],
    [t("word.arrived"), arrival && [arrival.missing > 0
      && [pill("bad", t("word.missing", { n: arrival.missing })), " "], arrivalWords(arrival)]],
    [t("word.refused"), refused > 0 && t("board.refusedSince", { n: refused })],
    [t("board.lost"), gaps > 0 && t("board.lostCount", { n: gaps })],
    ...(board.replaces ?? []).map(old => [t("share.replaces"),
      [h("code", old.installationId.slice(0, 8)), lostWords(old.lost, ": ")]]),
    [t("word.labels"), board.labels.join(", ")],
    [t("share.from"), board.shared && [board.owner, " · ", shareWords(board.shared)]],
  ]), h("details#about", h("summary", t("board.about")), facts([
    [t("board.version"), board.version], [t("word.owner"), board.owner],
    [t("board.key"), h("code", board.deviceKey)],
    [t("word.installation"), h("code", board.installationId)],
  ]))];
}

function entry({ at, until, event, count: n, detail }) {
  const [kind, words] = eventWords(event);
  return h("li", { class: kind }, h("p", h("span.what", words),
    n > 1 && h("span.times", " ", t("board.times", { n }))),
  h("p.note", until > at ? phrase("board.fromTo", { from: when(at), to: when(until) }) : when(at),
    // The end of a detail may be a time.
    detail && [" · ", detail.split(/(\d{10})$/).map((part, i) => (i % 2 ? when(+part) : part))]));
}

function rulePart(board, explain, change) {
  const { scope, policy, reportedAt } = board;
  return [
    h("h3", t("board.sessionRules"), " ",
      board.scopePending && pill("warn", t("board.pending"))),
    scope ? sentences(scope)
      : h("p", t(board.sessionId ? "board.allRestricted" : "board.noSession")),
    board.sessionState === "active" && h("div.actions",
      button(t("board.changeRules"), change, { id: "change-rules" })),
    h("h3", t("board.policy")),
    policy ? sentences(policy) : h("p", t(board.policyKnown === false || !reportedAt
      ? "board.policyUnknown" : board.policyOmitted ? "board.policyLong" : "board.policyNone")),
    reportedAt && h("p.note", phrase("board.unchanged", { when: when(reportedAt) })),
    h("h3", t("board.refusals")), refusalList(board, explain),
  ];
}

function sentences(document) {
  return h("ul.plain", ruleWords(document).map(line => h("li", line)));
}

function refusalList({ refusals, refused, reportedAt }, explain) {
  if (!refusals?.length) {
    return h("p", t(reportedAt && !refused ? "board.noneRefused" : "board.threeMinutes"));
  }
  return h("ul.rows", refusals.map(({ app, rule, count: n }, index) => h("li",
    h("p", h("span.what", app || t("board.anApp")), ": ",
      phrase("board.writesBy", { n, rule: h("code", rule) })),
    button(t("act.explain"), () => explain({ app, rule }), { id: `explain-${index}`,
      "aria-label": t("board.explainOf", { rule, app: app || t("board.someApp") }) }))));
}
