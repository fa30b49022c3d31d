// The browser's part of a passkey: it makes one, and it signs with one. Source: WebAuthn Level 3.

import { info, post } from "./api.js";
import { has, t } from "./text.js";

/** Why passkeys cannot be used here, and the `origin` where they can; null if they can here. */
export function obstacle() {
  const { passkeys, passkeyProblem, origin } = info.login;
  if (!passkeys) return { text: t(`obstacle.${passkeyProblem ?? "none"}`) };
  if (origin !== location.origin) return { text: t("obstacle.elsewhere"), origin };
  if (isSecureContext && window.PublicKeyCredential) return null;
  return { text: t("obstacle.browser") };
}

export async function makePasskey() {
  const made = await asked("create", "register");
  const { clientDataJSON, attestationObject, getTransports } = made.response;
  return shown(made, { clientDataJSON: text(clientDataJSON),
    attestationObject: text(attestationObject),
    transports: getTransports?.call(made.response) ?? [] });
}

/** A passkey's signature, for the purpose `login` or `confirm`. */
export async function sign(purpose) {
  const used = await asked("get", purpose);
  const { clientDataJSON, authenticatorData, signature, userHandle } = used.response;
  return shown(used, { clientDataJSON: text(clientDataJSON),
    authenticatorData: text(authenticatorData), signature: text(signature),
    ...(userHandle && { userHandle: text(userHandle) }) });
}

let waiting = null;

/** Gets a challenge from the authority, and the browser's answer to it. */
async function asked(method, purpose) {
  const { publicKey } = await post("/passkeys/options", { purpose });
  // A browser has one question open at a time.
  waiting?.abort();
  const { signal } = waiting = new AbortController();
  try {
    return await navigator.credentials[method]({ signal, publicKey: decoded(publicKey) });
  } catch (fault) {
    throw new Error(words(fault));
  }
}

function decoded(options) {
  const ids = list => list?.map(one => ({ ...one, id: bytes(one.id) }));
  const { challenge, user, allowCredentials, excludeCredentials } = options;
  return { ...options, challenge: bytes(challenge),
    ...(user && { user: { ...user, id: bytes(user.id) } }),
    allowCredentials: ids(allowCredentials), excludeCredentials: ids(excludeCredentials) };
}

function shown(credential, response) {
  const { id, type, authenticatorAttachment } = credential;
  return { id, rawId: id, type, response,
    ...(authenticatorAttachment && { authenticatorAttachment }),
    clientExtensionResults: credential.getClientExtensionResults() };
}

function bytes(base64url) {
  return Uint8Array.from(atob(base64url.replace(/-/g, "+").replace(/_/g, "/")),
    character => character.charCodeAt(0));
}

function text(buffer) {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

function words({ name, message }) {
  if (/certificate/i.test(message)) return t("passkey.certificate");
  return t(has(`passkey.${name}`) ? `passkey.${name}` : "passkey.none");
}
