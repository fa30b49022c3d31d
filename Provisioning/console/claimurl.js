// The claim URL that a board shows: `<base>#v=1&i=…&k=…&c=…&n=…`.

import { t } from "./text.js";

const iid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const key = /^[A-Za-z0-9_-]{43}$/;

function fault(key, name) {
  const part = name && t(`part.${name}`);
  return new Error(`${t(key, { part })} ${t("url.again")}`);
}

/** The value of a member; throws if it is missing or does not have its form. */
function part(parts, name, form) {
  const value = parts.get(name);
  if (value === undefined) throw fault("url.missing", name);
  if (!form(value)) throw fault("url.malformed", name);
  return value;
}

/** The parts of a claim URL. Throws an error for people if it is wrong; never with the secret. */
export function parseClaim(text) {
  // A terminal may have wrapped the line, or it may be in quotes.
  const whole = text.replace(/[\s"'<>`]+/g, "");
  const cut = whole.indexOf("#");
  if (cut < 1) throw fault("url.noHash");
  const fragment = whole.slice(cut + 1);
  const parts = new Map(fragment.split("&").map(pair => {
    const sign = pair.indexOf("=");
    return sign < 0 ? [pair, ""] : [pair.slice(0, sign), pair.slice(sign + 1)];
  }));
  if (part(parts, "v", () => true) !== "1") throw fault("url.version");
  const installationId = part(parts, "i", text => iid.test(text));
  if (!parts.has("n")) parts.set("n", "");
  const name = decoded(part(parts, "n", text => decoded(text) === shown(decoded(text))));
  for (const secret of ["k", "c"]) part(parts, secret, text => key.test(text));
  return { base: whole.slice(0, cut), fragment, installationId, name };
}

/** Null for a broken escape. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function shown(name) {
  return name === null ? "" : [...name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")].slice(0, 64).join("");
}

/** Whether a claim's base is one of these; `postern://claim` is valid for any authority. */
export function isFor(base, own) {
  return base === "postern://claim" || own.some(one => folded(one) === folded(base));
}

function folded(url) { return url.toLowerCase().replace(/\/+$/, ""); }
