// Charts as SVG, each with its text. They are drawn in a box of fixed units that stretches to
// its place, so they never move the elements around them.

import { h } from "./dom.js";
import { number, t } from "./text.js";

const sum = values => values.reduce((all, v) => all + (v ?? 0), 0);
// The current minute is not complete, so the minute before it may show the rate better.
const figures = {
  messages: v => `${number(Math.max(v[59] ?? 0, v[58] ?? 0))}/min`,
  refused: v => (v.every(x => x === null) ? "–" : `${number(sum(v))}/h`),
  queue: v => (v[59] === null ? "–" : number(v[59])),
};

/** Sixty bars, one for each minute; `draw(values)` shows new ones. */
function chart(kind) {
  const path = h("path.bar"), shown = h("span.value");
  const svg = h(`svg.bars.${kind}`, { viewBox: "0 0 240 40", preserveAspectRatio: "none",
    role: "img" }, h("path.base", { d: "M0 39.500H240" }), path);
  const draw = values => {
    const most = Math.max(0, ...values), figure = shown.textContent = figures[kind](values);
    path.setAttribute("d", values.map((value, index) => {
      if (!value) return "";
      const y = 40 - Math.max(2, 38 * value / Math.max(1, most));
      return `M${4 * index} 40V${y.toFixed(1)}h3V40z`;
    }).join(""));
    svg.setAttribute("aria-label",
      t("chart.label", { title: t(`chart.${kind}Title`), figure, most }));
  };
  return { draw, node: h("div", h("p", h("span", t(`chart.${kind}`)), shown), svg) };
}

/** The three charts of a board's last hour; `draw(minutes)`. */
export function battery() {
  const charts = Object.keys(figures).map(kind => [kind, chart(kind)]);
  const node = h("div.battery", charts.map(([, one]) => one.node));
  node.draw = minutes => { for (const [kind, one] of charts) one.draw(minutes[kind]); };
  return node;
}
