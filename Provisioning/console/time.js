// Times in words. All of them are relative to the authority's clock.

import { h } from "./dom.js";
import { locale, t } from "./text.js";

let ahead = 0;

/** Uses the authority's clock, in milliseconds, from now on. */
export function setClock(ms) { ahead = ms - Date.now(); }
export function nowMs() { return Date.now() + ahead; }
export function now() { return nowMs() / 1000; }

/** A date as Parse writes it, in seconds since the epoch; null if it is not a date. */
export function parseTime(value) {
  const text = value?.iso ?? value;
  if (typeof text === "number") return text;
  const ms = typeof text === "string" ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? null : ms / 1000;
}

const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];

/** A span as a number and its unit. `up` 0.5 rounds to the nearest unit; 0 rounds down. */
function measure(seconds, up) {
  const rounded = Math.max(0, Math.round(seconds));
  if (rounded === 31536000) return [1, "year"];
  const [size, unit] = units.find(([size]) => rounded >= size * (size === 86400 ? 2 : 1))
    ?? units[3];
  return [size === 1 ? rounded : Math.floor(rounded / size + up), unit];
}

/** A span in one unit: `3 hours`. */
export function span(seconds, up = 0) {
  return inUnit(...measure(seconds, up));
}

export function inUnit(count, unit) {
  return count.toLocaleString(locale, { style: "unit", unit, unitDisplay: "long" });
}

const dateStyle = "medium", dates = new Intl.DateTimeFormat(locale, { dateStyle });
const instants = new Intl.DateTimeFormat(locale, { dateStyle, timeStyle: "medium" });
const distances = new Intl.RelativeTimeFormat(locale);

/** `3 minutes ago`, `in 29 days`; a date when it is far away. */
function relative(at) {
  const past = now() - at;
  if (Math.abs(past) > 60 * 86400 && past > 0) return dates.format(at * 1000);
  if (Math.abs(past) < 5) return t("word.justNow");
  const [count, unit] = measure(Math.abs(past), past > 0 ? 0 : 0.5);
  return distances.format(past > 0 ? -count : count, unit);
}

/** A `time` element that updates itself; its title is the exact time. */
export function when(at, otherwise = t("word.neverLow")) {
  if (at === null || at === undefined) return otherwise;
  return h("time", {
    datetime: new Date(at * 1000).toISOString(), title: instants.format(at * 1000), "data-at": at,
  }, relative(at));
}

export function lastData({ lastDataMs: ms }) { return ms ? when(ms / 1000) : t("word.noData"); }

function refresh() {
  if (document.hidden) return;
  for (const node of document.querySelectorAll("time[data-at]")) {
    const text = relative(Number(node.dataset.at));
    if (node.textContent !== text) node.textContent = text;
  }
}

setInterval(refresh, 1000);
document.addEventListener("visibilitychange", refresh);

const option = seconds => ({ value: String(seconds), label: span(seconds, 0.5) });

/** The durations of a session to choose from, in seconds; `longest` is the authority's limit. */
export function durations(longest) {
  return [86400, 604800, 2592000, 31536000].filter(s => s <= (longest ?? Infinity)).map(option);
}

/**
 * The spans from now that end later than `present`, and those that end earlier. `present` null: the
 * session has no fixed end. `latest` is the latest possible end; null: none can be set.
 */
export function endChoices(present, latest) {
  if (latest === null) return { later: [], earlier: [] };
  const at = now(), most = Math.floor(latest - at), left = (present ?? Infinity) - at;
  const later = [86400, 604800, 2592000, 7776000, 15552000, 31536000]
    .filter(s => s > left + 60 && s <= most);
  if (most > (later.at(-1) ?? left) + 86400) later.push(most);
  const earlier = [3600, 86400, 604800, 2592000, 15552000].filter(s => s < left - 60 && s < most);
  return { later: later.slice(-4).map(option), earlier: earlier.slice(-4).map(option) };
}
