// One numeric field over time: its newest value, and a plot of buckets as SVG.

import { exactTime, numberScale, timeTicks } from "./axes.js";
import { fill, freshID, h } from "./dom.js";
import { number, t } from "./text.js";
import { when } from "./time.js";

const height = 180, top = 8, floor = 24, tapMs = 350, dragPx = 8;
const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10,
  Home: -Infinity, End: Infinity };

function set(node, attributes) {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
}

/**
 * `draw()` shows `series`: {buckets, step, newest, unit, problem}. A bucket is {at, low, high,
 * mean, isLate}; `at` is its middle.
 */
export function plot(from, field, series, view) {
  const value = h("span.value"), note = h("span.note"), sums = h("p.note.sums");
  const clip = freshID("plot"), area = h("rect"), brush = h("rect.brush"), labels = h("g.labels");
  const [grid, cross, band, line, alone, late, dot, pin] =
    ["lines", "cross", "band", "line", "alone", "late", "dot", "dot.pin"].map(c => h(`path.${c}`));
  const svg = h("svg", {
    role: "slider", tabindex: "0", "aria-valuemin": "0",
    onpointerdown: down, onpointermove: move, onpointerup: up, onpointercancel: cancel,
    onpointerleave: leave, onkeydown: key, onwheel: wheel,
    onblur: () => { if (isByKey) view.release(); },
  }, h("defs", h("clipPath", { id: clip }, area)), grid, labels,
  h("g", { "clip-path": `url(#${clip})` }, brush, band, line, alone, late, cross, dot, pin));
  const node = h("figure.plot", { "data-series": `${from}.${field}` },
    h("figcaption", h("h3", field, h("small", ` ${from}`)), value, note), svg, sums);
  const fingers = new Map();
  let shown = [], span = [0, 1], scale = null, left = 40, width = 300, typical = 0;
  let drag = null, pinch = null, tapped = 0, wheeled = 0, isByKey = false, isMarked = false;

  const px = ms => left + (width - left) * (ms - span[0]) / (span[1] - span[0]);
  const x = ms => px(ms).toFixed(1);
  const time = px => span[0] + (span[1] - span[0]) * (px - left) / (width - left);
  const py = n => top + (height - top - floor) * (scale.most - n) / (scale.most - scale.least);
  const y = n => py(n).toFixed(1);
  const at = (ms, n) => `${x(ms)} ${y(n)}`;
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
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    set(area, { x: left, width: Math.max(0, width - left), height });
    axes();
    data();
    tell();
  };

  const least = () => Math.min(...shown.map(b => b.low));
  const most = () => Math.max(...shown.map(b => b.high));

  function measure() {
    scale = shown.length ? numberScale(least(), most(), 4)
      : { least: 0, most: 1, ticks: [], labels: [] };
    left = 12 + 7.5 * Math.max(3, ...scale.labels.map(l => l.length));
  }

  function axes() {
    const times = timeTicks(...span, Math.max(2, (width - left) / 56));
    set(grid, { d: [...scale.ticks.map(n => `M${left} ${y(n)}H${width}`),
      ...times.map(([ms]) => `M${x(ms)} ${height - floor}v4`)].join("") });
    const text = (x, y, anchor, words) => h("text", { x, y, "text-anchor": anchor }, words);
    labels.replaceChildren(
      ...scale.ticks.map((n, i) => text(left - 6, py(n) + 4, "end", scale.labels[i])),
      ...times.filter(([ms]) => px(ms) > left + 14 && px(ms) < width - 18)
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
    set(line, { d: long.map(run => `M${through(run, "mean")}`).join("") });
    set(band, { d: long.map(run =>
      `M${through(run, "high")}L${through([...run].reverse(), "low")}z`).join("") });
    set(alone, { d: runs.filter(run => run.length === 1).map(([b]) =>
      `M${at(b.at, b.low)}L${at(b.at, b.high)}h0`).join("") });
    const wide = Math.max(3, px(typical) - px(0));
    set(late, { d: near.filter(b => b.isLate).map(b =>
      `M${(px(b.at) - wide / 2).toFixed(1)} ${height - floor - 2}h${wide.toFixed(1)}`).join("") });
    const newest = shown.at(-1), isLast = newest && newest === all.at(-1);
    set(dot, { d: isLast ? `M${at(newest.at, newest.mean)}h0` : "" });
  }

  /** The bucket at the time that is held, if there is one. */
  function heldIndex() {
    if (view.held === null || !shown.length) return -1;
    const index = nearest(view.held);
    return Math.abs(shown[index].at - view.held) <= Math.max(series.step, typical) ? index : -1;
  }

  function nearest(ms) {
    const far = shown.map(b => Math.abs(b.at - ms));
    return far.indexOf(Math.min(...far));
  }

  function tell() {
    const { newest } = series, index = heldIndex(), held = shown[index];
    let words = "";
    if (view.held !== null) {
      const clock = exactTime(view.held, series.step);
      words = !held ? t("plot.noneAt", { clock }) : [
        held.low < held.high && t("plot.range", { low: round(held.low), high: round(held.high) }),
        t("plot.at", { clock }), held.isLate && t("word.lateBracket")].filter(Boolean).join(" ");
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
    set(cross, { d: view.held === null ? "" : `M${x(view.held)} 0V${height - floor}` });
    set(pin, { d: held ? `M${at(held.at, held.mean)}h0` : "" });
    const summary = summarize();
    sums.textContent = `${summary[0].toUpperCase()}${summary.slice(1)}.`;
    const text = newest ? `${t("plot.newest", { value: withUnit(newest.number),
      clock: exactTime(newest.writtenMs, 1000) })}, ${summary}` : summary;
    set(svg, { "aria-label": t("plot.label", { field, from, text }),
      "aria-valuemax": Math.max(0, shown.length - 1), "aria-valuenow": Math.max(0, index),
      "aria-valuetext": `${value.textContent} ${words}`.trim() });
  }

  function summarize() {
    if (series.problem) return series.problem;
    if (!shown.length) return t(series.isLoading ? "plot.loading" : "plot.none");
    const text = t("plot.extremes",
      { least: withUnit(round(least())), most: withUnit(round(most())) });
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
    const to = pixel(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, to);
    if (pinch) return spread();
    if (drag && Math.abs(to - drag.from) > dragPx) drag.moved = true;
    if (drag?.isBrush && drag.moved) {
      set(brush, { x: Math.min(drag.from, to), width: Math.abs(to - drag.from),
        height: height - floor });
    }
    if (drag || event.pointerType === "mouse") point(to);
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

  /** Forgets a finger, and the mouse's drag. */
  function lift(event) {
    fingers.delete(event.pointerId);
    const held = pinch ? null : drag;
    if (!fingers.size) pinch = null;
    drag = null;
    set(brush, { width: 0 });
    return held;
  }

  function up(event) {
    const to = pixel(event), held = lift(event);
    if (held?.isBrush && held.moved) {
      view.zoom([time(Math.min(held.from, to)), time(Math.max(held.from, to))]);
    } else if (held && !held.moved) {
      if (event.timeStamp - tapped < tapMs) view.back();
      tapped = event.timeStamp;
    }
  }

  function cancel(event) {
    lift(event);
    // The finger scrolls the page.
    view.release();
  }

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
    const { key } = event;
    if (key in keys && shown.length) {
      isByKey = true;
      const index = view.held === null ? shown.length : nearest(view.held);
      view.hold(shown[Math.min(Math.max(index + keys[key], 0), shown.length - 1)].at);
    } else if (key === "+" || key === "-") view.scale(key === "+" ? 0.5 : 2);
    else if (key === "Escape") view.held === null ? view.back() : view.release();
    else return;
    event.preventDefault();
  }

  return node;
}

/** The usual distance of buckets: nine of ten are no further apart. */
function usual(buckets, step) {
  const apart = buckets.slice(1).map((b, i) => b.at - buckets[i].at).sort((a, b) => a - b);
  return Math.max(step, apart[Math.floor(0.9 * (apart.length - 1))] ?? 0);
}
