// Pairing a board: the phone's camera opens this page with the claim after `#`.
// The claim is removed from the address at once and kept in memory; only the authority gets it.

import { begin, info, logOut, me, onOver, post } from "./api.js";
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
import { phrase, t } from "./text.js";
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
    return show(t("act.pair"), trouble("unreachable", { text: error.message }, [again(start)]));
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
    return show(t("act.pair"), trouble("claim-malformed", { text: fault }, []), intake());
  }
  if (!claim) return show(t("act.pair"), intake());
  const host = otherHost();
  if (host) return show(title(), trouble("claim-other-authority", { host }, [another()]));
  if (me.user.mayClaim === false) {
    return show(title(), trouble("may-not-claim", {}, [button(t("claim.another"), logOut)]));
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

function title() { return claim?.name ? t("claim.pairName", claim) : t("act.pair"); }

function show(heading, ...children) {
  document.title = `${heading} · ${info?.name ?? "Postern"}`;
  const h1 = h("h1", { tabindex: "-1" }, heading);
  fill(app, h("header.bar",
    h("a.brand", { href: "./" }, icon("gate"), h("span", info?.name ?? "Postern")),
    me && h("a.button", { href: "./#/boards" }, t("word.boards"))),
  h("main.claim", { id: "main", tabindex: "-1" }, h1, children));
  h1.focus({ preventScroll: true });
}

function showLogin() {
  document.title = `${t("act.logIn")} · ${info.name}`;
  fill(app, loginPage({
    title: title(), then: next, place: () => `claim#${claim?.isOwn ? claim.fragment : ""}`,
    text: t(claim ? "claim.logInOn" : "claim.logInAt", info),
  }));
  focusLogin();
}

// The page without a claim in its address.

function intake() {
  const url = h("textarea", { name: "url", rows: 3, spellcheck: "false", autocapitalize: "none",
    autocomplete: "off", placeholder: "https://…/claim#v=1&i=…" });
  const error = h("p.error", { role: "alert" });
  const form = h("form", { novalidate: true }, field(t("claim.url"), url), error,
    h("button", { type: "submit", class: "primary wide" }, t("act.goOn")));
  form.addEventListener("submit", event => {
    event.preventDefault();
    try {
      parseClaim(url.value);
      take(url.value, false);
      next();
    } catch (wrong) {
      error.textContent = url.value.trim() ? wrong.message : t("claim.paste");
      url.focus();
    }
  });
  const code = h("section.card", { "aria-labelledby": "h-code" },
    h("h2", { id: "h-code" }, t("claim.show")),
    h("p", t("claim.point")));
  canScan().then(can => {
    if (can) code.append(button(t("claim.scan"), scanCode, { class: "wide", id: "scan" }));
  });
  return h("div",
    h("p.lead", phrase("claim.run",
      { command: h("code", "postern-agent pair") })),
    code,
    h("section.card", { "aria-labelledby": "h-paste" },
      h("h2", { id: "h-paste" }, t("claim.pasteTitle")), form));
}

function takeCode(text) {
  parseClaim(text);
  take(text, false);
  next();
}

function scanCode() {
  const video = h("video", { playsinline: true, "aria-label": t("claim.picture") });
  const end = new AbortController();
  const dialog = ask({ title: t("act.scan"), body: video, submit() {} });
  dialog.addEventListener("close", () => end.abort());
  scan(video, end.signal).then(text => {
    dialog.close();
    if (text) takeCode(text);
  }).catch(wrong => {
    video.replaceWith(h("p.error", { role: "alert" }, wrong.name === "NotAllowedError"
      ? t("claim.noCamera") : wrong.message));
  });
}

// The page with a claim.

function showForm() {
  const spans = durations(info.longestSessionSeconds);
  const longest = [...spans, { value: "", label: t("claim.long") }];
  const rules = ruleChooser();
  const name = h("input", { value: claim.name, maxlength: 64, autocomplete: "off" });
  const error = h("div", { "aria-live": "assertive" });
  const go = h("button", { type: "submit", class: "primary wide", id: "pair" }, t("claim.pair"));
  const form = h("form.card", { novalidate: true },
    choice(t("claim.howLong"), "duration", longest, "", null, "chips"),
    h("p.note", whenItEnds()), rules.node,
    field(t("claim.name"), name), error, go);
  form.addEventListener("submit", event => {
    event.preventDefault();
    if (go.disabled) return;
    try {
      const order = makeOrder(form.elements.duration.value, rules.scope(), name.value.trim());
      pair(order);
    } catch (wrong) {
      fill(error, h("p.error", wrong.message));
    }
  });
  show(title(), h("p.lead", phrase("claim.as", {
    user: h("strong", me.user.username), name: h("strong", info.name),
    code: h("code", claim.installationId.slice(0, 8)) })), form);

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
  const ends = [longest && t("claim.fromNow", { span: span(longest) }),
    idle && t("claim.afterHeard", { span: span(idle) })].filter(Boolean);
  return ends.length ? t("claim.endsBy", { ends: ends.join(t("claim.or")) }) : t("claim.noEnd");
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
  if (name === "may-not-claim") return [button(t("claim.another"), logOut)];
  return [again(back), another()];
}

function again(then) { return button(t("act.tryAgain"), then, { class: "primary" }); }

function another() {
  return button(t("claim.anotherCode"), () => {
    claim = fault = null;
    next();
  });
}

function openBoard(id, text = t("act.openBoard"), kind = "") {
  return h("a", { class: `button ${kind}`, href: `./#/boards/${id}` }, text);
}

/** A notice about a problem, with advice. */
function trouble(name, about, actions, kind = "bad") {
  const known = problem(name, { board: claim?.name, user: me?.user.username, ...about });
  return h("div", { class: `notice ${kind}`, role: "alert", "data-problem": name },
    h("h2", known.title), known.text && h("p", known.text),
    h("ul.plain", known.steps.map(step => h("li", step))),
    actions.length > 0 && h("div.actions", actions));
}

addEventListener("hashchange", () => { if (takeAddress() && info) next(); });
onOver(() => { stop?.(); stop = null; showLogin(); });
takeAddress();
start();
