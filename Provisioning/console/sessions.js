// All sessions of the user, on all devices.

import * as acts from "./acts.js";
import { get, me } from "./api.js";
import { button, facts, h, pill } from "./dom.js";
import { loader } from "./loader.js";
import { t } from "./text.js";
import { parseTime, when } from "./time.js";
import { origin, sessionName, sessionState } from "./words.js";

export function sessionsPage() {
  const place = h("div", { "aria-busy": "true" },
    h("p.loading", t("sessions.loading")));
  const everyone = h("input", { type: "checkbox", id: "everyone", onchange: () => load() });
  const others = button(t("act.signOutOthers"),
    () => acts.signOutOthers(me.user.username, load), { class: "danger", id: "others" });
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("word.sessions")), others),
    h("div.row",
      h("p.lead", t("sessions.about")),
      me.user.isAdministrator && h("label.check", everyone, t("sessions.everyone"))),
    place);

  const load = loader(place, async () =>
    groups((await get(`/sessions${everyone.checked ? "?everyone=true" : ""}`)).results));

  function groups(all) {
    all.sort((a, b) => (parseTime(b.lastSeen) ?? 0) - (parseTime(a.lastSeen) ?? 0));
    const live = all.filter(s => s.state === "active" || s.state === "pending");
    const over = all.filter(s => !live.includes(s));
    return [
      group("this", t("word.thisOne"), live.filter(s => s.isThisOne)),
      group("people", t("sessions.others"), live.filter(s => !s.restricted && !s.isThisOne),
        t("sessions.noOther")),
      group("devices", t("sessions.devices"), live.filter(s => s.restricted && !s.isThisOne),
        t("sessions.noBoard")),
      over.length > 0 && h("details.over",
        h("summary", t("sessions.ended", { n: over.length })), h("div.grid", over.map(card))),
    ];
  }

  function group(id, title, sessions, none) {
    if (!sessions.length && !none) return null;
    return h("section", { "aria-labelledby": `h-${id}` }, h("h2", { id: `h-${id}` }, title),
      sessions.length ? h("div.grid", sessions.map(card))
        : h("p.lead", none));
  }

  function card(session) {
    const id = session.objectId, name = sessionName(session);
    const isLive = ["active", "pending"].includes(session.state);
    const expires = parseTime(session.expiresAt);
    const act = (text, does, what, kind) => button(text, does, {
      id: `${what}-${id}`, class: kind, "aria-label": t("act.on",
        { act: text, name: session.isThisOne ? t("sessions.thisSession") : name }),
    });
    return h("article", { class: session.isThisOne ? "card this" : "card", "data-session": id },
      h("div.head", h("h3", name),
        session.isThisOne ? pill("good", t("word.thisOne")) : pill(...sessionState(session.state))),
      facts([
        [t("sessions.kind"),
          t(session.restricted ? "sessions.restricted" : "sessions.unrestricted")],
        [t("word.made"), [origin(session), ", ", when(parseTime(session.createdAt))]],
        [t("sessions.lastSeen"), when(parseTime(session.lastSeen))],
        [t("word.ends"), isLive ? when(expires) : null],
        session.boardName !== name && [t("word.board"), session.boardName],
        session.username !== me.user.username ? [t("word.user"), session.username] : null,
      ]),
      isLive && h("div.actions",
        acts.endButtons({
          id, name, expiresAt: expires, latestEnd: parseTime(session.latestEnd),
        }, load, (text, does, props) => act(text, does, props.id)),
        act(t("act.rename"), () => acts.renameSession(session, load), "rename"),
        act(t("act.signOut"), () => acts.signOutSession(session, load), "sign-out", "danger")));
  }

  load();
  return {
    title: t("word.sessions"), node, close() {},
    event(name) { if (name === "sessions" || name === "again") load(); },
  };
}
