// The authority's live events, by server-sent events.

import { eventsURL, get, me, over } from "./api.js";
import { setClock } from "./time.js";

const names = ["board", "minute", "reading", "claim", "sessions", "audit", "unshared"];
const longest = 30000;
// A browser opens few connections to one server, so a hidden page closes its own.
const hiddenFor = 30000;

/**
 * Listens until `close`; `query` chooses the events, such as `board=<iid>`. `tell(name, data)`
 * gets each event, and `again` after a lost connection, because the page may be out of date;
 * `state` gets "connecting", "live" or "reconnecting".
 */
export function listen(query, tell, state) {
  let source = null, timer = 0, wait = 1000, hiding = 0;
  let wasLive = false, closed = false, away = false;
  const end = new AbortController(), { signal } = end;

  function open() {
    source = new EventSource(eventsURL(query));
    source.addEventListener("hello", event => {
      setClock(JSON.parse(event.data).timeMs);
      wait = 1000;
      state("live");
      if (wasLive) tell("again");
      wasLive = true;
    });
    for (const name of names) {
      source.addEventListener(name, event => tell(name, JSON.parse(event.data)));
    }
    source.addEventListener("bye", () => { close(); over(); });
    source.onerror = lost;
  }

  // A browser retries by itself, but not after a response that is not a stream.
  async function lost() {
    if (closed) return;
    state(wasLive ? "reconnecting" : "connecting");
    if (source.readyState !== EventSource.CLOSED) return;
    await get("/me").catch(() => null);
    if (closed || !me) return close();
    timer = setTimeout(open, wait);
    wait = Math.min(2 * wait, longest);
  }

  function seen() {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(hide, hiddenFor);
    else if (away) again();
  }

  // The browser may keep a page that the user has left, and its connection with it.
  function hide() {
    source.close();
    clearTimeout(timer);
    away = true;
  }

  function again() {
    away = false;
    source.close();
    clearTimeout(timer);
    state("connecting");
    open();
  }

  function close() {
    closed = true;
    clearTimeout(timer);
    clearTimeout(hiding);
    end.abort();
    source?.close();
  }

  document.addEventListener("visibilitychange", seen, { signal });
  addEventListener("pagehide", hide, { signal });
  addEventListener("pageshow", seen, { signal });
  addEventListener("online", again, { signal });
  state("connecting");
  open();
  return close;
}

const minute = 60000;

/** Puts a `minute` event into the sixty minutes that end with the current one. */
export function putMinute(minutes, event) {
  let shift = Math.round((event.startMs - minutes.startMs) / minute) - 59;
  if (shift > 0) advance(minutes, shift);
  const index = Math.round((event.startMs - minutes.startMs) / minute);
  if (index < 0 || index > 59) return;
  for (const kind of ["messages", "refused", "queue"]) minutes[kind][index] = event[kind];
}

export function bringUp(minutes, nowMs) {
  const shift = Math.floor((nowMs - minutes.startMs) / minute) - 59;
  if (shift > 0) advance(minutes, shift);
  return shift > 0;
}

function advance(minutes, shift) {
  for (const kind of ["messages", "refused", "queue"]) {
    const old = minutes[kind];
    const nothing = kind === "queue" ? old[59] : old[59] === null ? null : 0;
    minutes[kind] = [...old, ...Array(Math.min(shift, 60)).fill(nothing)].slice(-60);
  }
  minutes.startMs += shift * minute;
}

export function noMinutes(nowMs) {
  return {
    startMs: (Math.floor(nowMs / minute) - 59) * minute, messages: Array(60).fill(0),
    refused: Array(60).fill(null), queue: Array(60).fill(null),
  };
}
