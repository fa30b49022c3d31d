// The console: its pages, and who may see each.

import { setPassword } from "./acts.js";
import { begin, info, logOut, me, onConfirmation, onOver } from "./api.js";
import { endAway, showAway } from "./away.js";
import { boardPage } from "./board.js";
import { boardsPage } from "./boards.js";
import { confirmation } from "./confirm.js";
import { ask } from "./dialog.js";
import { button, failure, fill, h, icon, say } from "./dom.js";
import { formerPage } from "./former.js";
import { keepPage, noteEvent, restore } from "./keep.js";
import { listen } from "./live.js";
import { focusLogin, loginPage } from "./login.js";
import { nameArrival, takeArrival } from "./providers.js";
import { pushSwitch } from "./push.js";
import { phrase, t } from "./text.js";

const app = document.getElementById("app");
// Those of `ruled` are for administrators.
const areas = ["boards", "sessions", "consumers", "users", "audit"], ruled = ["users", "audit"];
let frame = null, page = null, stop = null, wasOver = false, moves = 0;

async function start() {
  let isWaiting = true;
  const timer = setTimeout(() => showAway(app, start, () => isWaiting), 4000);
  try {
    await begin();
  } catch (error) {
    if (error.isAway && await showAway(app, start)) return;
    return fill(app, h("main.login", h("h1", "Postern"), failure(error.message, start)));
  } finally {
    isWaiting = false;
    clearTimeout(timer);
  }
  if (endAway()) return location.reload();
  keepPage();
  await restore();
  if (!me) return showLogin();
  await nameArrival();
  enter();
}

function showLogin() {
  leave();
  document.title = `${t("act.logIn")} · ${info.name}`;
  fill(app, loginPage({ title: t("act.logIn"), then: enter, place: () => location.hash,
    text: wasOver && t("app.ended") }));
  focusLogin();
}

function enter(isRecovered) {
  // A passkey can be added without a confirmation only now.
  if (isRecovered) history.replaceState(null, "", "#/passkeys");
  wasOver = true;
  frame = makeFrame();
  fill(app, frame.skip, frame.header, frame.nav, frame.main);
  route(false);
}

function leave() {
  stop?.();
  page?.close?.();
  stop = page = frame = null;
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
}

function makeFrame() {
  const main = h("main#main", { tabindex: "-1" }), live = h("p.live", { role: "status" });
  const { username: name, isAdministrator } = me.user;
  const links = areas.filter(area => isAdministrator || !ruled.includes(area)).map(area =>
    h("a", { href: `#/${area}`, "data-area": area }, icon(area), h("span", t(`word.${area}`))));
  return {
    main, live, links,
    skip: h("a.skip", { href: "#main", onclick(event) {
      event.preventDefault();
      main.focus();
    } }, t("app.skip")),
    header: h("header.bar",
      h("a.brand", { href: "#/boards" }, icon("gate"), h("span", info.name)), live,
      button(name, account, { class: "account", id: "account", "aria-haspopup": "dialog",
        "aria-label": t("app.accountOf", { name }) })),
    nav: h("nav", { "aria-label": t("app.console") }, links),
  };
}

function account() {
  const { username, isAdministrator } = me.user;
  const then = (text, act, id) => button(text, () => {
    dialog.addEventListener("close", act);
    dialog.close();
  }, { class: "wide", id });
  const dialog = ask({
    title: username, confirm: t("act.logOut"),
    body: [h("p", phrase(isAdministrator ? "app.administratorOf" : "app.loggedInAt",
      { name: h("strong", info.name) })),
    h("p.note", `Postern ${info.version}`),
    then(t("word.passkeys"), () => go("#/passkeys"), "own-passkeys"),
    then(t("act.allowProgram"), () => go("#/login"), "allow-program"), info.login.passwords
      && then(t("app.changePassword"), () => setPassword(username, true)), pushSwitch()],
    async submit() {
      wasOver = false;
      await logOut();
    },
  });
}

let liveTimer = 0;
/** Each page has its own connection. "Connecting" is shown only if it takes long. */
function showLive(state) {
  clearTimeout(liveTimer);
  liveTimer = setTimeout(() => {
    if (!frame || frame.live.dataset.state === state) return;
    frame.live.dataset.state = state;
    frame.live.textContent = t(`live.${state}`);
  }, state === "connecting" ? 1500 : 0);
}

// Each is loaded when it is first shown.
const pages = { sessions: () => import("./sessions.js"), consumers: () => import("./consumers.js"),
  passkeys: () => import("./passkeys.js"), login: () => import("./allow.js"),
  users: () => import("./users.js"), audit: () => import("./audit.js"),
  invitation: () => import("./invitation.js") };

async function make(area, id) {
  if (area === "boards" && id) return boardPage(id, go);
  if (area === "former" && id) return formerPage(id, go);
  const isSeen = Object.hasOwn(pages, area) && (me.user.isAdministrator || !ruled.includes(area));
  return isSeen ? (await pages[area]()).makePage(id) : boardsPage(hear);
}

function go(hash) { location.hash = hash; }

async function route(isMove) {
  if (!frame) return;
  const [area, id] = location.hash.replace(/^#\/?/, "").split("/").map(decode), move = ++moves;
  stop?.();
  page?.close?.();
  stop = page = null;
  let made;
  try {
    made = await make(area, id);
  } catch {
    // A browser does not load a failed module again.
    made = { title: t("app.failed"), node: failure(t("app.failed"), () => location.reload()) };
  }
  // The person may have gone on, or logged out.
  if (move !== moves || !frame) return made.close?.();
  page = made;
  const here = Object.hasOwn(pages, area) ? area : "boards";
  for (const link of frame.links) {
    if (link.dataset.area === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${page.title} · ${info.name}`;
  fill(frame.main, page.node);
  hear();
  if (!isMove) return;
  scrollTo(0, 0);
  frame.main.querySelector("h1")?.focus({ preventScroll: true });
}

/** Listens to the events for the page that is shown. After a gap it loads again. */
function hear() {
  stop?.();
  const shown = page;
  stop = listen(page.query, (name, data) => {
    noteEvent(name, data);
    if (page !== shown) return;
    if (name === "again") page.load?.();
    page.event?.(name, data ?? {});
  }, state => {
    showLive(state);
    if (page === shown) page.state?.(state);
  });
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

addEventListener("hashchange", () => route(true));
addEventListener("unhandledrejection", event => say(event.reason?.message ?? t("app.failed")));
onOver(showLogin);
onConfirmation(confirmation);
if (!takeArrival()) start();
