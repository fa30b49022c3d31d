// Shows the steps of a claim live: sealed, sent, opened by the board, first data.

import { get, remove, sentence } from "./api.js";
import { button, fill, h, icon } from "./dom.js";
import { listen } from "./live.js";
import { t } from "./text.js";
import { now, nowMs } from "./time.js";

// A board that waits for a claim asks its broker every 3 seconds, after ten minutes every 10.
const patience = { open: 12, data: 20 };
const names = ["sealed", "sent", "opened", "data"];

/** Watches one claim; `sent(claim)` starts it, `failed(name, about, actions)` ends it. */
export function watchClaim(about, { trouble, another, openBoard }) {
  const steps = new Map(names.map(name => [name, step(name)]));
  const list = h("ol.steps", [...steps.values()].map(s => s.node));
  const aid = h("div"), told = h("p.hidden", { role: "status" });
  const node = h("div", h("section.card", { "aria-labelledby": "h-steps" },
    h("h2", { id: "h-steps" }, t("progress.pairing")), list, told), aid);
  const board = about.installationId, begun = nowMs();
  let claim = null, acceptedAt = 0, refused = 0, isOver = false, problemShown = "";

  // Listen before the claim is sent, so that no event is missed.
  let stop = listen("", hear, () => {});
  const timer = setInterval(look, 1000);
  set("sealed", "doing");

  function set(name, state) {
    const one = steps.get(name);
    if (one.node.dataset.state === state) return;
    one.set(state);
    if (state === "done") told.textContent = `${t(`step.${name}`)}.`;
  }

  function sent(answer) {
    set("sealed", "done");
    set("sent", "done");
    set("opened", "doing");
    if (!claim || claim.state === "sent") hear("claim", answer);
  }

  function hear(name, data) {
    if (isOver) return;
    if (name === "claim" && data.installationId === board) take(data);
    const isOurs = data?.installationId === board && acceptedAt;
    if (name === "reading" && isOurs) first();
    if (name === "minute" && isOurs) {
      if (data.messages > 0 && data.startMs + 60000 > begun) askForData();
      refused = Math.max(refused, data.refused ?? 0);
    }
  }

  function take(next) {
    claim = next;
    if (next.state === "accepted") accepted();
    if (next.state === "expired") failed("claim-expired", {}, [another()]);
    if (next.state === "cancelled") failed("cancelled", { text: words(next.reason) }, [another()]);
    if (next.state === "rejected") {
      failed("board-rejected", { text: words(next.reason) }, [another()]);
    }
  }

  function accepted() {
    if (acceptedAt) return;
    acceptedAt = now();
    for (const name of ["sealed", "sent", "opened"]) set(name, "done");
    set("data", "doing");
    clear();
    fill(aid, notes(), h("div.actions", openBoard(board, t("act.openBoard"))));
    stop();
    stop = listen(`board=${board}`, hear, () => {});
  }

  function first() {
    set("data", "done");
    close();
    isOver = true;
    fill(aid, notes(), h("div.notice.good",
      h("h2", t("progress.paired", { name: about.name || t("progress.theBoard") })),
      h("p", t("progress.arriving")), h("div.actions",
        openBoard(board, t("progress.see"), "primary"), another())));
  }

  function notes() {
    return claim?.notes?.length ? h("div.notice",
      claim.notes.map(text => h("p", text))) : null;
  }

  /** A minute may have begun before the claim, so ask the authority whether its data is new. */
  async function askForData() {
    const live = await get(`/boards/${board}/live`).catch(() => null);
    if (!isOver && live?.lastDataMs >= begun) first();
  }

  let turns = 0;
  /** Once a second: asks for what an event may have missed, and shows which step is late. */
  async function look() {
    turns += 1;
    if (!claim || isOver) return;
    if (acceptedAt) {
      if (turns % 3 === 0) await askForData();
      if (!isOver && now() - acceptedAt > patience.data) late(refused > 0 ? "refusing" : "no-data");
      return;
    }
    if (turns % 3 === 0) {
      const next = await get(`/claims/${claim.claimId}`).catch(() => null);
      if (next && !isOver && !acceptedAt) take(next);
    }
    if (!isOver && !acceptedAt && nowMs() - begun > 1000 * patience.open) late("board-offline");
  }

  function late(name) {
    if (problemShown === name) return;
    problemShown = name;
    set(acceptedAt ? "data" : "opened", "late");
    fill(aid, notes(), trouble(name, { expiresAt: claim?.expiresAt },
      [acceptedAt ? openBoard(board) : button(t("progress.takeBack"), takeBack), another()],
      "wait"));
  }

  /** Signs out the waiting session. That withdraws its claim, and an event reports it. */
  async function takeBack() { await remove(`/sessions/${claim.sessionId}`).catch(() => {}); }

  function clear() { problemShown = ""; }

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

function words(reason) {
  return reason?.error ? sentence(reason.error) : "";
}

const marks = { done: "check", failed: "cross" };

function step(name) {
  const note = h("p.note");
  const mark = h("span.mark"), state = h("span.hidden");
  const node = h("li", { "data-step": name }, mark,
    h("div", h("p.what", t(`step.${name}`), state), note));
  const set = value => {
    node.dataset.state = value;
    note.textContent = t(`step.${name}${value === "done" ? "Done" : "Before"}`);
    state.textContent = `: ${t(`spoken.${value}`)}`;
    fill(mark, marks[value] ? icon(marks[value]) : h("span.spot"));
    if (["doing", "late"].includes(value)) node.setAttribute("aria-current", "step");
    else node.removeAttribute("aria-current");
  };
  set("");
  return { node, set, isNext: () => ["doing", "late"].includes(node.dataset.state) };
}
