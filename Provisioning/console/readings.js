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

export function readings(path) {
  const fields = new Map();
  const asOf = h("p.as-of", { role: "status" });
  const plots = h("div.plots"), texts = h("div.texts");
  const node = h("div.feed"), more = new Set();
  let view = null, isKept = true, drawing = 0, fetching = 0, board = null, units = {};
  let stream = "connecting", streamAt = nowMs(), heardMs = nowMs();

  async function load() {
    const { kept, results } = await get(`${path}/newest`);
    heardMs = nowMs();
    if (!view || kept !== isKept) {
      view = timeView(changed, kept);
      fields.clear();
    }
    isKept = kept;
    for (const newest of results) put(newest);
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

  function add(reading) {
    heardMs = nowMs();
    if (!view) return;
    const from = { class: reading.class, objectId: reading.objectId, writtenMs: reading.writtenMs,
      receivedMs: reading.atMs, late: reading.atMs - reading.writtenMs > lateMs };
    let isNew = false;
    for (const [field, number] of Object.entries(reading.values ?? {})) {
      isNew = put({ ...from, field, number }) || isNew;
      const series = fields.get(title({ ...from, field }));
      if (!series || Math.abs(number) > greatest) continue;
      series.live.push([reading.writtenMs, number, from.late]);
      if (series.live.length > mostLive) series.live.shift();
      series.isStale = true;
      series.hasNews = true;
    }
    for (const [field, text] of Object.entries(reading.texts ?? {})) {
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

  function fetchAll() {
    if (!isKept) return;
    for (const series of fields.values()) if (series.plot?.isConnected) fetchSeries(series);
  }

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
      series.stored = buckets(answer);
      series.step = answer.step;
      series.live = series.live.filter(([ms]) => ms > started - settledMs);
      series.problem = null;
    } catch (error) {
      if (series.started === started) series.problem = error.message.replace(/\.$/, "");
    }
    series.isLoading = false;
    series.isStale = true;
    if (me) draw();
  }

  function arrange() {
    const all = [...fields.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const numbers = all.filter(s => "number" in s.newest), words = all.filter(s => s.newest.text
      !== undefined);
    const shown = more.has("plots") ? numbers : numbers.slice(0, plotsAtFirst);
    const fresh = [];
    for (const series of shown) {
      if (series.plot) continue;
      series.plot = plot(source(series.newest), series.newest.field, series, view);
      fresh.push(series);
    }
    fill(plots, shown.map(s => s.plot));
    fill(node, asOf, !isKept && h("p.note", phrase("readings.notKept",
      { setting: h("code", "[data] keep") })),
    shown.length > 0 && [view.node, plots], moreButton("plots", numbers.length - shown.length),
    words.length > 0 && texts, moreButton("texts", words.length - textsAtFirst),
    !all.length && empty(t("readings.none"),
      t("readings.noneText")),
    isKept && all.length > 0 && exportHint());
    draw();
    if (isKept) fresh.forEach(fetchSeries);
  }

  function moreButton(kind, count) {
    return count > 0 && !more.has(kind) && button(t("readings.more", { n: count }), () => {
      more.add(kind);
      arrange();
    });
  }

  function exportHint() {
    const name = board?.name ? `'${board.name.replaceAll("'", "'\\''")}'` : "BOARD";
    return h("p.note", t("readings.asFile"), " ", h("code",
      `postern export --board ${name} --class ${
        [...fields.values()][0].newest.class} --since 7d --format csv`));
  }

  function draw() {
    sayAsOf();
    view?.tell();
    let words = [];
    for (const series of fields.values()) {
      if (series.newest.text !== undefined) words.push(series);
      if (!series.plot?.isConnected) continue;
      if (series.isStale) merge(series);
      series.unit = units[series.newest.class]?.[series.newest.field];
      series.plot.draw();
    }
    if (!words.length) return;
    words.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (!more.has("texts")) words = words.slice(0, textsAtFirst);
    renew(texts, facts(words.map(({ newest }) => [
      [newest.field, h("small", ` ${source(newest)}`)],
      [newest.text.length > 80 ? h("pre", { tabindex: "0" }, newest.text)
        : h("span.what", newest.text || t("word.empty")),
      h("span.note", when(newest.writtenMs / 1000),
        newest.late && t("readings.late"))]])));
  }

  /** Says how old the page's knowledge is, while nothing new can arrive. */
  function sayAsOf() {
    if (stream === "live" && !document.hidden) heardMs = nowMs();
    const isAway = stream === "reconnecting"
      || stream === "connecting" && nowMs() - Math.max(streamAt, heardMs) > 3000;
    const words = isAway
      ? phrase("readings.away", { time: exactTime(heardMs, 60000, nowMs()) })
      : board?.status === "down" && board.statusSince ? phrase("readings.offline", {
        time: exactTime(1000 * board.statusSince, 60000, nowMs()), when: when(board.statusSince) })
        : [];
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
    units = next.units ?? {};
    draw();
  }

  /** Moves the plots to the present. The store knows what no event brought. */
  function tick() {
    draw();
    if (!isKept || document.hidden || view?.held !== null) return;
    for (const series of fields.values()) {
      if (series.plot?.isConnected && !series.isLoading && (series.hasNews || series.problem)
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
  const isLate = new Set(late);
  return count.flatMap((n, i) => (n && mean[i] !== null ? [{
    at: start + i * step + step / 2, low: min[i], high: max[i], mean: mean[i], count: n,
    isLate: isLate.has(i),
  }] : []));
}

/**
 * Joins the stored buckets and the live points. A point may be in both, so the bucket that counts
 * more decides.
 */
function merge(series) {
  const { step } = series, all = new Map(series.stored.map(b => [b.at, b]));
  const fresh = new Map();
  for (const [ms, n, isLate] of series.live) {
    const at = Math.floor(ms / step) * step + step / 2;
    const bucket = fresh.get(at) ?? { at, low: n, high: n, sum: 0, count: 0, isLate: false };
    bucket.low = Math.min(bucket.low, n);
    bucket.high = Math.max(bucket.high, n);
    bucket.sum += n;
    bucket.count += 1;
    bucket.mean = bucket.sum / bucket.count;
    bucket.isLate ||= isLate;
    fresh.set(at, bucket);
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
