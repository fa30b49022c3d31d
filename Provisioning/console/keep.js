// What the browser keeps for a time when the authority is away: the page's files, and the last
// known boards of the person who is logged in, until they log out. Of a board only the members
// that are named here are kept: no token, no claim.

import { get, info, me, onAnswer, onNobody } from "./api.js";
import { nowMs } from "./time.js";

const place = "known", key = new URL("known", import.meta.url).href;
const members = ["installationId", "name", "status", "statusSince", "sessionAvailable",
  "sessionState", "sessionEnd", "lastDataMs"];
const mostBoards = 100, mostReadings = 12, longestText = 80;
const rest = 10000, readingsRest = 600000, boardsRead = 12, longest = 30 * 86400000;

/** Browsers keep files only for HTTPS with a certificate that they trust, and for localhost. */
const canKeep = "caches" in globalThis && "serviceWorker" in navigator;
let known = null, timer = 0, rests = 1000, readAt = 0, work = Promise.resolve(), policy = null;
const others = globalThis.BroadcastChannel && new BroadcastChannel("postern-logout");

export function keepPage() {
  if (!canKeep) return;
  const worker = new URL("../worker.js", import.meta.url).href;
  try {
    policy ??= globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => worker });
    navigator.serviceWorker.register(policy ? policy.createScriptURL("") : worker).catch(() => {});
  } catch { /* A stricter policy than ours, from a proxy: the page works without. */ }
}

/** Goes on from what was kept for the person who is logged in. Call it before the first event. */
export async function restore() {
  const found = me && await lastKnown();
  if (!found || found.user !== me.user.objectId) return;
  const boards = Object.fromEntries(found.boards.map(board => [board.installationId, board]));
  known = { user: found.user, boards };
}

/** The last known boards; null if there are none that may be shown. */
export async function lastKnown() {
  if (!canKeep) return null;
  await work;
  try {
    const found = await (await (await caches.open(place)).match(key))?.json();
    const isOver = !found || found.endsMs && found.endsMs < Date.now();
    if (found && isOver) forget();
    if (isOver) return null;
    found.boards = found.boards.filter(one => Math.abs(Date.now() - one.asOfMs) < longest);
    return found;
  } catch {
    return null;
  }
}

export function noteEvent(name, data) {
  if (name !== "board" || !owned()) return;
  if (data.ownerId === me.user.objectId) put(data);
}

function owned() {
  if (!canKeep || !me) return false;
  if (known?.user !== me.user.objectId) known = { user: me.user.objectId, boards: {} };
  return true;
}

function note(path, answer) {
  if (!path.startsWith("/boards") || !owned()) return;
  const [, id] = /^\/boards\/([^/]+)\/newest$/.exec(path) ?? [];
  if (id) return putReadings(id, answer.results);
  if (!/^\/boards(\?|$)/.test(path)) return;
  const query = new URLSearchParams(path.split("?")[1]);
  const isPart = ["cursor", "search", "label", "everyone"].some(name => query.get(name));
  // A list from its beginning: what is not in it is forgotten.
  if (!isPart && query.get("limit") !== "1") {
    const before = known.boards;
    known.boards = {};
    for (const { installationId: id } of answer.results.slice(0, mostBoards)) {
      known.boards[id] = before[id];
    }
  }
  for (const board of answer.results) if (board.ownerId === me.user.objectId) put(board);
  save();
  readBoards();
}

function put(board) {
  const old = known.boards[board.installationId];
  const isFull = Object.values(known.boards).filter(Boolean).length >= mostBoards;
  if (!old && isFull) return;
  const picked = Object.fromEntries(members.map(m => [m, board[m] ?? null]));
  known.boards[board.installationId] = {
    ...picked, asOfMs: nowMs(), readings: old?.readings ?? [] };
  save();
}

function putReadings(id, results) {
  const board = known.boards[id];
  if (!board) return;
  board.readings = results.slice(0, mostReadings).map(r => ({
    field: r.field, number: r.number ?? null, text: r.text?.slice(0, longestText) ?? null,
    writtenMs: r.writtenMs,
  }));
  save();
}

/** Reads the values of the first boards, one after another, at most once in ten minutes. */
async function readBoards() {
  if (Date.now() - readAt < readingsRest || document.hidden) return;
  readAt = Date.now();
  for (const id of Object.keys(known.boards).slice(0, boardsRead)) {
    if (!me) return;
    await get(`/boards/${encodeURIComponent(id)}/newest`).catch(() => null);
  }
}

function save() {
  timer ||= setTimeout(write, rests);
  rests = rest;
}

function write() {
  clearTimeout(timer);
  timer = 0;
  if (!me || known?.user !== me.user.objectId) return;
  const { user, boards } = known;
  const text = JSON.stringify({
    user, username: me.user.username, authority: info.name,
    endsMs: Date.parse((me.session.endsAt ?? me.session.expiresAt)?.iso ?? "") || null,
    boards: Object.values(boards).filter(Boolean),
  });
  then(async () => {
    const isKept = await navigator.serviceWorker.getRegistration();
    if (me && known && isKept) await (await caches.open(place)).put(key, new Response(text));
  });
}

export function forget() {
  drop();
  others?.postMessage("");
  if (canKeep) then(() => caches.delete(place));
}

function drop() {
  clearTimeout(timer);
  [known, timer, readAt] = [null, 0, 0];
}

function then(act) { work = work.then(act).catch(() => {}); }

onAnswer(note);
onNobody(forget);
// Another tab of this browser has logged out, so this one keeps nothing more.
others?.addEventListener("message", drop);
document.addEventListener("visibilitychange", () => { if (document.hidden && timer) write(); });
