// The ways to log in, for each page that needs them.

import { info, logIn, me, put } from "./api.js";
import { button, entry, field, form, h, icon, problem, submit } from "./dom.js";
import { obstacle, sign } from "./passkey.js";
import { arrivalProblem, providerButtons } from "./providers.js";
import { phrase, t } from "./text.js";
import { browserName } from "./words.js";

/**
 * The content of a page: the authority's name, why a login is needed, and the ways to do it.
 * `then` learns whether it was a recovery code. `place` gives the address of this page, for a way
 * that leaves it.
 */
export function loginPage({ title, text, then, place }) {
  const why = obstacle(), { passwords } = info.login;
  return h("main#main.login", { tabindex: "-1" }, h("p.brand", icon("gate"), info.name),
    h("h1", { tabindex: "-1" }, title), text && h("p.lead", text),
    h("p.error", { role: "alert", id: "login-problem" }, arrivalProblem()),
    passwords && passwordForm(then),
    why ? (why.origin || !passwords) && obstacleNotice(why) : passkeyForm(passwords, then),
    providerButtons(place), recovery(then));
}

export function focusLogin() {
  const ways = ["#username", "#passkey-login", ".login h1"];
  ways.map(one => document.querySelector(one)).find(Boolean).focus();
}

/** A form that logs in by what `attempt` returns; `wrong` is the text for a refusal. */
function loginForm({ body, go, attempt, wrong, failed }, then) {
  const error = problem();
  return form("", { go, error, failed, async send() {
    try {
      await logIn(await attempt());
    } catch (fault) {
      throw fault.code === 101 && wrong ? new Error(t(wrong))
        : fault.code === 155 ? new Error(t("arrival.often")) : fault;
    }
    await put(`/sessions/${me.session.objectId}`, { name: browserName() }).catch(() => {});
    then();
  } }, body, error, go);
}

function passwordForm(then) {
  const name = nameInput("username");
  const password = h("input#password", { name: "password", type: "password",
    autocomplete: "current-password", required: true });
  const show = button(t("login.show"), () => {
    const isHidden = password.type === "password";
    password.type = isHidden ? "text" : "password";
    show.textContent = t(isHidden ? "login.hide" : "login.show");
    show.setAttribute("aria-pressed", isHidden);
  }, { class: "inside", "aria-label": t("login.showPassword"), "aria-pressed": "false" });
  return loginForm({
    body: [field(t("word.name"), name),
      h("div.with-inside", field(t("word.password"), password), show)],
    go: submit(t("act.logIn"), ".primary.wide"),
    attempt: async () => ({ username: typed(name, "login.typeName").trim(),
      password: typed(password, "word.typePassword") }),
    wrong: "login.wrong", failed: () => { if (name.value) password.select(); },
  }, then);
}

function passkeyForm(passwords, then) {
  const kind = passwords ? "wide" : "primary wide";
  return loginForm({
    go: submit(t("login.byPasskey"), { id: "passkey-login", class: kind }),
    attempt: async () => ({ passkey: await sign("login") }),
  }, then);
}

function recovery(then) {
  const name = nameInput("recovery-name"), code = entry({ id: "recovery-code", maxlength: 256 });
  return h("details", h("summary", t("login.useCode")), loginForm({
    body: [field(t("word.name"), name), field(t("word.recoveryCode"), code, t("login.once"))],
    go: submit(t("login.byCode"), ".wide"),
    attempt: async () => ({ username: typed(name, "login.typeName").trim(),
      recoveryCode: typed(code, "login.typeCode").trim() }),
    wrong: "login.wrongCode",
  }, () => then(true)));
}

export function obstacleNotice({ text, origin }) {
  return h("div#no-passkeys.notice.wait",
    h("h2", t("login.noPasskeys")), h("p", text),
    origin && h("p", phrase("login.openThere", { address: h("a", { href: origin }, origin) })));
}

function nameInput(id) {
  return entry({ id, name: "username", autocomplete: "username", required: true, maxlength: 256 });
}

function typed(input, wrong) {
  if (input.value.trim()) return input.value;
  input.focus();
  throw new Error(t(wrong));
}
