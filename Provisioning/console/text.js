// The page's texts, in the first language of the browser that there is a file for.

// A file of two letters is a language: `worker.js` knows it by that.
const languages = ["en", "de", "es"];
const wanted = navigator.languages.find(one => languages.includes(one.slice(0, 2))) ?? "en";
const language = wanted.slice(0, 2);

/** The language and, if the browser names it, the region: for numbers and dates. */
export const locale = wanted;
document.documentElement.lang = language;

const { default: texts } = await import(`./${language}.js`);
const plurals = new Intl.PluralRules(language);
const integers = new Intl.NumberFormat(locale);
const decimals = new Intl.NumberFormat(locale, { maximumSignificantDigits: 6 });
const lists = new Intl.ListFormat(locale);

export function number(n) {
  if (Math.abs(n) >= 1e12) return n.toExponential(3);
  return Number.isInteger(n) ? integers.format(n) : decimals.format(n);
}

export function list(words) { return lists.format(words); }

function find(key) {
  const dot = key.indexOf("."), group = texts[key.slice(0, dot)], name = key.slice(dot + 1);
  return Object.hasOwn(group, name) ? group[name] : null;
}

/** Whether there is a text. Only for keys whose end comes from elsewhere. */
export function has(key) { return find(key) !== null; }

function fill(text, values) {
  return text.split(/\{(\w+)\}/).map((part, index) => {
    const value = index % 2 ? values[part] ?? "" : part;
    return typeof value === "number" ? number(value) : value;
  });
}

/**
 * The text of a key such as `board.hour`, as an array: strings, and the nodes among `values`, which
 * replace the placeholders of their names. Without a text: the key's end, as the authority sent it.
 */
export function phrase(key, values = {}) {
  const text = find(key) ?? key.slice(key.indexOf(".") + 1);
  return fill(text[plurals.select(values.n ?? 0)] ?? text.other ?? text, values);
}

export function t(key, values) { return phrase(key, values).join(""); }

/** The texts of a key that has several. */
export function lines(key, values) { return find(key).map(one => fill(one, values).join("")); }
