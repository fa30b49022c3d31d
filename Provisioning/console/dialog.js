// Dialogs that ask the user and block the page until they are answered.

import { button, form, freshID, h, problem, say, submit as sending } from "./dom.js";
import { lines, t } from "./text.js";

/**
 * Opens a dialog; without `confirm` it only shows its body. `submit(form)` does the work. If it
 * throws, the dialog stays and shows the error. After the dialog, the focus goes back.
 */
export function ask({ title, body, confirm, danger, dismiss = t("act.cancel"), submit }) {
  const opener = document.activeElement, heading = freshID("dialog"), error = problem();
  const go = sending(confirm, { class: danger ? "danger" : "primary" });
  const dialog = h("dialog", { "aria-labelledby": heading }, form("", {
    go, error,
    async send(node) {
      await submit(node);
      dialog.close();
    },
    // The focus does not stay on a button while it is disabled.
    failed() { if (dialog.open && !dialog.contains(document.activeElement)) go.focus(); },
  }, h("h2", { id: heading }, title), body, error,
  h("div.actions", confirm && go, button(dismiss, () => dialog.close()))));
  dialog.addEventListener("close", () => {
    dialog.remove();
    const now = opener?.isConnected ? opener : opener?.id && document.getElementById(opener.id);
    (now || document.getElementById("username") || document.querySelector("h1"))?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks with the texts of `key`: title, text, button, and what to say when it is done. `act`
 * gets the form and that last text, does it, and may return something else to say.
 */
export function askTo(key, values, act, then, { body, ...more } = {}) {
  const [title, text, confirm, done] = lines(key, values);
  return ask({
    title, confirm, danger: true, body: [text && h("p", text), body], ...more,
    async submit(node) {
      say(await act(node, done) || done);
      then();
    },
  });
}
