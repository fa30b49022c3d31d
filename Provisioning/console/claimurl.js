// The claim URL that a board shows: `<base>#v=1&i=…&k=…&c=…&n=…`.

const iid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const key = /^[A-Za-z0-9_-]{43}$/;

/** The parts of a claim URL. Throws an error for people if it is wrong; never with the secret. */
export function parseClaim(text) {
  // A terminal may have wrapped the line, or it may be in quotes.
  const whole = text.replace(/[\s"'<>`]+/g, "");
  const cut = whole.indexOf("#");
  if (cut < 1) throw new Error("This is no claim URL: it has no # with a claim after it.");
  const fragment = whole.slice(cut + 1);
  const parts = new Map(fragment.split("&").map(pair => {
    const sign = pair.indexOf("=");
    return sign < 0 ? [pair, ""] : [pair.slice(0, sign), pair.slice(sign + 1)];
  }));
  if (parts.get("v") !== "1") {
    throw new Error(parts.has("v") ? "This claim URL has a newer version than this page supports."
      : "This is no claim URL of a board.");
  }
  if (!iid.test(parts.get("i") ?? "") || !key.test(parts.get("k") ?? "")
    || !key.test(parts.get("c") ?? "")) {
    throw new Error("This claim URL is not whole. Copy all of it, up to its end.");
  }
  return {
    base: whole.slice(0, cut), fragment, installationId: parts.get("i"),
    name: shown(parts.get("n") ?? ""),
  };
}

function shown(encoded) {
  try {
    return decodeURIComponent(encoded).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 64);
  } catch {
    return "";
  }
}

/** Whether a claim's base is one of these; `postern://claim` is valid for any authority. */
export function isFor(base, own) {
  return base === "postern://claim" || own.some(one => folded(one) === folded(base));
}

function folded(url) { return url.toLowerCase().replace(/\/+$/, ""); }
