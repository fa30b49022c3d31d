// The dialog before what cannot be undone: it asks for the person's passkey or password.

import { get, post } from "./api.js";
import { ask } from "./dialog.js";
import { field, h } from "./dom.js";
import { obstacle, sign } from "./passkey.js";
import { againButtons } from "./providers.js";
import { t } from "./text.js";

/** Resolves to whether the person has confirmed. */
export async function confirmation() {
  const { results, password: hasPassword, providers } = await get("/passkeys");
  const hasPasskey = results.length > 0 && !obstacle();
  const password = h("input", { type: "password", name: "confirm-password",
    autocomplete: "current-password" });
  const again = hasPasskey || hasPassword ? [] : againButtons(providers);
  const entry = field(t("word.password"), password);
  const instead = hasPasskey && hasPassword
    && h("details#confirm-by-password", h("summary", t("confirm.instead")), entry);
  return new Promise(resolve => {
    let isGiven = false;
    const dialog = ask({
      title: t("confirm.title"), confirm: (hasPasskey || hasPassword) && t("act.confirm"),
      body: [
        h("p", t("confirm.text"), " ",
          t(hasPasskey ? "confirm.passkey" : hasPassword ? "word.typePassword"
            : again.length ? "confirm.again" : "confirm.only")),
        instead || hasPassword && entry, again,
      ],
      async submit() {
        await (hasPasskey && !instead?.open
          ? post("/console/confirm", { passkey: await sign("confirm") }) : byPassword(password));
        isGiven = true;
      },
    });
    dialog.addEventListener("close", () => resolve(isGiven));
  });
}

async function byPassword(input) {
  if (!input.value) throw new Error(t("word.typePassword"));
  try {
    await post("/console/confirm", { password: input.value });
  } catch (fault) {
    input.select();
    throw fault.code === 101 ? new Error(t("confirm.wrong")) : fault;
  }
}
