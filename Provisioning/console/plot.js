// One numeric field over time: its newest value, and a plot of buckets as SVG.

import { exactTime, numberScale, timeTicks } from "./axes.js";
import { fill, h } from "./dom.js";
import { number, t } from "./text.js";
import { nowMs, when } from "./time.js";

const height = 180, top = 8, floor = 24, tapMs = 350, dragPx = 8;
let lastClip = 0;

/**
 * `draw()` shows `series`: {buckets, step, newest, unit, problem}. A bucket is {at, low, high,
 * mean, isLate}; `at` is its middle.
 */
export function plot(from, field, series, view) {
  const value = h("span.value"), note = h("span.note");
  const sums = h("p.note.sums");
  const clip = `plot-${++lastClip}`, area = h("rect");
  const grid = h("path.lines"), cross = h("path.cross");
  const band = h("path.band"), line = h("path.line");
  const alone = h("path.alone"), late = h("path.late");
  const dot = h("path.dot"), pin = h("path.dot.pin");
  const brush = h("rect.brush");
  const labels = h("g.labels");
  const svg = h("svg", {
    role: "slider", tabindex: "0", "aria-valuemin": "0",
    onpointerdown: down, onpointermove: move, onpointerup: up, onpointercancel: cancel,
    onpointerleave: leave, onkeydown: key, onwheel: wheel,
    onblur: () => { if (isByKey) view.release(); },
  }, h("defs", h("clipPath", { id: clip }, area)), grid, labels,
  h("g", { "clip-path": `url(#${clip})` }, brush, band, line, alone, late, cross,
    dot, pin));
  const node = h("figure.plot", { "data-series": `${from}.${field}` },
    h("figcaption", h("h3", field, h("small", ` ${from}`)), value, note),
    svg, sums);
  const fingers = new Map();
  let shown = [], span = [0, 1], scale = null, left = 40, width = 300, typical = 0;
  let drag = null, pinch = null, tapped = 0, wheeled = 0, isByKey = false;
  let isMarked = false;

  const x = ms => left + (width - left) * (ms - span[0]) / (span[1] - span[0]);
  const time = px => span[0] + (span[1] - span[0]) * (px - left) / (width - left);
  const y = n => top + (height - top - floor) * (scale.most - n) / (scale.most - scale.least);
  const at = (ms, n) => `${x(ms).toFixed(1)} ${y(n).toFixed(1)}`;
  /** As exactly as the plot can be read. */
  function round(n) {
    const unit = (scale.ticks[1] - scale.ticks[0]) / 100;
    return Math.round(n / unit) * unit;
  }
  const withUnit = n => number(n) + (series.unit ? ` ${series.unit}` : "");

  node.draw = () => {
    width = svg.clientWidth || 300;
    const before = span;
    span = view.span();
    shown = series.buckets.filter(b => b.at >= span[0] && b.at <= span[1]);
    const isHeld = view.held !== null && before[0] === span[0] && before[1] === span[1];
    if (!scale || !isHeld) measure();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    place(area, left, width - left, height);
    axes();
    data();
    tell();
    return node;
  };

  function measure() {
    const lows = shown.map(b => b.low), highs = shown.map(b => b.high);
    scale = shown.length ? numberScale(Math.min(...lows), Math.max(...highs), 4)
      : { least: 0, most: 1, ticks: [], labels: [] };
    left = 12 + 7.5 * Math.max(3, ...scale.labels.map(l => l.length));
  }

  function axes() {
    const times = timeTicks(...span, Math.max(2, (width - left) / 56));
    grid.setAttribute("d", [...scale.ticks.map(n => `M${left} ${y(n).toFixed(1)}H${width}`),
      ...times.map(([ms]) => `M${x(ms).toFixed(1)} ${height - floor}v4`)].join(""));
    const text = (px, py, anchor, words) =>
      h("text", { x: px.toFixed(1), y: py.toFixed(1), "text-anchor": anchor }, words);
    labels.replaceChildren(
      ...scale.ticks.map((n, i) => text(left - 6, y(n) + 4, "end", scale.labels[i])),
      ...times.filter(([ms]) => x(ms) > left + 14 && x(ms) < width - 18)
        .map(([ms, words]) => text(x(ms), height - 6, "middle", words)));
  }

  function data() {
    // The buckets beside the span carry the line to its edges.
    const all = series.buckets, first = all.findIndex(b => b.at >= span[0]);
    const last = all.findLastIndex(b => b.at <= span[1]);
    const near = first < 0 || last < 0 ? [] : all.slice(Math.max(0, first - 1), last + 2);
    typical = usual(near, series.step);
    const runs = [];
    for (const bucket of near) {
      const run = runs.at(-1);
      if (run && bucket.at - run.at(-1).at <= 2.5 * typical) run.push(bucket);
      else runs.push([bucket]);
    }
    const long = runs.filter(run => run.length > 1);
    const through = (run, kind) => run.map(b => at(b.at, b[kind])).join("L");
    line.setAttribute("d", long.map(run => `M${through(run, "mean")}`).join(""));
    band.setAttribute("d", long.map(run =>
      `M${through(run, "high")}L${through([...run].reverse(), "low")}z`).join(""));
    alone.setAttribute("d", runs.filter(run => run.length === 1).map(([b]) =>
      `M${at(b.at, b.low)}L${at(b.at, b.high)}h0`).join(""));
    const wide = Math.max(3, x(typical) - x(0));
    late.setAttribute("d", near.filter(b => b.isLate).map(b =>
      `M${(x(b.at) - wide / 2).toFixed(1)} ${height - floor - 2}h${wide.toFixed(1)}`).join(""));
    const newest = shown.at(-1);
    const isLast = newest && newest === all.at(-1);
    dot.setAttribute("d", isLast ? `M${at(newest.at, newest.mean)}h0` : "");
  }

  /** The bucket at the time that is held, if there is one. */
  function heldIndex() {
    if (view.held === null || !shown.length) return -1;
    const index = nearest(view.held);
    return Math.abs(shown[index].at - view.held) <= Math.max(series.step, typical) ? index : -1;
  }

  function nearest(ms) {
    let best = 0;
    shown.forEach((b, i) => {
      if (Math.abs(b.at - ms) < Math.abs(shown[best].at - ms)) best = i;
    });
    return best;
  }

  function tell() {
    const { newest } = series, held = shown[heldIndex()];
    const clock = exactTime(view.held ?? newest?.writtenMs ?? 0, series.step, nowMs());
    let words = "";
    if (view.held !== null) {
      words = !held ? t("plot.noneAt", { clock }) : [held.low < held.high
        && t("plot.range", { low: round(held.low), high: round(held.high) }),
      t("plot.at", { clock }),
      held.isLate && t("word.lateBracket")].filter(Boolean).join(" ");
      value.textContent = held ? withUnit(round(held.mean)) : "–";
      note.textContent = words;
      note.dataset.at = "";
    } else {
      value.textContent = newest ? withUnit(newest.number) : "–";
      if (newest && note.dataset.at !== String(newest.writtenMs)) {
        fill(note, when(newest.writtenMs / 1000), newest.late && [" ", t("word.lateBracket")]);
        note.dataset.at = newest.writtenMs;
      }
    }
    cross.setAttribute("d", view.held === null ? ""
      : `M${x(view.held).toFixed(1)} 0V${height - floor}`);
    pin.setAttribute("d", held ? `M${at(held.at, held.mean)}h0` : "");
    const summary = summarize();
    sums.textContent = `${summary[0].toUpperCase()}${summary.slice(1)}.`;
    const told = newest && t("plot.newest", { value: withUnit(newest.number),
      clock: exactTime(newest.writtenMs, 1000, nowMs()) });
    svg.setAttribute("aria-label", t("plot.label",
      { field, from, text: told ? `${told}, ${summary}` : summary }));
    svg.setAttribute("aria-valuemax", Math.max(0, shown.length - 1));
    svg.setAttribute("aria-valuenow", Math.max(0, heldIndex()));
    svg.setAttribute("aria-valuetext", `${value.textContent} ${words}`.trim());
  }

  function summarize() {
    if (series.problem) return series.problem;
    if (!shown.length) return series.isLoading ? t("plot.loading") : t("plot.none");
    const least = Math.min(...shown.map(b => b.low)), most = Math.max(...shown.map(b => b.high));
    const text = t("plot.extremes", { least: withUnit(round(least)), most: withUnit(round(most)) });
    return shown.some(b => b.isLate) ? `${text}. ${t("plot.marked")}` : text;
  }

  function point(px) {
    isByKey = false;
    if (shown.length) view.hold(shown[nearest(time(px))].at);
  }

  const pixel = event => event.clientX - svg.getBoundingClientRect().left;

  function down(event) {
    svg.setPointerCapture?.(event.pointerId);
    fingers.set(event.pointerId, pixel(event));
    if (fingers.size === 2) {
      drag = null;
      view.release();
      pinch = [...fingers.values()].map(time);
      isMarked = false;
    } else if (fingers.size === 1) {
      drag = { from: pixel(event), isBrush: event.pointerType === "mouse", moved: false };
      point(drag.from);
    }
  }

  function move(event) {
    const px = pixel(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, px);
    if (pinch) return spread();
    if (drag && Math.abs(px - drag.from) > dragPx) drag.moved = true;
    if (drag?.isBrush && drag.moved) {
      const [a, b] = [drag.from, px].sort((m, n) => m - n);
      place(brush, a, b - a, height - floor);
    }
    if (drag || event.pointerType === "mouse") point(px);
  }

  /** Two fingers keep the times that they touched. */
  function spread() {
    if (fingers.size < 2) return;
    const [[a, b], [m, n]] = [[...fingers.values()], pinch];
    if (Math.abs(b - a) < 20 || (b - a > 0) !== (n - m > 0)) return;
    const rate = (n - m) / (b - a);
    view.zoom([m - (a - left) * rate, m + (width - a) * rate], !isMarked);
    isMarked = true;
  }

  function up(event) {
    const px = pixel(event), held = drag;
    fingers.delete(event.pointerId);
    if (pinch) {
      if (!fingers.size) pinch = null;
      return;
    }
    drag = null;
    clearBrush();
    if (held?.isBrush && held.moved) {
      view.zoom([time(Math.min(held.from, px)), time(Math.max(held.from, px))]);
    } else if (held && !held.moved) {
      if (event.timeStamp - tapped < tapMs) view.back();
      tapped = event.timeStamp;
    }
  }

  function cancel(event) {
    fingers.delete(event.pointerId);
    if (!fingers.size) pinch = null;
    drag = null;
    clearBrush();
    // The finger scrolls the page.
    view.release();
  }

  function clearBrush() { place(brush, 0, 0, 0); }

  function leave(event) {
    if (event.pointerType === "mouse" && !drag) view.release();
  }

  function wheel(event) {
    // A trackpad's pinch.
    if (!event.ctrlKey) return;
    event.preventDefault();
    const turn = Math.min(50, Math.max(-50, event.deltaY)), rate = Math.exp(turn / 100);
    const ms = time(pixel(event));
    view.zoom([ms - (ms - span[0]) * rate, ms + (span[1] - ms) * rate],
      event.timeStamp - wheeled > 500);
    wheeled = event.timeStamp;
  }

  function key(event) {
    const index = view.held === null ? shown.length : nearest(view.held);
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10,
      PageUp: 10, Home: -Infinity, End: Infinity };
    if (event.key in steps && shown.length) {
      isByKey = true;
      const next = Math.min(Math.max(index + steps[event.key], 0), shown.length - 1);
      view.hold(shown[next].at);
    } else if (event.key === "+" || event.key === "-") view.scale(event.key === "+" ? 0.5 : 2);
    else if (event.key === "Escape") { if (view.held === null) view.back(); else view.release(); }
    else return;
    event.preventDefault();
  }

  return node;
}

function place(rect, x, width, height) {
  for (const [name, n] of Object.entries({ x, width, height })) {
    rect.setAttribute(name, Math.max(0, n));
  }
}

/** The usual distance of buckets: nine of ten are no further apart. */
function usual(buckets, step) {
  const apart = buckets.slice(1).map((b, i) => b.at - buckets[i].at).sort((a, b) => a - b);
  return Math.max(step, apart[Math.floor(0.9 * (apart.length - 1))] ?? 0);
}
