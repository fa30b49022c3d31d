// The ways to log in, for each page that needs them: a password, a passkey, an account elsewhere, a
// recovery code.

import { info, logIn, me, put } from "./api.js";
import { button, field, h, icon } from "./dom.js";
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
  return h("main.login", { id: "main", tabindex: "-1" },
    h("p.brand", icon("gate"), info?.name ?? "Postern"),
    h("h1", { tabindex: "-1" }, title), text && h("p.lead", text),
    h("p.error", { role: "alert", id: "login-problem" }, arrivalProblem()),
    passwords && passwordForm(then),
    why ? (why.origin || !passwords) && obstacleNotice(why) : passkeyForm(passwords, then),
    providerButtons(place), recovery(then));
}

/** Puts the focus where a person begins. */
export function focusLogin() {
  const ways = ["#username", "#passkey-login", ".login h1"];
  ways.map(one => document.querySelector(one)).find(Boolean).focus();
}

/** A form that logs in by what `attempt` returns; `wrong` are the words for a refusal. */
function loginForm({ body, go, attempt, wrong, failed = () => go.focus() }, then) {
  const error = h("p.error", { role: "alert" });
  const form = h("form", { novalidate: true }, body, error, go);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    go.disabled = true;
    try {
      await logIn(await attempt());
      await put(`/sessions/${me.session.objectId}`, { name: browserName() }).catch(() => {});
      then();
    } catch (fault) {
      error.textContent = fault.code === 101 && wrong ? wrong : fault.code === 155
        ? t("word.tooMany") : fault.message;
      go.disabled = false;
      failed();
    }
  });
  return form;
}

function passwordForm(then) {
  const name = nameInput("username");
  const password = h("input", {
    id: "password", name: "password", type: "password", autocomplete: "current-password",
    required: true,
  });
  const show = button(t("login.show"), () => {
    const isHidden = password.type === "password";
    password.type = isHidden ? "text" : "password";
    show.textContent = isHidden ? t("login.hide") : t("login.show");
    show.setAttribute("aria-pressed", String(isHidden));
  }, { class: "inside", "aria-label": t("login.showPassword"), "aria-pressed": "false" });
  return loginForm({
    body: [field(t("word.name"), name),
      h("div.with-inside", field(t("word.password"), password), show)],
    go: submit(t("act.logIn"), { class: "primary wide" }),
    attempt: () => ({ username: typed(name, "login.typeName").trim(),
      password: typed(password, "word.typePassword") }),
    wrong: t("login.wrong"),
    failed: () => { if (name.value) password.select(); },
  }, then);
}

function passkeyForm(passwords, then) {
  return loginForm({
    go: submit(t("login.byPasskey"),
      { id: "passkey-login", class: passwords ? "wide" : "primary wide" }),
    attempt: async () => ({ passkey: await sign("login") }),
  }, then);
}

function recovery(then) {
  const name = nameInput("recovery-name");
  const code = h("input", { id: "recovery-code", autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", maxlength: 256 });
  return h("details", h("summary", t("login.useCode")), loginForm({
    body: [field(t("word.name"), name), field(t("word.recoveryCode"), code, t("login.once"))],
    go: submit(t("login.byCode"), { class: "wide" }),
    attempt: () => ({ username: typed(name, "login.typeName").trim(),
      recoveryCode: typed(code, "login.typeCode").trim() }),
    wrong: t("login.wrongCode"),
  }, () => then(true)));
}

/** Why passkeys cannot be used here, and what helps. */
export function obstacleNotice({ text, origin }) {
  return h("div.notice.wait", { id: "no-passkeys" },
    h("h2", t("login.noPasskeys")), h("p", text),
    origin && h("p", phrase("login.openThere", { address: h("a", { href: origin }, origin) })));
}

function submit(text, props) { return h("button", { type: "submit", ...props }, text); }

function nameInput(id) {
  return h("input", { id, name: "username", autocomplete: "username", autocapitalize: "none",
    spellcheck: "false", required: true, maxlength: 256 });
}

function typed(input, problem) {
  if (input.value.trim()) return input.value;
  input.focus();
  throw new Error(t(problem));
}
