// The dialog before what cannot be undone: it asks for the person's passkey or password.

import { get, post } from "./api.js";
import { ask } from "./dialog.js";
import { field, h } from "./dom.js";
import { obstacle, sign } from "./passkey.js";
import { againButtons } from "./providers.js";

/** Resolves to whether the person has confirmed. */
export async function confirmation() {
  const { results, password: hasPassword, providers } = await get("/passkeys");
  const hasPasskey = results.length > 0 && !obstacle();
  const password = h("input", { type: "password", name: "confirm-password",
    autocomplete: "current-password" });
  const again = hasPasskey || hasPassword ? [] : againButtons(providers);
  const entry = field("Password", password);
  const instead = h("details", { id: "confirm-by-password" },
    h("summary", null, "Use your password instead"), entry);
  return new Promise(resolve => {
    let isGiven = false;
    const dialog = ask({
      title: "Confirm that it is you", confirm: (hasPasskey || hasPassword) && "Confirm",
      body: [
        h("p", null, "This cannot be undone, or it lets somebody log in. ",
          hasPasskey ? "Confirm with your passkey." : hasPassword ? "Type your password."
            : again.length ? "Log in again, then repeat what you did."
            : "You can confirm it only with a passkey, and you have none here. Log in with a "
              + "passkey, or with a new recovery code."),
        hasPassword && (hasPasskey ? instead : entry), again,
      ],
      async submit() {
        if (hasPasskey && !instead.open) {
          await post("/console/confirm", { passkey: await sign("confirm") });
        } else {
          await byPassword(password);
        }
        isGiven = true;
      },
    });
    dialog.addEventListener("close", () => resolve(isGiven));
  });
}

async function byPassword(input) {
  if (!input.value) throw new Error("Type your password.");
  try {
    await post("/console/confirm", { password: input.value });
  } catch (fault) {
    input.select();
    throw fault.code === 101 ? new Error("The password is wrong.") : fault;
  }
}
