// The data of a board: each field with its newest value, numbers as plots.

import { get, me } from "./api.js";
import { exactTime } from "./axes.js";
import { button, empty, facts, fill, h, renew } from "./dom.js";
import { plot } from "./plot.js";
import { phrase, t } from "./text.js";
import { nowMs, when } from "./time.js";
import { timeView } from "./view.js";

const plotsAtFirst = 6, textsAtFirst = 12, mostFields = 1000, mostLive = 4000;
// What came within this time before an answer may not be in the store yet.
const settledMs = 30000, reloadMs = 60000, lateMs = 60000;
// The store plots no larger number either.
const greatest = 1e290;

const source = from => from.class + (from.objectId ? `/${from.objectId}` : "");
const title = from => `${source(from)}.${from.field}`;
const isText = series => series.newest.text !== undefined;

export function readings(path) {
  const fields = new Map(), more = new Set();
  const asOf = h("p.as-of", { role: "status" }), node = h("div.feed");
  const plots = h("div.plots"), texts = h("div.texts");
  let view = null, isKept = true, drawing = 0, fetching = 0, board = null;
  let stream = "connecting", streamAt = nowMs(), heardMs = nowMs();

  async function load() {
    const { kept, results } = await get(`${path}/newest`);
    heardMs = nowMs();
    if (!view || kept !== isKept) {
      view = timeView(changed, kept);
      fields.clear();
    }
    isKept = kept;
    results.forEach(put);
    arrange();
    fetchAll();
  }

  /** Notes a newest value. True if its field is new, or has become a text or a number. */
  function put(newest) {
    const name = title(newest), known = fields.get(name);
    if (known && ("text" in newest) === ("text" in known.newest)) {
      if (newest.writtenMs >= known.newest.writtenMs) known.newest = newest;
      return false;
    }
    if (!known && fields.size >= mostFields) return false;
    fields.set(name, { name, newest, stored: [], live: [], step: 1000, buckets: [], loadedMs: 0 });
    return true;
  }

  function add({ class: name, objectId, writtenMs, atMs: receivedMs, values, texts }) {
    heardMs = nowMs();
    if (!view) return;
    const late = receivedMs - writtenMs > lateMs;
    const from = { class: name, objectId, writtenMs, receivedMs, late };
    let isNew = false;
    for (const [field, number] of Object.entries(values ?? {})) {
      isNew = put({ ...from, field, number }) || isNew;
      const series = fields.get(title({ ...from, field }));
      if (!series || Math.abs(number) > greatest) continue;
      series.live = [...series.live, [writtenMs, number, late]].slice(-mostLive);
      series.isStale = series.hasNews = true;
    }
    for (const [field, text] of Object.entries(texts ?? {})) {
      isNew = put({ ...from, field, text }) || isNew;
    }
    if (isNew) arrange();
    // Draw at most five times a second: more readings may arrive, but nobody can see them.
    else drawing ||= setTimeout(() => { drawing = 0; draw(); }, 200);
  }

  function changed(isNew) {
    draw();
    if (!isNew) return;
    clearTimeout(fetching);
    fetching = setTimeout(fetchAll, 150);
  }

  const plotted = () => [...fields.values()].filter(series => series.plot?.isConnected);

  function fetchAll() { if (isKept) plotted().forEach(fetchSeries); }

  async function fetchSeries(series) {
    const [from, to] = view.span(), room = (to - from) / 10, started = nowMs();
    const { newest } = series, points = Math.round(series.plot.clientWidth * 1.2);
    const query = new URLSearchParams({
      class: newest.class, field: newest.field, since: Math.max(0, Math.floor(from - room)),
      until: Math.ceil(to + room), points: Math.min(Math.max(points, 60), 2000),
    });
    if (newest.objectId) query.set("object", newest.objectId);
    Object.assign(series, { started, loadedMs: started, isLoading: true, hasNews: false });
    try {
      const answer = await get(`${path}/series?${query}`);
      // The plot shows another span by now.
      if (series.started !== started) return;
      heardMs = nowMs();
      Object.assign(series, { stored: buckets(answer), step: answer.step, problem: null,
        live: series.live.filter(([ms]) => ms > started - settledMs) });
    } catch (error) {
      if (series.started === started) series.problem = error.message.replace(/\.$/, "");
    }
    series.isLoading = false;
    series.isStale = true;
    if (me) draw();
  }

  const sorted = () => [...fields.values()].sort((a, b) => (a.name < b.name ? -1 : 1));

  function arrange() {
    const all = sorted(), numbers = all.filter(s => "number" in s.newest);
    const words = all.filter(isText);
    const shown = more.has("plots") ? numbers : numbers.slice(0, plotsAtFirst);
    const fresh = shown.filter(series => !series.plot);
    for (const series of fresh) {
      series.plot = plot(source(series.newest), series.newest.field, series, view);
    }
    fill(plots, shown.map(s => s.plot));
    fill(node, asOf,
      !isKept && h("p.note", phrase("readings.notKept", { setting: h("code", "[data] keep") })),
      shown.length > 0 && [view.node, plots], moreButton("plots", numbers.length - shown.length),
      words.length > 0 && texts, moreButton("texts", words.length - textsAtFirst),
      !all.length && empty(t("readings.none"), t("readings.noneText")),
      isKept && all.length > 0 && exportHint());
    draw();
    if (isKept) fresh.forEach(fetchSeries);
  }

  function moreButton(kind, n) {
    return n > 0 && !more.has(kind) && button(t("readings.more", { n }), () => {
      more.add(kind);
      arrange();
    });
  }

  function exportHint() {
    const name = board?.name ? `'${board.name.replaceAll("'", "'\\''")}'` : "BOARD";
    const [{ newest }] = fields.values();
    return h("p.note", t("readings.asFile"), " ", h("code",
      `postern export --board ${name} --class ${newest.class} --since 7d --format csv`));
  }

  function draw() {
    sayAsOf();
    view?.tell();
    for (const series of plotted()) {
      if (series.isStale) merge(series);
      series.unit = board?.units?.[series.newest.class]?.[series.newest.field];
      series.plot.draw();
    }
    const words = sorted().filter(isText);
    if (!words.length) return;
    const shown = more.has("texts") ? words : words.slice(0, textsAtFirst);
    renew(texts, facts(shown.map(({ newest }) => [
      [newest.field, h("small", ` ${source(newest)}`)],
      [newest.text.length > 80 ? h("pre", { tabindex: "0" }, newest.text)
        : h("span.what", newest.text || t("word.empty")),
      h("span.note", when(newest.writtenMs / 1000), newest.late && t("readings.late"))]])));
  }

  /** Says how old the page's knowledge is, while nothing new can arrive. */
  function sayAsOf() {
    if (stream === "live" && !document.hidden) heardMs = nowMs();
    const isAway = stream === "reconnecting"
      || stream === "connecting" && nowMs() - Math.max(streamAt, heardMs) > 3000;
    const since = board?.status === "down" && board.statusSince;
    const words = isAway ? phrase("readings.away", { time: exactTime(heardMs, 60000) })
      : since ? phrase("readings.offline",
        { time: exactTime(1000 * since, 60000), when: when(since) }) : [];
    const text = words.map(w => w.textContent ?? w).join("");
    if (asOf.textContent !== text) fill(asOf, words);
    asOf.hidden = !text;
  }

  function state(next) {
    // "reconnecting" until it is live again.
    if (next !== "live" && stream === "reconnecting") return;
    [stream, streamAt] = [next, nowMs()];
    sayAsOf();
  }

  function setBoard(next) {
    board = next;
    draw();
  }

  /** Moves the plots to the present. The store knows what no event brought. */
  function tick() {
    draw();
    if (!isKept || document.hidden || view?.held !== null) return;
    for (const series of plotted()) {
      if (!series.isLoading && (series.hasNews || series.problem)
        && nowMs() - series.loadedMs > reloadMs) fetchSeries(series);
    }
  }

  function pressed(event) {
    if (!event.target.closest?.(".plot svg, .view")) view?.release();
  }

  const size = new ResizeObserver(draw);
  size.observe(plots);
  document.addEventListener("pointerdown", pressed);

  function close() {
    size.disconnect();
    clearTimeout(drawing);
    clearTimeout(fetching);
    document.removeEventListener("pointerdown", pressed);
  }

  return { node, load, add, setBoard, state, tick, close };
}

/** The buckets of an answer that have a number. `at` is the middle of a bucket. */
function buckets({ start, step, min, max, mean, count, late }) {
  return count.flatMap((n, i) => (n && mean[i] !== null ? [{
    at: start + i * step + step / 2, low: min[i], high: max[i], mean: mean[i], count: n,
    isLate: late?.includes(i),
  }] : []));
}

/**
 * Joins the stored buckets and the live points. A point may be in both, so the bucket that counts
 * more decides.
 */
function merge(series) {
  const { step } = series, all = new Map(series.stored.map(b => [b.at, b])), fresh = new Map();
  for (const [ms, n, isLate] of series.live) {
    const at = Math.floor(ms / step) * step + step / 2;
    const old = fresh.get(at) ?? { low: n, high: n, sum: 0, count: 0, isLate: false };
    const sum = old.sum + n, count = old.count + 1;
    fresh.set(at, { at, sum, count, mean: sum / count, low: Math.min(old.low, n),
      high: Math.max(old.high, n), isLate: old.isLate || isLate });
  }
  for (const [at, bucket] of fresh) {
    const old = all.get(at);
    all.set(at, !old ? bucket : {
      ...(old.count >= bucket.count ? old : bucket), low: Math.min(old.low, bucket.low),
      high: Math.max(old.high, bucket.high), isLate: old.isLate || bucket.isLate,
    });
  }
  series.buckets = [...all.values()].sort((a, b) => a.at - b.at);
  series.isStale = false;
}
