// Scales of plots: round steps for numbers and times, and their labels.

import { locale } from "./text.js";
import { nowMs } from "./time.js";

const minute = 60000, hour = 60 * minute, day = 24 * hour;
const timeSteps = [
  1000, 2000, 5000, 10000, 15000, 30000, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
  30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day,
];

/** Round numbers that enclose `least` to `most`, about `count` of them, and their labels. */
export function numberScale(least, most, count) {
  if (least === most) {
    const room = Math.abs(least) / 20 || 1;
    [least, most] = [least - room, most + room];
  }
  const rough = (most - least) / count, size = 10 ** Math.floor(Math.log10(rough));
  const step = size * ([1, 2, 2.5, 5].find(n => n * size >= rough * 0.999) ?? 10);
  const first = Math.floor(least / step + 1e-9), last = Math.ceil(most / step - 1e-9);
  // A number so large that a step changes nothing has no more than its two ends.
  if (!(last - first < 50 && step < 1e299) || first * step === (first + 1) * step) {
    const ticks = [least, most];
    return { least, most, ticks, labels: ticks.map(n => n.toExponential(2)) };
  }
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  const format = labelFormat(Math.max(Math.abs(ticks[0]), Math.abs(ticks.at(-1))), step);
  return { least: ticks[0], most: ticks.at(-1), ticks, labels: ticks.map(n => format.format(n)) };
}

/** Short labels that differ from step to step. */
function labelFormat(greatest, step) {
  const digits = 2 + Math.ceil(Math.log10(greatest / step));
  const isPlain = step >= 1e-4 && (greatest < 1e5 || greatest < 1e9 && digits > 6);
  return new Intl.NumberFormat(locale, isPlain ? { maximumFractionDigits: 5 } : {
    notation: step < 1e-4 || greatest >= 1e15 ? "scientific" : "compact",
    maximumSignificantDigits: Math.min(8, digits),
  });
}

const minutes = { hour: "2-digit", minute: "2-digit" }, days = { day: "numeric", month: "short" };
const formats = { minutes, days, both: { ...days, ...minutes },
  seconds: { ...minutes, second: "2-digit" } };
for (const name in formats) {
  formats[name] = new Intl.DateTimeFormat(locale, { hourCycle: "h23", ...formats[name] });
}

/** Round local times between `from` and `to`, at most about `count`, as `[ms, label]`. */
export function timeTicks(from, to, count) {
  const step = timeSteps.find(s => s >= (to - from) / count) ?? timeSteps.at(-1);
  const ticks = [], at = new Date(from);
  at.setHours(0, 0, 0, 0);
  if (step > day) at.setDate(1 + Math.floor((at.getDate() - 1) / (step / day)) * (step / day));
  while (at <= to && ticks.length < 100) {
    const ms = at.getTime(), isMidnight = !at.getHours() && !at.getMinutes() && !at.getSeconds();
    if (ms >= from) {
      ticks.push([ms, formats[isMidnight && to - from > 2 * hour ? "days"
        : step < minute ? "seconds" : step < day ? "minutes" : "days"].format(ms)]);
    }
    if (step >= day) at.setDate(at.getDate() + step / day);
    else at.setTime(Math.max(ms + step, ms < from ? from - ((from - ms) % step) : 0));
  }
  return ticks;
}

/** A time as exactly as a bucket of `step` ms deserves; with its day if that is not today. */
export function exactTime(ms, step) {
  const isToday = new Date(ms).toDateString() === new Date(nowMs()).toDateString();
  return formats[!isToday ? "both" : step < minute ? "seconds" : "minutes"].format(ms);
}
