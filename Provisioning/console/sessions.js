// All sessions of the user, on all devices.

import * as acts from "./acts.js";
import { get, me } from "./api.js";
import { button, facts, h, pill } from "./dom.js";
import { loader } from "./loader.js";
import { parseTime, when } from "./time.js";
import { origin, sessionName, sessionState } from "./words.js";

export function sessionsPage() {
  const place = h("div", { "aria-busy": "true" },
    h("p", { class: "loading" }, "Loading sessions…"));
  const everyone = h("input", { type: "checkbox", id: "everyone", onchange: () => load() });
  const others = button("Sign out all others",
    () => acts.signOutOthers(me.user.username, load), { class: "danger", id: "others" });
  const node = h("div", null,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Sessions"), others),
    h("div", { class: "row" },
      h("p", { class: "lead" }, "Your logins and your boards."),
      me.user.isAdministrator && h("label", { class: "check" }, everyone, "Everyone's sessions")),
    place);

  const load = loader(place, async () =>
    groups((await get(`/sessions${everyone.checked ? "?everyone=true" : ""}`)).results));

  function groups(all) {
    all.sort((a, b) => (parseTime(b.lastSeen) ?? 0) - (parseTime(a.lastSeen) ?? 0));
    const live = all.filter(s => s.state === "active" || s.state === "pending");
    const over = all.filter(s => !live.includes(s));
    return [
      group("this", "This one", live.filter(s => s.isThisOne)),
      group("people", "Other logins", live.filter(s => !s.restricted && !s.isThisOne),
        "No other login is active."),
      group("devices", "Boards and devices", live.filter(s => s.restricted && !s.isThisOne),
        "No board is paired."),
      over.length > 0 && h("details", { class: "over" },
        h("summary", null, `Ended (${over.length})`), h("div", { class: "grid" }, over.map(card))),
    ];
  }

  function group(id, title, sessions, none) {
    if (!sessions.length && !none) return null;
    return h("section", { "aria-labelledby": `h-${id}` }, h("h2", { id: `h-${id}` }, title),
      sessions.length ? h("div", { class: "grid" }, sessions.map(card))
        : h("p", { class: "lead" }, none));
  }

  function card(session) {
    const id = session.objectId, name = sessionName(session);
    const isLive = ["active", "pending"].includes(session.state);
    const expires = parseTime(session.expiresAt);
    const act = (text, does, kind) => button(text, does, {
      id: `${text.replace(" ", "-").toLowerCase()}-${id}`, class: kind,
      "aria-label": `${text} ${session.isThisOne ? "this session" : name}`,
    });
    return h("article", { class: session.isThisOne ? "card this" : "card", "data-session": id },
      h("div", { class: "head" }, h("h3", null, name),
        session.isThisOne ? pill("good", "This one") : pill(...sessionState(session.state))),
      facts([
        ["Kind", session.restricted ? "Restricted" : "Unrestricted"],
        ["Made", [origin(session), ", ", when(parseTime(session.createdAt))]],
        ["Last seen", when(parseTime(session.lastSeen))],
        [expires !== null && !isLive ? "Ended" : "Ends", isLive ? when(expires, "never") : null],
        session.boardName && session.boardName !== name ? ["Board", session.boardName] : null,
        session.username !== me.user.username ? ["User", session.username] : null,
      ]),
      isLive && h("div", { class: "actions" },
        acts.endButtons({
          id, name, expiresAt: expires, latestEnd: parseTime(session.latestEnd),
        }, load, (text, does) => act(text, does)),
        act("Rename", () => acts.renameSession(session, load)),
        act("Sign out", () => acts.signOutSession(session, load), "danger")));
  }

  load();
  return {
    title: "Sessions", node, close() {},
    event(name) { if (name === "sessions" || name === "again") load(); },
  };
}
