// The login form, for each page that needs it.

import { info, logIn, me, put } from "./api.js";
import { button, field, h, icon } from "./dom.js";

/** The content of a page: the authority's name, why a login is needed, and the form. */
export function loginPage({ title, text, then }) {
  const name = h("input", {
    id: "username", name: "username", autocomplete: "username", autocapitalize: "none",
    spellcheck: "false", required: true, maxlength: 256,
  });
  const password = h("input", {
    id: "password", name: "password", type: "password", autocomplete: "current-password",
    required: true,
  });
  const show = button("Show", () => {
    const isHidden = password.type === "password";
    password.type = isHidden ? "text" : "password";
    show.textContent = isHidden ? "Hide" : "Show";
    show.setAttribute("aria-pressed", String(isHidden));
  }, { class: "inside", "aria-label": "Show the password", "aria-pressed": "false" });
  const error = h("p", { class: "error", role: "alert" });
  const go = h("button", { type: "submit", class: "primary wide" }, "Log in");
  const form = h("form", { novalidate: true }, field("Name", name),
    h("div", { class: "with-inside" }, field("Password", password), show), error, go);

  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    if (!name.value || !password.value) {
      error.textContent = name.value ? "Type your password." : "Type your name.";
      (name.value ? password : name).focus();
      return;
    }
    go.disabled = true;
    try {
      await logIn(name.value.trim(), password.value);
      password.value = "";
      await put(`/sessions/${me.session.objectId}`, { name: here() }).catch(() => {});
      then();
    } catch (fault) {
      error.textContent = words(fault);
      password.select();
      go.disabled = false;
    }
  });

  return h("main", { class: "login", id: "main", tabindex: "-1" },
    h("p", { class: "brand" }, icon("gate"), info?.name ?? "Postern"),
    h("h1", { tabindex: "-1" }, title), text && h("p", { class: "lead" }, text), form);
}

/** A name for this login, to distinguish it from others: `Chrome on Android`. */
function here() {
  const of = marks => marks.find(mark => navigator.userAgent.includes(mark));
  const system = of(["Android", "iPhone", "iPad", "Mac", "Windows", "Linux"]);
  return `${of(["Edg", "Firefox", "Chrome", "Safari"]) ?? "Browser"}${system ? ` on ${system}` : ""}`
    .replace("Edg", "Edge");
}

function words(fault) {
  if (fault.code === 101) return "The name or the password is wrong.";
  if (fault.code === 155) return "Too many attempts. Wait a few minutes, then try again.";
  return fault.message;
}
