// Shows the steps of a claim live: sealed, sent, opened by the board, first data.

import { get, remove, sentence } from "./api.js";
import { button, fill, h, icon, section } from "./dom.js";
import { listen } from "./live.js";
import { has, t } from "./text.js";
import { now, nowMs } from "./time.js";

// Seconds. A board that waits for a claim asks every 3 seconds, after ten minutes every 10.
const patience = { open: 12, data: 20 };
const names = ["sealed", "sent", "opened", "data"];

/** Watches one claim; `sent(claim)` starts it, `failed(name, about, actions)` ends it. */
export function watchClaim(about, { trouble, another, openBoard }) {
  const steps = new Map(names.map(name => [name, step(name)]));
  const aid = h("div"), told = h("p.hidden", { role: "status" });
  const node = h("div", section(".card", "steps", t("progress.pairing"),
    h("ol.steps", [...steps.values()].map(s => s.node)), told), aid);
  const board = about.installationId, begun = nowMs();
  let claim = null, acceptedAt = 0, refused = 0, isOver = false, shown = "", turns = 0;

  // Listen before the claim is sent, so that no event is missed.
  let stop = listen("", hear, () => {});
  const timer = setInterval(look, 1000);
  set("doing", "sealed");

  function set(state, ...changed) {
    for (const name of changed) {
      const one = steps.get(name);
      if (one.node.dataset.state === state) continue;
      one.set(state);
      if (state === "done") told.textContent = `${t(`step.${name}`)}.`;
    }
  }

  function sent(answer) {
    set("done", "sealed", "sent");
    set("doing", "opened");
    if (!claim || claim.state === "sent") hear("claim", answer);
  }

  function hear(name, data) {
    if (isOver || data?.installationId !== board) return;
    if (name === "claim") take(data);
    if (!acceptedAt) return;
    if (name === "reading") first();
    if (name !== "minute") return;
    if (data.messages > 0 && data.startMs + 60000 > begun) askForData();
    refused = Math.max(refused, data.refused ?? 0);
  }

  function take(next) {
    claim = next;
    const { state, reason } = next, text = reason?.error ? sentence(reason.error) : "";
    if (state === "accepted") accepted();
    if (state === "expired") failed("claim-expired", {}, [another()]);
    if (state === "cancelled") failed("cancelled", { text }, [another()]);
    if (state === "rejected") failed("board-rejected", { text }, [another()]);
  }

  function accepted() {
    if (acceptedAt) return;
    acceptedAt = now();
    set("done", "sealed", "sent", "opened");
    set("doing", "data");
    shown = "";
    fill(aid, notes(), h("div.actions", openBoard(board)));
    stop();
    stop = listen(`board=${board}`, hear, () => {});
  }

  function first() {
    set("done", "data");
    close();
    isOver = true;
    fill(aid, notes(), h("div.notice.good",
      h("h2", t("progress.paired", { name: about.name || t("progress.theBoard") })),
      h("p", t("progress.arriving")),
      h("div.actions", openBoard(board, t("progress.see"), "primary"), another())));
  }

  function notes() {
    return claim?.notes?.length > 0 && h("div.notice", claim.notes.map(text => h("p", text)));
  }

  /** A minute may have begun before the claim, so ask the authority whether its data is new. */
  async function askForData() {
    const live = await get(`/boards/${board}/live`).catch(() => null);
    if (!isOver && live?.lastDataMs >= begun) first();
  }

  /** Once a second: asks for what an event may have missed, and shows which step is late. */
  async function look() {
    const isTurn = ++turns % 3 === 0;
    if (!claim || isOver) return;
    if (acceptedAt) {
      if (isTurn) await askForData();
      if (!isOver && now() - acceptedAt > patience.data) late(refused > 0 ? "refusing" : "no-data");
      return;
    }
    const next = isTurn && await get(`/claims/${claim.claimId}`).catch(() => null);
    if (next && !isOver && !acceptedAt) take(next);
    if (!isOver && !acceptedAt && nowMs() - begun > 1000 * patience.open) late("board-offline");
  }

  function late(name) {
    if (shown === name) return;
    shown = name;
    set("late", acceptedAt ? "data" : "opened");
    const way = acceptedAt ? openBoard(board) : button(t("progress.takeBack"), takeBack);
    fill(aid, notes(), trouble(name, { expiresAt: claim?.expiresAt }, [way, another()], "wait"));
  }

  /** Signs out the waiting session. That withdraws its claim, and an event reports it. */
  async function takeBack() { await remove(`/sessions/${claim.sessionId}`).catch(() => {}); }

  function failed(name, more, actions) {
    isOver = true;
    close();
    for (const one of steps.values()) {
      if (one.node.dataset.state !== "done") one.set(one.isNext() ? "failed" : "");
    }
    fill(aid, trouble(name, more, actions));
  }

  function close() {
    clearInterval(timer);
    stop();
  }

  return { node, sent, failed, close };
}

const marks = { done: "check", failed: "cross" };

function step(name) {
  const note = h("p.note"), mark = h("span.mark"), state = h("span.hidden");
  const node = h("li", { "data-step": name }, mark,
    h("div", h("p.what", t(`step.${name}`), state), note));
  const before = has(`step.${name}Before`) ? "Before" : "Done";
  const isNext = () => ["doing", "late"].includes(node.dataset.state);
  const set = value => {
    node.dataset.state = value;
    note.textContent = t(`step.${name}${value === "done" ? "Done" : before}`);
    state.textContent = `: ${t(`spoken.${value}`)}`;
    fill(mark, marks[value] ? icon(marks[value]) : h("span.spot"));
    if (isNext()) node.setAttribute("aria-current", "step");
    else node.removeAttribute("aria-current");
  };
  set("");
  return { node, set, isNext };
}
