// The span of time that all plots of a page show, and the time that a finger holds.

import { exactTime } from "./axes.js";
import { button, h } from "./dom.js";
import { t } from "./text.js";
import { nowMs } from "./time.js";

const hour = 3600000;
const ranges = { Hour: hour, Day: 24 * hour, Week: 168 * hour, Month: 720 * hour };
const shortest = 10000, longest = 32 * 24 * hour;

/**
 * `changed(isNew)` runs when the plots must be drawn; `isNew` if they need other data. A view
 * follows the present time until it is zoomed or moved, and stands still while a time is held.
 */
export function timeView(changed, isKept) {
  let range = "Hour", fixed = null, frozen = null, past = [];
  const label = h("span.span", { role: "status" });
  const choices = Object.keys(ranges).map(name =>
    button(t(`view.${name}`), () => show(name), { "data-range": name }));
  const now = button(t("view.now"), () => show(range), "#to-now");
  const act = (sign, key, id, does) => button(sign, does, { "aria-label": t(`view.${key}`), id });
  const node = h("div.view",
    isKept && h("div.ranges", { role: "group", "aria-label": t("view.range") }, choices),
    h("div.moves", { role: "group", "aria-label": t("view.time") },
      act("‹", "earlier", "earlier", () => move(-0.5)), label,
      act("›", "later", "later", () => move(0.5)),
      act("−", "zoomOut", "zoom-out", () => scale(2)),
      act("+", "zoomIn", "zoom-in", () => scale(0.5)), now));
  const view = { node, held: null, span, zoom, back, hold, release, scale, tell };

  function span() {
    return fixed ?? frozen ?? [nowMs() - ranges[range], nowMs() + ranges[range] / 50];
  }

  function show(name) {
    [range, fixed, past] = [name, null, []];
    change();
  }

  /** Shows this span. If marked, the one before comes back with `back`. */
  function zoom([from, to], isMarked = true) {
    const middle = (from + to) / 2, wide = Math.min(Math.max(to - from, shortest), longest);
    // The end is not far in the future, so that something can be seen.
    const end = Math.min(middle + wide / 2, nowMs() + wide / 2);
    if (isMarked) past = [...past, fixed].slice(-50);
    fixed = [end - wide, end];
    change(!isMarked);
  }

  function back() {
    if (!fixed) return;
    fixed = past.pop() ?? null;
    change();
  }

  function scale(factor) {
    const [from, to] = span(), at = view.held ?? (from + to) / 2;
    zoom([at - (at - from) * factor, at + (to - at) * factor]);
  }

  function move(part) {
    const [from, to] = span(), by = (to - from) * part;
    zoom([from + by, to + by]);
  }

  function change(keepsHeld = false) {
    if (!keepsHeld) [view.held, frozen] = [null, null];
    tell();
    changed(true);
  }

  /** Live data moves nothing while a time is held. */
  function hold(ms) {
    frozen ??= fixed ?? span();
    view.held = ms;
    changed(false);
  }

  function release() {
    if (view.held === null && !frozen) return;
    [view.held, frozen] = [null, null];
    changed(false);
  }

  function tell() {
    const [from, to] = span();
    const text = fixed ? [from, to].map(ms => exactTime(ms, (to - from) / 60)).join(" – ")
      : t(isKept ? `view.last${range}` : "view.opened");
    if (label.textContent !== text) label.textContent = text;
    now.hidden = !fixed;
    for (const one of choices) {
      one.setAttribute("aria-pressed", !fixed && one.dataset.range === range);
    }
  }

  tell();
  return view;
}
