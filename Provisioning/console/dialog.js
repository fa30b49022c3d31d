// Dialogs that ask the user and block the page until they are answered.

import { button, freshID, h } from "./dom.js";
import { t } from "./text.js";

/**
 * Opens a dialog; without `confirm` it only shows its body. `submit(form)` does the work. If it
 * throws, the dialog stays and shows the error. After the dialog, the focus goes back.
 */
export function ask({ title, body, confirm, danger, dismiss = t("act.cancel"), submit }) {
  const opener = document.activeElement;
  const heading = freshID("dialog");
  const error = h("p.error", { role: "alert" });
  const go = h("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
  const form = h("form", { novalidate: true }, h("h2", { id: heading }, title), body, error,
    h("div.actions", confirm && go, button(dismiss, () => dialog.close())));
  const dialog = h("dialog", { "aria-labelledby": heading }, form);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    go.disabled = true;
    try {
      await submit(form);
      dialog.close();
    } catch (fault) {
      error.textContent = fault.message;
    }
    go.disabled = false;
    // The focus does not stay on a button while it is disabled.
    if (dialog.open && !dialog.contains(document.activeElement)) go.focus();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    const now = opener?.isConnected ? opener : opener?.id && document.getElementById(opener.id);
    (now || document.getElementById("username") || document.querySelector("h1"))?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
