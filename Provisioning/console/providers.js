// Logging in with an account elsewhere. A button leads to the provider; it leads back to this page
// with `#login=` and how it went.

import { info, me, post, put } from "./api.js";
import { h } from "./dom.js";
import { has, t } from "./text.js";
import { browserName } from "./words.js";

const kept = "postern-login";

/** One button for each provider; `place` is the address to come back to, below this folder. */
export function providerButtons(place) {
  return (info.login.providers ?? []).map(one => link(one, place, t("login.with", one)));
}

function link({ name, title, url }, place, text, before) {
  return h("a.button.wide", { href: url, "data-provider": name, async onclick(event) {
    sessionStorage.setItem(kept, JSON.stringify({ place: place() }));
    if (!before) return;
    event.preventDefault();
    await before().catch(() => {});
    location.assign(url + "?again=true");
  } }, text ?? title);
}

export function againButtons(names) {
  const own = (info.login.providers ?? []).filter(one => names.includes(one.name));
  return own.map(one => link(one, () => location.hash, t("login.againWith", one),
    () => post("/console/logout")));
}

/**
 * At the start of the page: whether a login has just ended. A person who came from another page
 * goes back there, and then nothing else is to be shown.
 */
export function takeArrival() {
  const outcome = location.hash.match(/^#login=([a-z]+)$/)?.[1];
  if (!outcome) return false;
  const { place } = read();
  // Anybody can make such a link. Only a login that this tab began has an outcome.
  if (place === undefined) {
    history.replaceState(null, "", location.pathname);
    return false;
  }
  sessionStorage.setItem(kept, JSON.stringify({ outcome }));
  if (place.startsWith("claim#")) {
    location.replace(place);
    return true;
  }
  history.replaceState(null, "", place.startsWith("#/") ? place : location.pathname);
  return false;
}

/** Where somebody is logged in at the start of a page: a new session gets the browser's name. */
export async function nameArrival() {
  const { outcome } = read();
  sessionStorage.removeItem(kept);
  if (outcome !== "done") return;
  await put(`/sessions/${me.session.objectId}`, { name: browserName() }).catch(() => {});
}

/** Why the login did not work, once. A place stays: the person may be leaving for the provider. */
export function arrivalProblem() {
  const { outcome } = read();
  if (!outcome) return "";
  sessionStorage.removeItem(kept);
  return has(`arrival.${outcome}`) ? t(`arrival.${outcome}`) : "";
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(kept)) ?? {};
  } catch {
    return {};
  }
}
