// The authority's HTTP API. The session's token is in a cookie that no script can read.

import { t } from "./text.js";

const root = new URL("../postern/v1/", import.meta.url);

/** An error that the authority answered, or the lack of an answer. */
export class Refused extends Error {
  constructor(status, body, retryAfter) {
    const key = /^\d+$/.test(retryAfter ?? "") ? "api.statusWait" : "api.status";
    super(sentence(body?.error || t(key, { status, retryAfter })));
    this.status = status;
    /** Seconds; 0 if the answer has none. */
    this.retryAfter = Number(retryAfter) || 0;
    this.code = body?.code ?? 0;
    this.name = body?.name ?? "refused";
    this.isAway = !status || status >= 500;
  }
}

export function sentence(text) {
  return text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");
}

/** The authority that serves this page: `GET /info`. */
export let info = null;
/** `{user, session}` of the logged-in user; null before the login. */
export let me = null;

const watchers = new Set();
/** Calls `then` when the session has ended. */
export function onOver(then) { watchers.add(then); }
const leavers = new Set();
/** Calls `then` when it is certain that nobody is logged in. */
export function onNobody(then) { leavers.add(then); }
function gone() { for (const then of leavers) then(); }

/** Records that the session has ended: nobody is logged in any more. */
export function over() {
  if (!me) return;
  me = null;
  gone();
  for (const then of watchers) then();
}

let confirm = null;
/** Sets what asks the person to confirm an act, and resolves to whether they did. */
export function onConfirmation(ask) { confirm = ask; }

/** A successful response, its body not yet read; `patience` in milliseconds. */
export async function request(method, path, body, patience = 30000) {
  const headers = { "X-Parse-Application-Id": info?.applicationId ?? "" };
  if (method !== "GET") headers["X-Postern-Console"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await reach(path, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store", signal: AbortSignal.timeout(patience),
  });
  if (answer.ok) return answer;
  const error = new Refused(answer.status, await answer.json().catch(() => null),
    answer.headers.get("Retry-After"));
  if (error.code === 209) over();
  if (error.name !== "confirmation-needed" || !confirm) throw error;
  if (await confirm()) return request(method, path, body, patience);
  throw new Error(t("api.notConfirmed"));
}

async function reach(path, options) {
  try {
    return await fetch(new URL(path.slice(1), root), options);
  } catch {
    throw new Refused(0, { error: t("api.unreachable"), name: "unreachable" });
  }
}

async function json(method, path, body) {
  const answer = await request(method, path, body);
  const text = await answer.text();
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    throw new Refused(answer.status, { error: t("api.unread") });
  }
}

let noted = () => {};
/** Calls `then` with the path and the answer of each GET that succeeded. */
export function onAnswer(then) { noted = then; }

export async function get(path) {
  const answer = await json("GET", path);
  noted(path, answer);
  return answer;
}
export const post = (path, body = {}) => json("POST", path, body);
export const put = (path, body) => json("PUT", path, body);
export const remove = path => json("DELETE", path);
export const eventsURL = query => new URL(`events${query ? `?${query}` : ""}`, root);

/** Loads the authority's description, and the logged-in user if there is one. */
export async function begin() {
  info ??= await get("/info");
  try {
    me = await get("/me");
  } catch (error) {
    if (![206, 209].includes(error.code) && ![401, 403].includes(error.status)) throw error;
    me = null;
    gone();
  }
}

export async function logIn(credentials) {
  await post("/console/login", credentials);
  me = await get("/me");
}

export async function logOut() {
  try {
    await post("/console/logout");
  } finally {
    over();
  }
}
