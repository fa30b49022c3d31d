// The page on which a person allows or denies the login of a program that shows a code.

import { me, post } from "./api.js";
import {
  button, checkbox, empty, entry, facts, field, fill, form, h, problem, submit, title,
} from "./dom.js";
import { t } from "./text.js";
import { when } from "./time.js";

/**
 * `code` is from the program's link; without one the person types it. It is looked up only when the
 * person wants it: a link must not spend the person's tries.
 */
export function makePage(code) {
  const place = h("div", { "aria-live": "polite" });
  fill(place, codeForm(place, code));
  return { title: t("allow.title"), node: h("div", title(t("act.allowProgram")), place) };
}

function codeForm(place, code = "") {
  const input = entry({ id: "user-code", value: code, autocapitalize: "characters", maxlength: 16,
    placeholder: "BCDF-GHJK" });
  const error = problem(), go = submit(t("act.goOn"), ".primary");
  return form(".code", { go, error, failed: () => input.select(), async send() {
    const userCode = input.value.trim();
    if (!/^([A-Z][ -]*){8}$/i.test(userCode)) throw new Error(t("allow.typeLetters"));
    fill(place, question(place, await post("/console/login-requests", { userCode })));
    place.firstChild.focus();
  } }, field(t("allow.code"), input, t("allow.codeNote")), error, go);
}

function question(place, { userCode, program, address, createdAt, isFromHere }) {
  const error = problem(), same = checkbox({ id: "same-code" });
  const answer = (text, allow, props) => {
    const one = button(text, async () => {
      error.textContent = allow && !same.checked ? t("allow.compare") : "";
      if (error.textContent) return same.focus();
      one.disabled = true;
      try {
        await post("/console/login-requests/answer", { userCode, allow });
        fill(place, allow ? empty(t("allow.allowed"), t("allow.goesOn"),
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
  return h("section#login-request.card.code", { tabindex: "-1" }, h("p", t("allow.wants")),
    h("p.center", h("strong#shown-code", userCode)),
    facts([[t("allow.says"), program], [t("allow.address"), address],
      [t("allow.asked"), when(createdAt)]]),
    h("div.notice.wait", h("p", t(isFromHere ? "allow.fromHere" : "allow.notHere")),
      h("p", t(me.user.isAdministrator ? "allow.onlyAdministrator" : "allow.only"))),
    h("label.check", same, t("allow.mine")), error, h("div.actions",
      answer(t("act.deny"), false, "#deny-login.danger"),
      answer(t("act.allow"), true, "#allow-login.primary")));
}
