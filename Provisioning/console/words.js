// Turns numbers and identifiers into words.

const integers = new Intl.NumberFormat("en");
const decimals = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

export function number(n) {
  if (Math.abs(n) >= 1e12) return n.toExponential(3);
  return Number.isInteger(n) ? integers.format(n) : decimals.format(n);
}

export function count(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

export function bytes(n) {
  return n >= 1024 && n % 1024 === 0 ? `${number(n / 1024)} KiB` : count(n, "byte");
}

/** How far a board has sent, and how far its messages have arrived, in words. */
export function arrivalWords({ sent, arrived, missing }) {
  if (!missing) return `everything that the board sent, up to number ${number(sent)}`;
  return `the board has sent up to number ${number(sent)}, `
    + (arrived === null ? "nothing has arrived" : `up to ${number(arrived)} has arrived`);
}

/** The state of a board: the kind of its pill, and words. */
export function boardState(board) {
  if (board.status === "up") {
    return board.sessionAvailable === false ? ["warn", "Online, no session"] : ["good", "Online"];
  }
  if (!["active", "pending"].includes(board.sessionState)) {
    return ["warn", board.sessionEnd === "expired" ? "Session expired" : "No session"];
  }
  if (board.status === "down") return ["bad", "Offline"];
  return ["", "Never online yet"];
}

const sessionStates = {
  active: ["good", "Active"], pending: ["warn", "Waiting for its board"],
  expired: ["", "Expired"], revoked: ["", "Signed out"],
};

/** When a session ends, for people: an idle end that each contact moves only once it is near. */
export function shownEnd(board) {
  if (board.sessionState !== "active") return null;
  return board.sessionWarning ? board.sessionEndsAt : board.sessionExpiresAt ?? board.sessionEndsAt;
}

/** Why a board has no session and what helps; null while it has one. */
export function endWords(board) {
  if (["active", "pending"].includes(board.sessionState)) return null;
  const ended = {
    expired: "The session of this board has expired.",
    revoked: "The session of this board was signed out from here.",
    "signed-out": "The session of this board was signed out on the board.",
    reuse: "The session of this board ended because a used token came back: somebody may have "
      + "copied the board.",
  }[board.sessionEnd] ?? "This board has no session.";
  if (board.renewal) return [ended, "A renewal waits for the board: it takes it when it is online."];
  if (board.renewable) return [ended, "The board keeps what its programs send. Renew gives it a new "
    + "session: nobody has to go there."];
  return [ended, "To pair it again, run sudo postern-agent pair on the board and scan its code."];
}
export function sessionState(state) { return sessionStates[state] ?? ["", "No session"]; }

const actions = { login: "Login", signup: "Sign-up", create: "Made for a device",
  provision: "Made for a board", claim: "Made for a board", upgrade: "Upgraded" };
export function origin(session) {
  const made = session.createdWith ?? {};
  const provider = made.authProvider && !["password", "postern"].includes(made.authProvider)
    ? ` by ${made.authProvider}` : "";
  return (actions[made.action] ?? made.action ?? "Made") + provider;
}

export function sessionName(session) {
  return session.name || session.boardName
    || (session.restricted ? "A device" : session.isThisOne ? "This browser" : "A login");
}

const story = {
  made: ["", "Session made"], accepted: ["good", "Session accepted by the board"],
  refreshed: ["", "Tokens refreshed"], extended: ["", "Session extended"],
  updated: ["", "Session changed"], online: ["good", "Came online"],
  offline: ["bad", "Went offline"], refused: ["warn", "Refused writes"],
  revoked: ["bad", "Signed out from here"], expired: ["bad", "Session expired"],
  "signed-out": ["bad", "Signed out by the board"],
  reuse: ["bad", "A used token was sent again: session ended"],
  replaced: ["", "Replaced by a newer session"], released: ["", "Released"],
  rejected: ["bad", "Session rejected by the board"],
};
/** An event of a board's timeline: its kind, and words. */
export function eventWords(event) { return story[event] ?? ["", event]; }

const log = {
  login: "Logged in", logout: "Logged out", "login.failed": "Login failed", signup: "Signed up",
  claim: "Claim started", "claim.accepted": "Claim accepted", "claim.rejected": "Claim rejected",
  "claim.expired": "Claim expired", "claim.cancelled": "Claim cancelled",
  "session.created": "Session made", "session.ended": "Session ended",
  "session.revoked": "Session signed out", "session.expired": "Session expired",
  "session.extended": "Session extended", "session.updated": "Session changed",
  "session.scope": "Rules of the session",
  "session.reuse": "A used token was sent again", "session.farewell": "Board signed itself out",
  "refresh.forged": "Forged refresh token", "alarm.refresh": "Refresh token ahead of the store",
  "token.foreign": "Token stolen: another board sent it",
  "revocation.forgotten": "Stopped waiting for the board's answer to a revocation",
  "identity.shared": "Another machine uses the board's identity",
  "board.renew": "Renewal started", "board.released": "Board released", "board.renamed": "Board renamed",
  "board.labeled": "Board labeled",
  "data.deleted": "Data of a former board deleted", "role.made": "Role made",
  "role.changed": "Role changed", "role.deleted": "Role deleted", "keys.rotated": "Keys rotated",
  "consumer.added": "Consumer added", "consumer.removed": "Consumer removed",
  "consumer.ended": "Consumer ended",
  "passkey.added": "Passkey added", "passkey.renamed": "Passkey renamed",
  "passkey.removed": "Passkey removed", "passkey.failed": "Passkey refused",
  "passkey.cloned": "Passkey refused: there may be a copy", "login.confirmed": "Confirmed an act",
  "login.allowed": "Program's login allowed", "login.denied": "Program's login denied",
  "login.code-wrong": "Wrong login code",
  "recovery.made": "Recovery code made", "recovery.used": "Logged in by a recovery code",
  "alerts.tested": "Alerts tested", "user.added": "User added", "user.disabled": "User disabled", "user.enabled": "User enabled",
  "user.password": "Password changed", "user.changed": "User changed", "user.renamed": "User renamed", "user.revoked": "All sessions signed out",
};
export function auditWords(event) { return log[event] ?? event; }
export function isAlarm(event) {
  return /^(alarm|identity\.shared|token\.foreign|refresh\.forged|session\.reuse|login\.failed|login\.code-wrong|passkey\.failed|passkey\.cloned|claim\.rejected)/.test(event);
}

/** The rules of a scope or a policy, one sentence for each. */
export function ruleWords(document) {
  const rules = (document.rules ?? []).map(rule => {
    const who = rule.app ? `App ${rule.app}` : "Any app";
    const what = rule.class === "*" ? "any class" : rule.class;
    const may = (rule.allow ?? []).length ? `may ${list(rule.allow)} ${what}`
      : `may not write ${what}`;
    return `${who} ${may}${details(rule)}.`;
  });
  const rest = document.default === "deny" ? "is refused" : "is allowed";
  rules.push(rules.length ? `Everything else ${rest}.` : `Every write ${rest}.`);
  for (const [app, limit] of Object.entries(document.apps ?? {})) {
    rules.push(`App ${app} in total${details(limit)}.`);
  }
  const topics = document.topics ?? [];
  if (topics.length) rules.push(`May also publish to ${list(topics)}.`);
  return rules;
}

function details(rule) {
  const parts = [];
  if (rule.fields) parts.push(`with ${fields(rule.fields)}`);
  if (rule.max_bytes) {
    const most = rule.max_bytes;
    parts.push(`at most ${typeof most === "number" ? bytes(most) : most}`);
  }
  if (rule.rate) parts.push(`at most ${rule.rate}`);
  return parts.map(p => `, ${p}`).join("");
}

function fields(all) {
  const names = Object.entries(all).map(([name, type]) =>
    `${name} (${typeof type === "string" ? type : Array.isArray(type) ? "list" : "object"})`);
  return names.length ? `${names.length === 1 ? "field" : "fields"} ${list(names)}` : "no fields";
}

export function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

const layers = { builtin: "Built in", scope: "The session's scope", policy: "The board's policy",
  app: "The app's limit" };
export function layerWords(layer) { return layers[layer] ?? layer; }

/** A name for this browser, to distinguish it from others: `Chrome on Android`. */
export function browserName() {
  const of = marks => marks.find(mark => navigator.userAgent.includes(mark));
  const system = of(["Android", "iPhone", "iPad", "Mac", "Windows", "Linux"]);
  return `${of(["Edg", "Firefox", "Chrome", "Safari"]) ?? "Browser"}${system ? ` on ${system}` : ""}`
    .replace("Edg", "Edge");
}
