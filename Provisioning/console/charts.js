// Charts as SVG, each with its text. They are drawn in a box of fixed units that stretches to
// its place, so they never move the elements around them.

import { h } from "./dom.js";
import { clockTime, nowMs, span } from "./time.js";
import { number } from "./words.js";

/** Sixty bars, one for each minute; `draw(values, text)` shows new values. */
function bars(kind) {
  const path = h("path", { class: "bar" });
  const svg = h("svg", {
    class: `bars ${kind}`, viewBox: "0 0 240 40", preserveAspectRatio: "none", role: "img",
  }, h("path", { class: "base", d: "M0 39.500H240" }), path);
  svg.draw = (values, text) => {
    const top = Math.max(1, ...values.map(v => v ?? 0));
    path.setAttribute("d", values.map((value, index) => {
      if (!value) return "";
      const y = 40 - Math.max(2, 38 * value / top);
      return `M${4 * index} 40V${y.toFixed(1)}h3V40z`;
    }).join(""));
    svg.setAttribute("aria-label", text);
    return svg;
  };
  return svg;
}

/** The three charts of a board's last hour; `draw(minutes)`. */
export function battery() {
  const parts = ["messages", "refused", "queue"].map(kind => ({
    kind, svg: bars(kind), value: h("span", { class: "value" }),
  }));
  const node = h("div", { class: "battery" }, parts.map(({ kind, svg, value }) =>
    h("div", null, h("p", null, h("span", null, headings[kind]), value), svg)));
  node.draw = minutes => {
    for (const { kind, svg, value } of parts) {
      const values = minutes[kind];
      const figure = figures[kind](values);
      value.textContent = figure;
      svg.draw(values, `${titles[kind]}: ${figure}, at most ${
        number(Math.max(0, ...values.map(v => v ?? 0)))} in the last hour.`);
    }
    return node;
  };
  return node;
}

const headings = { messages: "Messages", refused: "Refused", queue: "Queue" };
const titles = {
  messages: "Messages a minute", refused: "Writes that the board refused",
  queue: "Messages waiting on the board",
};
const sum = values => values.reduce((all, v) => all + (v ?? 0), 0);
// The current minute is not complete, so the minute before it may show the rate better.
const figures = {
  messages: v => `${number(Math.max(v[59] ?? 0, v[58] ?? 0))}/min`,
  refused: v => (v.every(x => x === null) ? "–" : `${number(sum(v))}/h`),
  queue: v => (v[59] === null ? "–" : number(v[59])),
};

const windows = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400].map(s => 1000 * s);

/** A line of numbers over time, up to now; `draw(points)` shows `[ms, number]` pairs. */
export function plot(name) {
  const line = h("path", { class: "line" });
  const dot = h("path", { class: "dot" });
  const cross = h("path", { class: "cross" });
  const svg = h("svg", {
    viewBox: "0 0 600 150", preserveAspectRatio: "none", role: "img",
    onpointermove: point, onpointerdown: point, onpointerleave: leave,
  }, h("path", { class: "lines", d: "M0 5H600M0 75H600M0 145H600" }), cross, line, dot);
  const value = h("span", { class: "value" }), note = h("span", { class: "note" });
  const high = h("span"), low = h("span"), from = h("span");
  const node = h("figure", { class: "plot", "data-series": name },
    h("figcaption", null, h("h3", null, name), value, note),
    h("div", { class: "y", "aria-hidden": "true" }, high, low), svg,
    h("div", { class: "x", "aria-hidden": "true" }, from, h("span", null, "now")));
  let points = [], start = 0, width = 1, bottom = 0, height = 1;

  const x = ms => 600 * (ms - start) / width;
  const y = n => 145 - 140 * ((n - bottom) / height);

  node.draw = newPoints => {
    points = newPoints;
    const end = nowMs();
    width = windows.find(w => points.length && points[0][0] >= end - w) ?? windows.at(-1);
    start = end - width;
    points = points.filter(p => p[0] >= start);
    scale();
    line.setAttribute("d", path(points, x, y));
    const last = points.at(-1);
    dot.setAttribute("d", last ? `M${x(last[0])} ${y(last[1])}h0` : "");
    from.textContent = clockTime(start);
    if (last) tell(last);
    const values = points.map(p => p[1]);
    svg.setAttribute("aria-label", !last ? `${name}: no reading in the last ${span(width / 1000)}.`
      : `${name}: ${number(last[1])} at ${clockTime(last[0])}, between ${
        number(Math.min(...values))} and ${number(Math.max(...values))} in ${
        points.length} readings of the last ${span(width / 1000)}.`);
    return node;
  };

  function scale() {
    const values = points.map(p => p[1]);
    let least = Math.min(...values), most = Math.max(...values);
    if (!values.length) [least, most] = [0, 1];
    const room = least === most ? Math.abs(least || 1) / 10 : 0;
    least -= room;
    most += room;
    [bottom, height] = [least, most - least];
    low.textContent = number(least);
    high.textContent = number(most);
  }

  function tell([ms, n], pointed) {
    value.textContent = number(n);
    note.textContent = pointed ? `at ${clockTime(ms)}`
      : nowMs() - ms < 90000 ? "" : `last ${span((nowMs() - ms) / 1000)} ago`;
  }

  function point(event) {
    if (!points.length) return;
    const box = svg.getBoundingClientRect();
    const ms = start + width * (event.clientX - box.left) / box.width;
    const near = points.reduce((a, b) => (Math.abs(b[0] - ms) < Math.abs(a[0] - ms) ? b : a));
    cross.setAttribute("d", `M${x(near[0])} 0V150`);
    tell(near, true);
  }

  function leave() {
    cross.setAttribute("d", "");
    if (points.length) tell(points.at(-1));
  }

  return node;
}

/** A line through the points, with a break where a point came much later than usual. */
function path(points, x, y) {
  const gaps = points.slice(1).map((p, i) => p[0] - points[i][0]).sort((a, b) => a - b);
  const wide = Math.max(10000, 6 * (gaps[gaps.length >> 1] ?? 0));
  return points.map((p, i) => {
    const isNew = i === 0 || p[0] - points[i - 1][0] > wide;
    return `${isNew ? "M" : "L"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`;
  }).join("");
}
