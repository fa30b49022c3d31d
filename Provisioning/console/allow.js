// The page on which a person allows or denies the login of a program that shows a code.

import { me, post } from "./api.js";
import { button, empty, facts, field, fill, h } from "./dom.js";
import { t } from "./text.js";
import { when } from "./time.js";

/**
 * `code` is from the program's link; without one the person types it. It is looked up only when the
 * person wants it: a link must not spend the person's tries.
 */
export function allowPage(code) {
  const place = h("div", { "aria-live": "polite" });
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("act.allowProgram"))), place);
  fill(place, entry(place, code));
  return { title: t("allow.title"), node, close() {}, event() {} };
}

function entry(place, code = "") {
  const input = h("input", { id: "user-code", value: code, autocomplete: "off",
    autocapitalize: "characters", spellcheck: "false", maxlength: 16, placeholder: "BCDF-GHJK" });
  const error = h("p.error", { role: "alert" });
  const go = h("button", { type: "submit", class: "primary" }, t("act.goOn"));
  const form = h("form.code", { novalidate: true },
    field(t("allow.code"), input, t("allow.codeNote")), error, go);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    go.disabled = true;
    try {
      const typed = input.value.trim();
      if (!/^([A-Z][ -]*){8}$/i.test(typed)) throw new Error(t("allow.typeLetters"));
      const asked = await post("/console/login-requests", { userCode: typed });
      fill(place, question(place, asked));
      place.firstChild.focus();
    } catch (fault) {
      error.textContent = fault.message;
      go.disabled = false;
      input.select();
    }
  });
  return form;
}

function question(place, asked) {
  const error = h("p.error", { role: "alert" });
  const same = h("input", { type: "checkbox", id: "same-code" });
  const answer = (text, allow, props) => {
    const one = button(text, async () => {
      error.textContent = "";
      if (allow && !same.checked) {
        error.textContent = t("allow.compare");
        same.focus();
        return;
      }
      one.disabled = true;
      try {
        await post("/console/login-requests/answer", { userCode: asked.userCode, allow });
        fill(place, allow
          ? empty(t("allow.allowed"), t("allow.goesOn"),
            h("a.button", { href: "#/sessions" }, t("allow.yourSessions")))
          : empty(t("allow.denied"), t("allow.nothing")));
        document.querySelector("h1").focus();
      } catch (fault) {
        error.textContent = fault.message;
      }
      one.disabled = false;
    }, props);
    return one;
  };
  return h("section.card.code", { id: "login-request", tabindex: "-1" },
    h("p", t("allow.wants")),
    h("p.center", h("strong", { id: "shown-code" }, asked.userCode)),
    facts([[t("allow.says"), asked.program], [t("allow.address"), asked.address],
      [t("allow.asked"), when(asked.createdAt)]]),
    h("div.notice.wait",
      h("p", asked.isFromHere
        ? t("allow.fromHere")
        : t("allow.notHere")),
      h("p", t(me.user.isAdministrator ? "allow.onlyAdministrator" : "allow.only"))),
    h("label.check", same,
      t("allow.mine")),
    error, h("div.actions",
      answer(t("act.deny"), false, { id: "deny-login", class: "danger" }),
      answer(t("act.allow"), true, { id: "allow-login", class: "primary" })));
}
