// Turns identifiers into words. A state is the kind of its pill, and words.

import { has, list, number, t } from "./text.js";

export function arrivalWords({ sent, arrived, missing }) {
  if (!missing) return t("arrived.all", { sent });
  return t(arrived === null ? "arrived.nothing" : "arrived.some", { sent, arrived });
}

export function boardState(board) {
  if (board.status === "up") {
    const isWithout = board.sessionAvailable === false;
    return isWithout ? ["warn", t("state.upWithout")] : ["good", t("state.up")];
  }
  if (!["active", "pending"].includes(board.sessionState)) {
    return ["warn", t(board.sessionEnd === "expired" ? "state.expired" : "state.without")];
  }
  return board.status === "down" ? ["bad", t("state.down")] : ["", t("state.new")];
}

/** When a session ends, for people: an idle end that each contact moves only once it is near. */
export function shownEnd(board) {
  if (board.sessionState !== "active") return null;
  return board.sessionWarning ? board.sessionEndsAt : board.sessionExpiresAt ?? board.sessionEndsAt;
}

/** Why a board has no session and what helps; null while it has one. */
export function endWords(board) {
  if (["active", "pending"].includes(board.sessionState)) return null;
  const ended = `ended.${board.sessionEnd}`;
  return [t(has(ended) ? ended : "ended.none"), t(board.renewal ? "ended.renewalWaits"
    : board.renewable ? "ended.renewable" : "ended.pairAgain")];
}

export function sessionState(state) {
  const known = has(`session.${state}`) ? state : "none";
  return [{ active: "good", pending: "warn" }[known] ?? "", t(`session.${known}`)];
}

export function origin({ createdWith: { action, authProvider } = {} }) {
  const made = action ? t(`origin.${action}`) : t("word.made");
  if (!authProvider || ["password", "postern"].includes(authProvider)) return made;
  return t("origin.by", { made, provider: authProvider });
}

export function sessionName(session) {
  return session.name || session.boardName
    || t(session.restricted ? "name.device" : session.isThisOne ? "name.this" : "name.login");
}

const kinds = {
  accepted: "good", online: "good", offline: "bad", refused: "warn", revoked: "bad", expired: "bad",
  "signed-out": "bad", reuse: "bad", rejected: "bad",
};
export function eventWords(event) { return [kinds[event] ?? "", t(`story.${event}`)]; }

export function auditWords(event) { return t(`log.${event}`); }
const alarms = ["alarm", "identity.shared", "token.foreign", "refresh.forged", "session.reuse",
  "login.failed", "login.code-wrong", "passkey.failed", "passkey.cloned", "claim.rejected",
  "claim.code-refused", "claim.code-wrong"];
export function isAlarm(event) { return alarms.some(one => event.startsWith(one)); }

/** The rules of a scope or a policy, one sentence for each. */
export function ruleWords(document) {
  const rules = (document.rules ?? []).map(({ app, allow = [], ...rule }) =>
    t(allow.length ? "rule.may" : "rule.mayNot", {
      who: t(app ? "rule.app" : "rule.anyApp", { app }), acts: list(allow),
      what: rule.class === "*" ? t("rule.anyClass") : rule.class, details: details(rule),
    }));
  const rest = rules.length ? "else" : "all";
  rules.push(t(`rule.${rest}${document.default === "deny" ? "Denied" : "Allowed"}`));
  for (const [app, limit] of Object.entries(document.apps ?? {})) {
    const most = details(limit);
    if (most) rules.push(t("rule.total", { app, details: most }));
    if (limit.commands) rules.push(t("rule.commands", { app }));
  }
  if (document.topics?.length) rules.push(t("rule.topics", { topics: list(document.topics) }));
  return rules;
}

function details({ fields, max_bytes: most, rate }) {
  const limits = [typeof most === "number" ? bytes(most) : most, rate].filter(Boolean);
  return [fields && t("rule.with", { fields: fieldWords(Object.entries(fields)) }),
    ...limits.map(most => t("rule.most", { most }))].filter(Boolean)
    .map(text => `, ${text}`).join("");
}

function bytes(n) {
  return n >= 1024 && n % 1024 === 0 ? `${number(n / 1024)} KiB` : t("rule.bytes", { n });
}

function fieldWords(all) {
  const names = all.map(([name, type]) => `${name} (${
    typeof type === "string" ? type : t(Array.isArray(type) ? "rule.list" : "rule.object")})`);
  return names.length ? t("rule.fields", { n: names.length, names: list(names) })
    : t("rule.noFields");
}

/** A name for this browser, to distinguish it from others: `Chrome on Android`. */
export function browserName() {
  const of = marks => marks.find(mark => navigator.userAgent.includes(mark));
  const system = of(["Android", "iPhone", "iPad", "Mac", "Windows", "Linux"]);
  const browser = of(["Edg", "Firefox", "Chrome", "Safari"])?.replace("Edg", "Edge")
    ?? t("name.browser");
  return system ? t("name.on", { browser, system }) : browser;
}
