// Logging in with an account elsewhere. A button leads to the provider; it leads back to this page
// with `#login=` and how it went.

import { info, me, post, put } from "./api.js";
import { h } from "./dom.js";
import { browserName } from "./words.js";

const kept = "postern-login", problems = {
  denied: "The login was cancelled there, or you may not use it.",
  unfinished: "The provider needs something from you first. Log in there, then try again.",
  busy: "The provider has a problem at this moment. Try again later.",
  refused: "The provider refused the login. An administrator can find the reason in the provider's "
    + "settings.",
  visit: "This login was begun in another browser or tab, or it took too long. Try again.",
  issuer: "The answer did not come from the provider that was asked. Try again, and tell an "
    + "administrator if it happens again.",
  code: "The provider did not confirm the login. Try again, and tell an administrator if it happens "
    + "again.",
  token: "The provider's answer could not be trusted. Tell an administrator.",
  nobody: "You have no account here. Ask an administrator for one.",
  often: "Too many attempts. Wait a few minutes, then try again.",
  away: "The provider cannot be reached. Try again later.",
  failed: "The authority has a problem at this moment. Try again later.",
};

/** One button for each provider; `place` is the address to come back to, below this page's folder. */
export function providerButtons(place) {
  return (info.login.providers ?? []).map(one => link(one, place, `Log in with ${one.title}`));
}

function link({ name, title, url }, place, text, before) {
  return h("a", { class: "button wide", href: url, "data-provider": name, async onclick(event) {
    sessionStorage.setItem(kept, JSON.stringify({ place: place() }));
    if (!before) return;
    event.preventDefault();
    await before().catch(() => {});
    location.assign(url + "?again=true");
  } }, text ?? title);
}

/** Buttons that log in again, for a person whose providers have these names. */
export function againButtons(names) {
  const own = (info.login.providers ?? []).filter(one => names.includes(one.name));
  return own.map(one => link(one, () => location.hash, `Log in again with ${one.title}`,
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
  return Object.hasOwn(problems, outcome) ? problems[outcome] : "";
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(kept)) ?? {};
  } catch {
    return {};
  }
}
