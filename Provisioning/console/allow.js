// The page on which a person allows or denies the login of a program that shows a code.

import { me, post } from "./api.js";
import { button, empty, facts, field, fill, h } from "./dom.js";
import { when } from "./time.js";

/**
 * `code` is from the program's link; without one the person types it. It is looked up only when the
 * person wants it: a link must not spend the person's tries.
 */
export function allowPage(code) {
  const place = h("div", { "aria-live": "polite" });
  const node = h("div", null,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Allow a program's login")), place);
  fill(place, entry(place, code));
  return { title: "Allow a login", node, close() {}, event() {} };
}

function entry(place, code = "") {
  const input = h("input", { id: "user-code", value: code, autocomplete: "off", autocapitalize: "characters",
    spellcheck: "false", maxlength: 16, placeholder: "BCDF-GHJK" });
  const error = h("p", { class: "error", role: "alert" });
  const go = h("button", { type: "submit", class: "primary" }, "Continue");
  const form = h("form", { class: "code", novalidate: true },
    field("Code", input, "The program shows it. It has eight letters."), error, go);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    go.disabled = true;
    try {
      const typed = input.value.trim();
      if (!/^([A-Z][ -]*){8}$/i.test(typed)) throw new Error("Type the eight letters.");
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
  const error = h("p", { class: "error", role: "alert" });
  const same = h("input", { type: "checkbox", id: "same-code" });
  const answer = (text, allow, props) => {
    const one = button(text, async () => {
      error.textContent = "";
      if (allow && !same.checked) {
        error.textContent = "Compare the code, and say that it is your own program.";
        same.focus();
        return;
      }
      one.disabled = true;
      try {
        await post("/console/login-requests/answer", { userCode: asked.userCode, allow });
        fill(place, allow
          ? empty("Allowed", "The program goes on by itself. You can close this page.",
            h("a", { class: "button", href: "#/sessions" }, "Your sessions"))
          : empty("Denied", "The program gets nothing."));
        document.querySelector("h1").focus();
      } catch (fault) {
        error.textContent = fault.message;
      }
      one.disabled = false;
    }, props);
    return one;
  };
  return h("section", { class: "card code", id: "login-request", tabindex: "-1" },
    h("p", null, "A program wants to log in as you. It shows this code:"),
    h("p", { class: "center" }, h("strong", { id: "shown-code" }, asked.userCode)),
    facts([["It says it is", asked.program], ["Its address", asked.address],
      ["Asked", when(asked.createdAt)]]),
    h("div", { class: "notice wait" },
      h("p", null, asked.isFromHere
        ? "The authority sees it at the address of this browser. Machines behind one router or "
          + "proxy share an address, so this proves nothing."
        : "It does not ask from the address of this browser. It is on another network, "
          + "or on a server."),
      h("p", null, "Allow it only if you have just started this login yourself. If somebody sent "
        + "or told you the code, deny it: they would act as you",
      me.user.isAdministrator && ", and could also add administrators", ".")),
    h("label", { class: "check" }, same,
      "I started this program myself just now, and it shows this code"),
    error, h("div", { class: "actions" },
      answer("Deny", false, { id: "deny-login", class: "danger" }),
      answer("Allow", true, { id: "allow-login", class: "primary" })));
}
