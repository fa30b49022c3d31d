// Users, for administrators.

import * as acts from "./acts.js";
import { get, info, me, post, put } from "./api.js";
import { ask } from "./dialog.js";
import { button, facts, field, h, pill, say } from "./dom.js";
import { loader } from "./loader.js";
import { parseTime, when } from "./time.js";

export function usersPage() {
  const place = h("div", { class: "grid", "aria-busy": "true" },
    h("p", { class: "loading" }, "Loading users…"));
  const node = h("div", null,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Users"),
      button("Add a user", () => addUser(load), { class: "primary", id: "add-user" })), place);

  const load = loader(place, async () => {
    const { results } = await get("/users");
    results.sort((a, b) => a.username.localeCompare(b.username));
    return results.map(user => card(user, load));
  });

  load();
  return { title: "Users", node, event(name) { if (name === "again") load(); }, close() {} };
}

function card(user, load) {
  const path = `/users/${encodeURIComponent(user.username)}`;
  const isMe = user.objectId === me.user.objectId;

  async function change(members, text) {
    try {
      await put(path, members);
      say(text);
    } catch (error) {
      say(error.message);
    }
    load();
  }

  function toggle() {
    if (!user.enabled) return change({ enabled: true }, `${user.username} may log in again.`);
    ask({
      title: `Disable ${user.username}?`, confirm: "Disable", danger: true,
      body: h("p", null, "The user cannot log in any more. All their sessions end, also those on boards."),
      async submit() {
        await put(path, { enabled: false });
        say(`${user.username} is disabled.`);
        load();
      },
    });
  }

  const claims = h("input", {
    type: "checkbox", id: `claim-${user.objectId}`, checked: user.mayClaim,
    onchange: () => change({ mayClaim: claims.checked },
      `${user.username} may ${claims.checked ? "" : "not "}pair boards.`),
  });
  return h("article", { class: "card", "data-user": user.username },
    h("div", { class: "head" }, h("h2", null, user.username),
      !user.enabled ? pill("bad", "Disabled") : isMe ? pill("good", "You")
        : user.isAdministrator ? pill("", "Administrator") : null),
    facts([["Role", user.isAdministrator ? "Administrator" : "User"],
      ["Since", when(parseTime(user.createdAt))]]),
    h("label", { class: "check" }, claims, "May pair boards"),
    user.mayClaim && h("p", { class: "note" }, "Without it, their open claims end."),
    h("div", { class: "actions" },
      info.login.passwords && button("Set password", () => acts.setPassword(user.username, isMe), {
        id: `password-${user.objectId}`, "aria-label": `Set the password of ${user.username}` }),
      !isMe && button("Recovery code", () => acts.makeRecoveryCode(user.username, false), {
        id: `recovery-${user.objectId}`,
        "aria-label": `Make a recovery code for ${user.username}` }),
      !isMe && button(user.enabled ? "Disable" : "Enable", toggle, {
        id: `enabled-${user.objectId}`, class: user.enabled ? "danger" : null,
        "aria-label": `${user.enabled ? "Disable" : "Enable"} ${user.username}` })));
}

function addUser(done) {
  const name = h("input", { name: "username", autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", maxlength: 256 });
  const password = h("input", { name: "password", type: "password", autocomplete: "new-password" });
  const claims = h("input", { type: "checkbox", checked: true });
  const rules = h("input", { type: "checkbox" });
  ask({
    title: "Add a user", confirm: "Add",
    body: [field("Name", name), info.login.passwords ? field("Password", password)
      : h("p", { class: "note" }, "Then a recovery code lets them in for the first time."),
      h("label", { class: "check" }, claims, "May pair boards"),
      h("label", { class: "check" }, rules, "Administrator")],
    async submit() {
      const username = name.value.trim(), { passwords } = info.login;
      if (!passwords) password.value = nobodyKnows();
      if (!username || !password.value) throw new Error("Type a name and a password.");
      await post("/users", {
        username, password: password.value, mayClaim: claims.checked,
        isAdministrator: rules.checked,
      });
      say(`${username} is added.`);
      done();
      // After this dialog has closed.
      if (!passwords) setTimeout(() => acts.makeRecoveryCode(username, false));
    },
  });
}

function nobodyKnows() { return [...crypto.getRandomValues(new Uint8Array(32))].join(""); }
