// Pairing a board: the phone's camera opens this page with the claim after `#`.
// The claim is removed from the address at once and kept in memory; only the authority gets it.

import { begin, get, info, logOut, me, onOver, post } from "./api.js";
import "./keep.js";
import "./push.js";
import { isFor, parseClaim } from "./claimurl.js";
import { ask } from "./dialog.js";
import { button, choice, field, fill, h, icon } from "./dom.js";
import { focusLogin, loginPage } from "./login.js";
import { nameArrival } from "./providers.js";
import { problem } from "./problems.js";
import { watchClaim } from "./progress.js";
import { ruleChooser } from "./rules.js";
import { canScan, scan } from "./scan.js";
import { durations, span } from "./time.js";

const app = document.getElementById("app");
let claim = null, fault = null, stop = null;

function takeAddress() {
  if (location.hash.length < 2) return false;
  const text = location.href;
  history.replaceState(null, "", location.pathname + location.search);
  take(text, true);
  return true;
}

/** Keeps the claim that a code or an address contains. */
function take(text, isOwn) {
  claim = fault = null;
  try {
    claim = parseClaim(text);
    claim.isOwn = isOwn;
  } catch (error) {
    fault = error.message;
  }
}

async function start() {
  try {
    await begin();
  } catch (error) {
    return show("Pair a board", trouble("unreachable", { text: error.message }, [again(start)]));
  }
  if (me) await nameArrival();
  next();
}

/** Shows the next step. */
function next() {
  stop?.();
  stop = null;
  if (!me) return showLogin();
  if (fault) {
    return show("Pair a board", trouble("claim-malformed", { text: fault }, []), intake());
  }
  if (!claim) return show("Pair a board", intake());
  const host = otherHost();
  if (host) return show(title(), trouble("claim-other-authority", { host }, [another()]));
  if (me.user.mayClaim === false) {
    return show(title(), trouble("may-not-claim", {}, [button("Log in as somebody else", logOut)]));
  }
  showForm();
}

/** The host of a claim that is for another authority; null if it is for this one. */
function otherHost() {
  const own = [`${info.publicUrl}/claim`, new URL("../claim", import.meta.url).href];
  if (claim.isOwn || isFor(claim.base, own)) {
    // The authority that the code names has served this page, perhaps under another address.
    if (claim.base !== "postern://claim") claim.base = own[0];
    return null;
  }
  return claim.base.split("/")[2] || claim.base.split(":")[0];
}

function title() { return claim?.name ? `Pair ${claim.name}` : "Pair a board"; }

function show(heading, ...children) {
  document.title = `${heading} · ${info?.name ?? "Postern"}`;
  const h1 = h("h1", { tabindex: "-1" }, heading);
  fill(app, h("header", { class: "bar" },
    h("a", { class: "brand", href: "./" }, icon("gate"), h("span", null, info?.name ?? "Postern")),
    me && h("a", { class: "button", href: "./#/boards" }, "Boards")),
  h("main", { class: "claim", id: "main", tabindex: "-1" }, h1, children));
  h1.focus({ preventScroll: true });
}

function showLogin() {
  document.title = `Log in · ${info.name}`;
  fill(app, loginPage({
    title: title(), then: next, place: () => `claim#${claim?.isOwn ? claim.fragment : ""}`,
    text: claim ? `Log in at ${info.name} to continue.` : `Log in at ${info.name}.`,
  }));
  focusLogin();
}

// The page without a claim in its address.

function intake() {
  const url = h("textarea", { name: "url", rows: 3, spellcheck: "false", autocapitalize: "none",
    autocomplete: "off", placeholder: "https://…/claim#v=1&i=…" });
  const error = h("p", { class: "error", role: "alert" });
  const form = h("form", { novalidate: true }, field("The board's claim URL", url), error,
    h("button", { type: "submit", class: "primary wide" }, "Continue"));
  form.addEventListener("submit", event => {
    event.preventDefault();
    try {
      parseClaim(url.value);
      take(url.value, false);
      next();
    } catch (wrong) {
      error.textContent = url.value.trim() ? wrong.message : "Paste the URL that the board shows.";
      url.focus();
    }
  });
  const code = h("section", { class: "card", "aria-labelledby": "h-code" },
    h("h2", { id: "h-code" }, "Show the code"),
    h("p", null, "Point the phone's camera at the code. The camera app opens this page."));
  canScan().then(can => {
    if (can) code.append(button("Scan with the camera", scanCode, { class: "wide", id: "scan" }));
  });
  return h("div", null,
    h("p", { class: "lead" }, "On the board, run ", h("code", null, "postern-agent pair"),
      ". It shows a code and a URL."),
    code,
    h("section", { class: "card", "aria-labelledby": "h-paste" },
      h("h2", { id: "h-paste" }, "Paste the URL"), form));
}

function takeCode(text) {
  parseClaim(text);
  take(text, false);
  next();
}

function scanCode() {
  const video = h("video", { playsinline: true, "aria-label": "The camera's picture" });
  const end = new AbortController();
  const dialog = ask({ title: "Scan the code", body: video, submit() {} });
  dialog.addEventListener("close", () => end.abort());
  scan(video, end.signal).then(text => {
    dialog.close();
    if (text) takeCode(text);
  }).catch(wrong => {
    video.replaceWith(h("p", { class: "error", role: "alert" }, wrong.name === "NotAllowedError"
      ? "This page may not use the camera. Paste the URL instead." : wrong.message));
  });
}

// The page with a claim.

function showForm() {
  const spans = durations(info.longestSessionSeconds);
  const longest = [...spans, { value: "", label: "As long as possible" }];
  const rules = ruleChooser();
  const name = h("input", { value: claim.name, maxlength: 64, autocomplete: "off" });
  const error = h("div", { "aria-live": "assertive" });
  const go = h("button", { type: "submit", class: "primary wide", id: "pair" }, "Pair");
  const form = h("form", { class: "card", novalidate: true },
    choice("How long", "duration", longest, "", null, "chips"),
    h("p", { class: "note" }, whenItEnds()), rules.node,
    field("Name of the session", name), error, go);
  form.addEventListener("submit", event => {
    event.preventDefault();
    if (go.disabled) return;
    try {
      const order = makeOrder(form.elements.duration.value, rules.scope(), name.value.trim());
      pair(order);
    } catch (wrong) {
      fill(error, h("p", { class: "error" }, wrong.message));
    }
  });
  show(title(), h("p", { class: "lead" }, "As ", h("strong", null, me.user.username), " at ",
    h("strong", null, info.name), ". The board's code is ",
    h("code", null, claim.installationId.slice(0, 8)), "."), form);

  async function pair(order) {
    go.disabled = true;
    fill(error);
    const steps = watchClaim(claim, { trouble, another, openBoard });
    show(title(), steps.node);
    stop = steps.close;
    try {
      steps.sent(await post("/claims", order));
    } catch (wrong) {
      steps.close();
      if (!me) return;
      const back = () => { show(title(), form); go.disabled = false; };
      steps.failed(wrong.name, { text: wrong.message }, buttons(wrong.name, back));
    }
  }
}

/** When a session ends for which no duration is chosen. */
function whenItEnds() {
  const { longestSessionSeconds: longest, idleSessionSeconds: idle } = info;
  const ends = [longest && `${span(longest)} from now`,
    idle && `${span(idle)} after the board was last heard`].filter(Boolean);
  return ends.length ? `As long as possible: it ends ${ends.join(", or ")}.`
    : "As long as possible: it has no end.";
}

function makeOrder(duration, scope, name) {
  const order = { url: `${claim.base}#${claim.fragment}` };
  if (duration) order.durationSeconds = Number(duration);
  if (scope) order.scope = scope;
  if (name) order.session = { name };
  return order;
}

/** The buttons of a problem, by its name. */
function buttons(name, back) {
  if (["claim-used", "claim-other-authority", "claim-malformed"].includes(name)) return [another()];
  if (name === "may-not-claim") return [button("Log in as somebody else", logOut)];
  return [again(back), another()];
}

function again(then) { return button("Try again", then, { class: "primary" }); }

function another() {
  return button("Another code", () => {
    claim = fault = null;
    next();
  });
}

function openBoard(id, text = "Open the board", kind = "") {
  return h("a", { class: `button ${kind}`, href: `./#/boards/${id}` }, text);
}

/** A notice about a problem, with advice. */
function trouble(name, about, actions, kind = "bad") {
  const known = problem(name, { board: claim?.name, user: me?.user.username, ...about });
  return h("div", { class: `notice ${kind}`, role: "alert", "data-problem": name },
    h("h2", null, known.title), known.text && h("p", null, known.text),
    h("ul", { class: "plain" }, known.steps.map(step => h("li", null, step))),
    actions.length > 0 && h("div", { class: "actions" }, actions));
}

addEventListener("hashchange", () => { if (takeAddress() && info) next(); });
onOver(() => { stop?.(); stop = null; showLogin(); });
takeAddress();
start();
