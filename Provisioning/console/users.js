// Users, for administrators.

import * as acts from "./acts.js";
import { get, info, me, post, put } from "./api.js";
import { askTo } from "./dialog.js";
import { button, checkbox, entry, facts, field, h, pill, say } from "./dom.js";
import { listPage } from "./loader.js";
import { t } from "./text.js";
import { parseTime, when } from "./time.js";

export function makePage() {
  return listPage(t("word.users"), async load => {
    const { results } = await get("/users");
    results.sort((a, b) => a.username.localeCompare(b.username));
    return results.map(user => card(user, load));
  }, {
    selector: "div.grid",
    tools: load => button(t("act.addUser"), () => addUser(load),
      "#add-user.primary"),
  });
}

function card(user, load) {
  const { objectId: id, username: name, enabled, isAdministrator, mayClaim } = user;
  const path = `/users/${encodeURIComponent(name)}`, isMe = id === me.user.objectId;

  async function change(members, key) {
    await put(path, members).then(() => say(t(key, { name })), error => say(error.message));
    load();
  }

  function toggle() {
    if (!enabled) return change({ enabled: true }, "users.enabled");
    askTo("users.disable", { name }, async () => {
      await put(path, { enabled: false });
    }, load);
  }

  const claims = checkbox({
    id: `claim-${id}`, checked: mayClaim, onchange: () => change({ mayClaim: claims.checked },
      claims.checked ? "users.mayPair" : "users.mayNotPair"),
  });
  const toggling = t(enabled ? "act.disable" : "act.enable");
  return h("article.card", { "data-user": name },
    h("div.head", h("h2", name), !enabled ? pill("bad", t("users.isDisabled"))
      : isMe ? pill("good", t("users.you")) : isAdministrator && pill("", t("word.administrator"))),
    facts([[t("users.role"), t(isAdministrator ? "word.administrator" : "word.user")],
      [t("users.since"), when(parseTime(user.createdAt))]]),
    h("label.check", claims, t("word.mayPair")), mayClaim && h("p.note", t("users.claimsEnd")),
    h("div.actions",
      info.login.passwords && button(t("users.setPassword"), () => acts.setPassword(name, isMe),
        { id: `password-${id}`, "aria-label": t("users.passwordOf", { name }) }),
      !isMe && [
        button(t("word.recoveryCode"), () => acts.makeRecoveryCode(name, false),
          { id: `recovery-${id}`, "aria-label": t("users.codeFor", { name }) }),
        button(toggling, toggle, { id: `enabled-${id}`, class: enabled && "danger",
          "aria-label": t("act.on", { act: toggling, name }) })]));
}

function addUser(load) {
  const name = entry({ name: "username", maxlength: 256 });
  const password = h("input", { name: "password", type: "password", autocomplete: "new-password" });
  const claims = checkbox({ checked: true }), rules = checkbox(), { passwords } = info.login;
  askTo("users.add", {}, async () => {
    const username = name.value.trim();
    if (!passwords) password.value = nobodyKnows();
    if (!username || !password.value) throw new Error(t("users.typeBoth"));
    await post("/users", { username, password: password.value, mayClaim: claims.checked,
      isAdministrator: rules.checked });
    // After this dialog has closed.
    if (!passwords) setTimeout(() => acts.makeRecoveryCode(username, false));
    return t("users.added", { name: username });
  }, load, { danger: false, body: [field(t("word.name"), name),
    passwords ? field(t("word.password"), password) : h("p.note", t("users.thenCode")),
    h("label.check", claims, t("word.mayPair")),
    h("label.check", rules, t("word.administrator"))] });
}

function nobodyKnows() { return [...crypto.getRandomValues(new Uint8Array(32))].join(""); }
