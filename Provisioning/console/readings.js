// The data of a board: numbers as plots, everything else as text.

import { plot } from "./charts.js";
import { button, empty, fill, h } from "./dom.js";
import { when } from "./time.js";

const mostPoints = 600, mostTexts = 20, plotsAtFirst = 6;

/** The title of a series. Updates of different records make different series. */
function title(from, field) {
  return `${from.class}${from.objectId ? `/${from.objectId}` : ""}.${field}`;
}

export function readings() {
  const series = new Map(), texts = [];
  const plots = h("div", { class: "plots" }), lines = h("ul", { class: "rows texts" });
  const node = h("div", { class: "feed" });
  let showsAll = false, drawing = 0;

  function load({ series: all = [], texts: newest = [] }) {
    series.clear();
    for (const one of all) series.set(title(one, one.field), { points: one.points });
    texts.splice(0, texts.length, ...newest);
    texts.sort((a, b) => b.atMs - a.atMs);
    arrange();
  }

  function add(reading) {
    let isNew = false;
    const values = Object.entries(reading.values ?? {});
    for (const [field, value] of values) {
      const name = title(reading, field);
      if (!series.has(name)) isNew = Boolean(series.set(name, { points: [] }));
      const { points } = series.get(name);
      points.push([reading.atMs, value]);
      if (points.length > 1 && points.at(-2)[0] > reading.atMs) points.sort((a, b) => a[0] - b[0]);
      if (points.length > mostPoints) points.shift();
    }
    if (!values.length || reading.text) {
      texts.unshift(reading);
      texts.length = Math.min(texts.length, mostTexts);
      isNew ||= !lines.isConnected;
    }
    if (isNew) arrange();
    else soon();
  }

  /** Draws at most five times a second: more readings may arrive, but nobody can see them. */
  function soon() {
    drawing ||= setTimeout(() => { drawing = 0; draw(); }, 200);
  }

  function arrange() {
    const names = [...series.keys()].sort();
    const shown = showsAll ? names : names.slice(0, plotsAtFirst);
    for (const name of shown) series.get(name).plot ??= plot(name);
    fill(plots, shown.map(name => series.get(name).plot));
    const more = names.length - shown.length;
    fill(node, names.length > 0 && plots,
      more > 0 && button(`Show ${more} more`, () => { showsAll = true; arrange(); }),
      texts.length > 0 && [h("h3", null, "Not numbers"), lines],
      !names.length && !texts.length && empty("No reading yet",
        "The data appears here as soon as a program on the board writes some that the rules allow."));
    draw();
  }

  function draw() {
    for (const { plot, points } of series.values()) if (plot?.isConnected) plot.draw(points);
    if (texts.length) {
      fill(lines, texts.slice(0, mostTexts).map(text => h("li", null,
        h("p", { class: "note" }, h("span", { class: "what" }, text.class), ` ${text.op}`,
          text.objectId && ` ${text.objectId}`, " · ", when(text.atMs / 1000)),
        h("pre", { tabindex: "0" }, text.text ?? ""))));
    }
  }

  return { node, load, add, draw };
}
