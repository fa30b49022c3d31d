// The page of one board: its state, its data, its rules and the timeline of its sessions.

import * as acts from "./acts.js";
import { openAlerts } from "./alerts.js";
import { get, me } from "./api.js";
import { battery } from "./charts.js";
import { button, empty, facts, failure, fill, h, icon, pill, renew } from "./dom.js";
import { explainForm } from "./explain.js";
import { bringUp, noMinutes, putMinute } from "./live.js";
import { readings } from "./readings.js";
import { labelBoards } from "./several.js";
import { nowMs, when } from "./time.js";
import {
  arrivalWords, boardState, count, endWords, eventWords, number, ruleWords, sessionState, shownEnd,
} from "./words.js";

export function boardPage(id, go) {
  const path = `/boards/${encodeURIComponent(id)}`;
  const heading = h("h1", { tabindex: "-1" }, "Board");
  const state = h("span"), about = h("div"), actions = h("div", { class: "actions" });
  const notice = h("div"), live = readings(path), charts = battery();
  const rules = h("div"), story = h("ol", { class: "story" });
  const alerts = openAlerts(() => `board=${encodeURIComponent(id)}`);
  const body = h("div", { class: "board-page" });
  const node = h("div", { "aria-busy": "true" },
    h("a", { class: "back", href: "#/boards" }, icon("back"), "Boards"),
    h("div", { class: "title" }, heading, state), alerts.node, notice, body);
  const explain = explainForm(path);
  const page = { title: "Board", node, event, close, state: stream,
    query: `board=${encodeURIComponent(id)}` };
  let board = null, minutes = noMinutes(nowMs()), arrival = null, storyTimer = 0, isAway = false;

  const parts = [
    h("div", { class: "main" }, section("readings", "Readings", live.node),
      section("hour", "The last hour", charts), section("rules", "Rules", rules, explain.node)),
    h("div", { class: "side" }, section("state", "State", about, actions),
      section("timeline", "Timeline", story)),
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
        ? "There is no such board, or it is not yours." : error.message, load));
    }
  }

  function show(next) {
    // An event has fewer members than the board's own page has loaded: keep those.
    board = { ...board, ...next };
    page.title = heading.textContent = board.name || "Unnamed board";
    document.title = document.title.replace(/^[^·]*/, `${page.title} `);
    showState();
    fill(notice, endNotice(board), endingNotice(board),
      board.openClaim?.state === "sent" && h("div", { class: "notice" },
        h("p", null, board.openClaim.renewal ? "A renewal waits for this board. It expires "
          : "A claim waits for this board. It expires ", when(board.openClaim.expiresAt), "."),
        button(board.openClaim.renewal ? "Cancel the renewal" : "End the claim",
          () => acts.endClaim(board.openClaim, board.name, load),
          { id: "end-claim", class: "danger" })),
    board.identityShared && h("div", { class: "notice" },
      h("p", null, "Another machine uses this board's identity. Stop the agent there, then ",
        "pair this board again: ", h("code", null, "postern-agent pair --new"), ".")));
    live.setBoard(board);
    renew(about, boardFacts(board, arrival));
    renew(actions, boardActions());
    renew(rules, rulePart(board, explain.open, () => acts.changeRules(board, reload)));
    minutes.queue[59] = board.queue ?? minutes.queue[59];
    charts.draw(minutes);
  }

  function showState() {
    const [kind, words] = boardState(board);
    renew(state, isAway ? pill("", `Last known: ${words}`) : pill(kind, words));
  }

  function stream(next) {
    live.state(next);
    isAway = next === "reconnecting" || (isAway && next !== "live");
    if (board) showState();
  }

  function boardActions() {
    const hasSession = ["active", "pending"].includes(board.sessionState);
    return [
      board.renewable && button("Renew", () => acts.renewBoard(board, load),
        { id: "renew", class: "primary" }),
      hasSession && acts.endButtons({
        id: board.sessionId, name: board.name, expiresAt: board.sessionExpiresAt,
        latestEnd: board.sessionLatestEnd ?? null,
      }, load),
      button("Rename", () => acts.renameBoard(board, load), { id: "rename" }),
      button("Label", () => labelBoards([board], load), { id: "label" }),
      h("details", { id: "ends" }, h("summary", null, "Sign out or release"),
        h("div", { class: "actions" },
          board.sessionState === "active" && button("Sign out",
            () => acts.signOutBoard(board, load), { id: "sign-out", class: "danger" }),
          button("Release", () => acts.releaseBoard(board, () => go("#/boards")),
            { id: "release", class: "danger" }))),
    ];
  }

  async function loadStory() {
    const { results } = await get(`${path}/timeline`);
    renew(story, results.length ? results.map(entry) : h("li", { class: "none" },
      empty("Nothing yet", "The events of the board's session appear here.")));
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
  return words && h("div", { class: "notice" }, words.map(text => h("p", null, text)));
}

/** Announces the end of a session that lives, 30, 7 and 1 days ahead. */
function endingNotice(board) {
  if (board.sessionState !== "active" || !board.sessionWarning) return null;
  return h("div", { class: board.sessionWarning === 1 ? "notice bad" : "notice" }, h("p", null,
    "The session ends ", when(board.sessionEndsAt),
    board.sessionEndCause === "idle" ? ", unless the board is heard before." : "."));
}

function boardFacts(board, arrival) {
  const [kind, session] = sessionState(board.sessionState);
  return [facts([
    [board.status === "down" ? "Offline since" : "Online since",
      board.status && board.statusSince ? when(board.statusSince) : null],
    ["Session", [pill(kind, session), shownEnd(board) && [" ends ", when(shownEnd(board)),
      shownEnd(board) !== board.sessionExpiresAt && ", unless the board is heard before"]]],
    ["Last data", board.lastDataMs ? when(board.lastDataMs / 1000) : "none recently"],
    ["Last contact", when(board.lastSeen)],
    ["Queue", board.queue === null || board.queue === undefined ? "not reported"
      : board.queue === 0 ? "empty" : [`${count(board.queue, "message")} waiting`,
        board.queueOldest && [", the oldest accepted ", when(board.queueOldest)]]],
    ["Arrived", arrival && [arrival.missing > 0
      && [pill("bad", `${count(arrival.missing, "message")} missing`), " "],
    arrivalWords(arrival)]],
    ["Refused", board.refused ? `${count(board.refused, "write")} since it started` : null],
    ["Lost", board.gaps ? `${count(board.gaps, "message")}, announced` : null],
    ["Labels", board.labels.join(", ")],
  ]), h("details", { id: "about" }, h("summary", null, "About this board"), facts([
    ["Version", board.version], ["Owner", board.owner],
    ["Device key", h("code", null, board.deviceKey)],
    ["Installation", h("code", null, board.installationId)],
  ]))];
}

function entry({ at, until, event, count: times, detail }) {
  const [kind, words] = eventWords(event);
  return h("li", { class: kind },
    h("p", null, h("span", { class: "what" }, words),
      times > 1 && h("span", { class: "times" }, ` ${number(times)} times`)),
    h("p", { class: "note" }, when(at), until && until > at && [" to ", when(until)],
      detail && [" · ", detail.split(/(\d{10})$/).map((part, i) =>
        (i % 2 ? when(Number(part)) : part))]));
}

function rulePart(board, explain, change) {
  return [
    h("h3", null, "The session's rules ",
      board.scopePending && pill("warn", "waiting for the board")),
    board.scope ? sentences(board.scope)
      : h("p", null, board.sessionId ? "Everything a restricted session may."
        : "The board has no session."),
    board.sessionState === "active" && h("div", { class: "actions" },
      button("Change the rules", change, { id: "change-rules" })),
    h("h3", null, "The board's own policy"),
    board.policy ? sentences(board.policy)
      : h("p", null, board.policyKnown === false || !board.reportedAt
        ? "The board has not reported its policy yet." : board.policyOmitted
          ? "The board has a policy file, but it is too long to be shown here."
          : "The board has no policy file, so it has no further rules."),
    board.reportedAt && h("p", { class: "note" }, "Unchanged since ", when(board.reportedAt), "."),
    h("h3", null, "Refused writes"), refusalList(board, explain),
  ];
}

function sentences(document) {
  return h("ul", { class: "plain" }, ruleWords(document).map(line => h("li", null, line)));
}

function refusalList({ refusals, refused, reportedAt }, explain) {
  if (!refusals?.length) {
    return h("p", null, reportedAt && !refused ? "None since the board started."
      : "The board reports refused writes within three minutes.");
  }
  const row = ({ app, rule, count: times }, index) => h("li", null,
    h("p", null, h("span", { class: "what" }, app || "An app"), `: ${count(times, "write")}, by `,
      h("code", null, rule)),
    button("Explain", () => explain({ app, rule }), {
      id: `explain-${index}`, "aria-label": `Explain what ${rule} refused to ${app || "an app"}`,
    }));
  return h("ul", { class: "rows" }, refusals.map(row));
}
