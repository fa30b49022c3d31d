// The passkeys of the logged-in person.

import { makeRecoveryCode } from "./acts.js";
import { get, me, post, put, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, empty, facts, field, h, say } from "./dom.js";
import { loader } from "./loader.js";
import { obstacleNotice } from "./login.js";
import { makePasskey, obstacle } from "./passkey.js";
import { when } from "./time.js";
import { browserName } from "./words.js";

export function passkeysPage() {
  const place = h("div", { "aria-busy": "true" },
    h("p", { class: "loading" }, "Loading passkeys…"));
  const why = obstacle();
  const node = h("div", null,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Your passkeys"), !why
      && button("Add a passkey", () => add(load), { class: "primary", id: "add-passkey" })),
    h("p", { class: "note" }, "A passkey logs you in by the fingerprint, the face or the PIN of "
      + "your device. It stays on the device, or with the service that keeps your passwords."),
    why && obstacleNotice(why), place);

  const load = loader(place, async () => {
    const { results, recoveryCodeAt } = await get("/passkeys");
    return [h("div", { class: "grid" }, results.length ? results.map(one => card(one, load))
      : empty("No passkeys yet", why ? "You log in another way."
        : "Add one on each device that you use.")),
    h("section", { class: "over feed", "aria-labelledby": "h-recovery" },
      h("h2", { id: "h-recovery" }, "Recovery code"),
      h("p", { class: "note" }, "It logs you in once if your devices are lost. Keep it on paper. ",
        recoveryCodeAt ? ["Yours was made ", when(recoveryCodeAt), "."] : "You have none."),
      button(recoveryCodeAt ? "Make a new recovery code" : "Make a recovery code",
        () => makeRecoveryCode(me.user.username, true, load), { id: "make-recovery-code" }))];
  });

  load();
  return { title: "Your passkeys", node, close() {}, event(name) { if (name === "again") load(); } };
}

function card({ id, name, createdAt, lastUsedAt }, load) {
  const act = (words, does, kind) => button(words, does, {
    id: `${words.toLowerCase()}-${id}`, class: kind, "aria-label": `${words} ${name}` });
  return h("article", { class: "card", "data-passkey": name },
    h("div", { class: "head" }, h("h2", null, name)),
    facts([["Last used", when(lastUsedAt)], ["Added", when(createdAt)]]),
    h("div", { class: "actions" }, act("Rename", () => rename(id, name, load)),
      act("Remove", () => end(id, name, load), "danger")));
}

function nameField(value) {
  return h("input", { name: "passkey", value, maxlength: 64, autocomplete: "off" });
}

function typed(input) {
  const name = input.value.trim();
  if (!name) throw new Error("Type a name.");
  return name;
}

function add(load) {
  const input = nameField(browserName());
  ask({
    title: "Add a passkey", confirm: "Add",
    body: [field("Name", input, "To tell your passkeys apart."),
      h("p", null, "Then your device asks for your fingerprint, your face or your PIN.")],
    async submit() {
      const name = typed(input);
      await post("/passkeys", { name, credential: await makePasskey() });
      say(`${name} is added. From now on you can log in with it.`);
      load();
    },
  });
}

function rename(id, old, load) {
  const input = nameField(old);
  ask({
    title: `Rename ${old}`, confirm: "Rename", body: field("Name", input),
    async submit() {
      await put(`/passkeys/${id}`, { name: typed(input) });
      say("Renamed.");
      load();
    },
  });
}

function end(id, name, load) {
  ask({
    title: `Remove ${name}?`, confirm: "Remove", danger: true,
    body: h("p", null, "It logs nobody in any more. Delete it on your device, too."),
    async submit() {
      await remove(`/passkeys/${id}`);
      say(`${name} is removed.`);
      load();
    },
  });
}
