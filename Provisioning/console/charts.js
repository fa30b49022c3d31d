// Charts as SVG, each with its text. They are drawn in a box of fixed units that stretches to
// its place, so they never move the elements around them.

import { h } from "./dom.js";
import { number, t } from "./text.js";

/** Sixty bars, one for each minute; `draw(values, text)` shows new values. */
function bars(kind) {
  const path = h("path.bar");
  const svg = h("svg", {
    class: `bars ${kind}`, viewBox: "0 0 240 40", preserveAspectRatio: "none", role: "img",
  }, h("path.base", { d: "M0 39.500H240" }), path);
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
    kind, svg: bars(kind), value: h("span.value"),
  }));
  const node = h("div.battery", parts.map(({ kind, svg, value }) =>
    h("div", h("p", h("span", t(`chart.${kind}`)), value), svg)));
  node.draw = minutes => {
    for (const { kind, svg, value } of parts) {
      const values = minutes[kind];
      const figure = figures[kind](values);
      value.textContent = figure;
      svg.draw(values, t("chart.label", { figure,
        title: t(`chart.${kind}Title`), most: Math.max(0, ...values.map(v => v ?? 0)) }));
    }
    return node;
  };
  return node;
}

const sum = values => values.reduce((all, v) => all + (v ?? 0), 0);
// The current minute is not complete, so the minute before it may show the rate better.
const figures = {
  messages: v => `${number(Math.max(v[59] ?? 0, v[58] ?? 0))}/min`,
  refused: v => (v.every(x => x === null) ? "–" : `${number(sum(v))}/h`),
  queue: v => (v[59] === null ? "–" : number(v[59])),
};
