// Pairing a board: the phone's camera opens this page with the claim after `#`.
// The claim is removed from the address at once and kept in memory; only the authority gets it.

import { begin, info, logOut, me, onOver, post } from "./api.js";
import "./keep.js";
import "./push.js";
import { isFor, parseClaim } from "./claimurl.js";
import { ask } from "./dialog.js";
import { button, choice, field, fill, form, h, icon, problem, section, submit } from "./dom.js";
import { focusLogin, loginPage } from "./login.js";
import { advice } from "./problems.js";
import { watchClaim } from "./progress.js";
import { nameArrival } from "./providers.js";
import { ruleChooser } from "./rules.js";
import { canScan, scan } from "./scan.js";
import { askBoard, boardOf, isCode } from "./shortcode.js";
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
    claim = { ...parseClaim(text), isOwn };
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
  if (me.user.mayClaim === false) return show(title(), trouble("may-not-claim", {}, [leave()]));
  showForm();
}

/** The host of a claim that is for another authority; null if it is for this one. */
function otherHost() {
  if (claim.code) return null;
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
  const name = info?.name ?? "Postern", h1 = h("h1", { tabindex: "-1" }, heading);
  document.title = `${heading} · ${name}`;
  fill(app, h("header.bar", h("a.brand", { href: "./" }, icon("gate"), h("span", name)),
    me && h("a.button", { href: "./#/boards" }, t("word.boards"))),
  h("main#main.claim", { tabindex: "-1" }, h1, children));
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

function intake() {
  const url = h("textarea", { name: "url", rows: 3, spellcheck: "false", autocapitalize: "none",
    autocomplete: "off", placeholder: "https://…/claim#v=1&i=…" });
  const error = problem(), go = submit(t("act.goOn"), ".primary.wide");
  const code = section(".card", "code", t("claim.show"), h("p", t("claim.point")));
  canScan().then(can => {
    if (can) code.append(button(t("claim.scan"), scanCode, "#scan.wide"));
  });
  return h("div",
    h("p.lead", phrase("claim.run", { command: h("code", "postern-agent pair") })), code,
    section(".card", "paste", t("claim.pasteTitle"), form("", {
      go, error, failed: () => url.focus(),
      async send() {
        if (!url.value.trim()) throw new Error(t("claim.paste"));
        if (!isCode(url.value)) return takeCode(url.value);
        claim = await boardOf(url.value);
        next();
      },
    }, field(t("claim.url"), url), h("p.note", t("claim.ownScreen")), error, go)));
}

function takeCode(text) {
  parseClaim(text);
  take(text, false);
  next();
}

function scanCode() {
  const video = h("video", { playsinline: true, "aria-label": t("claim.picture") });
  const end = new AbortController();
  const dialog = ask({ title: t("claim.scanTitle"), body: video });
  dialog.addEventListener("close", () => end.abort());
  scan(video, end.signal).then(text => {
    dialog.close();
    if (text) takeCode(text);
  }).catch(({ name, message }) => video.replaceWith(h("p.error", { role: "alert" },
    name === "NotAllowedError" ? t("claim.noCamera") : message)));
}

function showForm() {
  const spans = [...durations(info.longestSessionSeconds), { value: "", label: t("claim.long") }];
  const rules = ruleChooser(), error = h("div", { "aria-live": "assertive" });
  const name = h("input", { value: claim.name, maxlength: 64, autocomplete: "off" });
  const go = submit(t("claim.pair"), "#pair.primary.wide");
  const node = h("form.card", { novalidate: true, onsubmit(event) {
    event.preventDefault();
    if (go.disabled) return;
    try {
      pair(makeOrder(node.elements.duration.value, rules.scope(), name.value.trim()));
    } catch (wrong) {
      fill(error, h("p.error", wrong.message));
    }
  } }, choice(t("claim.howLong"), "duration", spans, "", null, "chips"),
  h("p.note", whenItEnds()), rules.node, field(t("claim.name"), name), error, go);
  show(title(), h("p.lead", phrase("claim.as", {
    user: h("strong", me.user.username), name: h("strong", info.name),
    code: h("code", claim.installationId.slice(0, 8)) })), compare(), node);

  async function pair(order) {
    go.disabled = true;
    fill(error);
    const back = () => { show(title(), compare(), node); go.disabled = false; };
    const mine = claim, made = mine.code && await confirmed(order, back);
    if (mine.code && !made || claim !== mine) return;
    const steps = watchClaim(mine, { trouble, another, openBoard });
    show(title(), steps.node);
    stop = steps.close;
    try {
      steps.sent(made || await post("/claims", order));
    } catch (wrong) {
      steps.close();
      if (!me) return;
      steps.failed(wrong.name, { text: wrong.message }, buttons(wrong.name, back));
    }
  }
}

/** What a person compares who typed a code. */
function compare() {
  return claim.code && h("div.notice", h("p", phrase("claim.compare", {
    fingerprint: h("strong#fingerprint", claim.fingerprint) })));
}

/** The claim of a typed code, once the board has confirmed it; null if it did not. */
async function confirmed(order, back) {
  const end = new AbortController();
  stop = () => end.abort();
  show(title(), section(".card", "answer", t("claim.answer"),
    h("p", { role: "status" }, phrase("claim.asks", { user: h("strong", me.user.username) })),
    compare(), h("div.actions", another(t("act.cancel")))));
  try {
    return await askBoard(order, end.signal);
  } catch (wrong) {
    if (me && !end.signal.aborted) {
      show(title(), trouble(wrong.name, { text: wrong.message }, buttons(wrong.name, back)));
    }
    return null;
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
  const which = claim.code ? { code: claim.code } : { url: `${claim.base}#${claim.fragment}` };
  return { ...which, scope, session: name ? { name } : undefined,
    durationSeconds: duration ? Number(duration) : undefined };
}

// After these another try with the same code is no use.
const spent = ["claim-used", "claim-other-authority", "claim-malformed", "code-refused",
  "no-claim-code"];

function buttons(name, back) {
  if (spent.includes(name)) return [another()];
  return name === "may-not-claim" ? [leave()] : [again(back), another()];
}

function leave() { return button(t("claim.another"), logOut); }

function again(then) { return button(t("act.tryAgain"), then, ".primary"); }

function another(text = t("claim.anotherCode")) {
  return button(text, () => {
    claim = fault = null;
    next();
  });
}

function openBoard(id, text = t("progress.openBoard"), kind = "") {
  return h("a", { class: `button ${kind}`, href: `./#/boards/${id}` }, text);
}

function trouble(name, about, actions, kind = "bad") {
  const { title, text, steps } = advice(name,
    { board: claim?.name, user: me?.user.username, ...about });
  return h("div", { class: `notice ${kind}`, role: "alert", "data-problem": name },
    h("h2", title), text && h("p", text), h("ul.plain", steps.map(step => h("li", step))),
    actions.length > 0 && h("div.actions", actions));
}

addEventListener("hashchange", () => { if (takeAddress() && info) next(); });
onOver(() => { stop?.(); stop = null; showLogin(); });
takeAddress();
start();
