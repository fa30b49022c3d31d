// The console: its pages, and who may see each.

import { setPassword } from "./acts.js";
import { allowPage } from "./allow.js";
import { begin, info, logOut, me, onConfirmation, onOver } from "./api.js";
import { auditPage } from "./audit.js";
import { endAway, showAway } from "./away.js";
import { confirmation } from "./confirm.js";
import { consumersPage } from "./consumers.js";
import { ask } from "./dialog.js";
import { boardPage } from "./board.js";
import { boardsPage } from "./boards.js";
import { button, failure, fill, h, icon, say } from "./dom.js";
import { formerPage } from "./former.js";
import { keepPage, noteEvent, restore } from "./keep.js";
import { listen } from "./live.js";
import { focusLogin, loginPage } from "./login.js";
import { passkeysPage } from "./passkeys.js";
import { nameArrival, takeArrival } from "./providers.js";
import { pushSwitch } from "./push.js";
import { sessionsPage } from "./sessions.js";
import { phrase, t } from "./text.js";
import { usersPage } from "./users.js";

const app = document.getElementById("app");
const areas = [
  { name: "boards", label: t("word.boards") }, { name: "sessions", label: t("word.sessions") },
  { name: "consumers", label: t("word.consumers") },
  { name: "users", label: t("word.users"), isGuarded: true },
  { name: "audit", label: t("word.log"), isGuarded: true },
];
let frame = null, page = null, stop = null, wasOver = false;

async function start() {
  let isWaiting = true;
  const timer = setTimeout(() => showAway(app, start, () => isWaiting), 4000);
  try {
    await begin();
  } catch (error) {
    if (error.isAway && await showAway(app, start)) return;
    fill(app, h("main.login", h("h1", "Postern"),
      failure(error.message, start)));
    return;
  } finally {
    isWaiting = false;
    clearTimeout(timer);
  }
  if (endAway()) return location.reload();
  keepPage();
  await restore();
  if (me) {
    await nameArrival();
    enter();
  } else {
    showLogin();
  }
}

function showLogin() {
  leave();
  document.title = `${t("act.logIn")} · ${info.name}`;
  fill(app, loginPage({
    title: t("act.logIn"), then: enter, place: () => location.hash,
    text: wasOver ? t("app.ended") : null,
  }));
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
  page?.close();
  stop = page = frame = null;
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
}

function makeFrame() {
  const main = h("main", { id: "main", tabindex: "-1" });
  const live = h("p.live", { role: "status" });
  const seen = areas.filter(a => !a.isGuarded || me.user.isAdministrator);
  const links = seen.map(a => h("a", { href: `#/${a.name}`, "data-area": a.name },
    icon(a.name), h("span", a.label)));
  return {
    main, live, links,
    skip: h("a.skip", { href: "#main", onclick(event) {
      event.preventDefault();
      main.focus();
    } }, t("app.skip")),
    header: h("header.bar",
      h("a.brand", { href: "#/boards" }, icon("gate"), h("span", info.name)), live,
      button(me.user.username, account, { class: "account", id: "account",
        "aria-haspopup": "dialog", "aria-label": t("app.accountOf", { name: me.user.username }) })),
    nav: h("nav", { "aria-label": t("app.console") }, links),
  };
}

function account() {
  const then = (text, act, id) => button(text, () => {
    dialog.addEventListener("close", act);
    dialog.close();
  }, { class: "wide", id });
  const dialog = ask({
    title: me.user.username, confirm: t("act.logOut"),
    body: [h("p", phrase(me.user.isAdministrator ? "app.administratorOf" : "app.loggedInAt",
      { name: h("strong", info.name) })),
    h("p.note", `Postern ${info.version}`),
    then(t("word.passkeys"), () => go("#/passkeys"), "own-passkeys"),
    then(t("act.allowProgram"), () => go("#/login"), "allow-program"), info.login.passwords
      && then(t("acts.ownPassword"), () => setPassword(me.user.username, true)), pushSwitch()],
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

function make(area, id) {
  if (area === "boards" && id) return boardPage(id, go);
  if (area === "former" && id) return formerPage(id, go);
  if (area === "sessions") return sessionsPage();
  if (area === "consumers") return consumersPage();
  if (area === "passkeys") return passkeysPage();
  if (area === "login") return allowPage(id);
  if (area === "users" && me.user.isAdministrator) return usersPage();
  if (area === "audit" && me.user.isAdministrator) return auditPage();
  return boardsPage(hear);
}

function go(hash) { location.hash = hash; }

function route(isMove) {
  if (!frame) return;
  const [area, id] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  stop?.();
  page?.close();
  page = make(area || "boards", id);
  const isKnown = ["passkeys", "login"].includes(area) || areas.some(a => a.name === area);
  const here = isKnown ? area : "boards";
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

/** Listens to the events for the page that is shown. */
function hear() {
  stop?.();
  const shown = page;
  stop = listen(page.query, (name, data) => {
    noteEvent(name, data);
    if (page === shown) page.event(name, data ?? {});
  },
    state => {
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
addEventListener("unhandledrejection", event =>
  say(event.reason?.message ?? t("app.failed")));
onOver(showLogin);
onConfirmation(confirmation);
if (!takeArrival()) start();
