// All sessions of the user, on all devices.

import * as acts from "./acts.js";
import { get, me } from "./api.js";
import { button, checkbox, facts, h, pill, section } from "./dom.js";
import { listPage } from "./loader.js";
import { t } from "./text.js";
import { parseTime, when } from "./time.js";
import { origin, sessionName, sessionState } from "./words.js";

const isLive = ({ state }) => ["active", "pending"].includes(state);

export function makePage() {
  const everyone = checkbox({ id: "everyone", onchange: () => page.load() });
  const page = listPage(t("word.sessions"), async load => {
    const path = `/sessions${everyone.checked ? "?everyone=true" : ""}`;
    return groups((await get(path)).results, load);
  }, {
    tools: load => button(t("act.signOutOthers"),
      () => acts.signOutOthers(me.user.username, load), "#others.danger"),
    about: h("div.row", h("p.lead", t("sessions.about")), me.user.isAdministrator
      && h("label.check", everyone, t("sessions.everyone"))),
  });
  page.event = name => { if (name === "sessions") page.load(); };
  return page;
}

function groups(all, load) {
  const cards = sessions => h("div.grid", sessions.map(session => card(session, load)));
  const group = (id, title, sessions, none) => (sessions.length > 0 || none)
    && section("", id, title, sessions.length ? cards(sessions) : h("p.lead", none));
  all.sort((a, b) => (parseTime(b.lastSeen) ?? 0) - (parseTime(a.lastSeen) ?? 0));
  const live = all.filter(isLive), over = all.filter(s => !isLive(s));
  return [
    group("this", t("word.thisOne"), live.filter(s => s.isThisOne)),
    group("people", t("sessions.others"), live.filter(s => !s.restricted && !s.isThisOne),
      t("sessions.noOther")),
    group("devices", t("sessions.devices"), live.filter(s => s.restricted && !s.isThisOne),
      t("sessions.noBoard")),
    over.length > 0 && h("details.over",
      h("summary", t("sessions.ended", { n: over.length })), cards(over)),
  ];
}

function card(session, load) {
  const { objectId: id, isThisOne, username, boardName } = session, name = sessionName(session);
  const expiresAt = parseTime(session.expiresAt);
  const act = (text, does, what, kind) => button(text, does, {
    id: `${what}-${id}`, class: kind,
    "aria-label": t("act.on", { act: text, name: isThisOne ? t("sessions.thisSession") : name }),
  });
  return h(isThisOne ? "article.card.this" : "article.card", { "data-session": id },
    h("div.head", h("h3", name),
      isThisOne ? pill("good", t("word.thisOne")) : pill(...sessionState(session.state))),
    facts([
      [t("sessions.kind"), t(session.restricted ? "sessions.restricted" : "sessions.unrestricted")],
      [t("word.made"), [origin(session), ", ", when(parseTime(session.createdAt))]],
      [t("sessions.lastSeen"), when(parseTime(session.lastSeen))],
      isLive(session) && [t("word.ends"), when(expiresAt)],
      boardName !== name && [t("word.board"), boardName],
      username !== me.user.username && [t("word.user"), username],
    ]),
    isLive(session) && h("div.actions",
      acts.endButtons({ id, name, expiresAt, latestEnd: parseTime(session.latestEnd) }, load,
        (text, does, props) => act(text, does, props.id)),
      act(t("act.rename"), () => acts.renameSession(session, load), "rename"),
      act(t("act.signOut"), () => acts.signOutSession(session, load), "sign-out", "danger")));
}
