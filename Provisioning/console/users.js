// Users, for administrators.

import * as acts from "./acts.js";
import { get, info, me, post, put } from "./api.js";
import { ask } from "./dialog.js";
import { button, facts, field, h, pill, say } from "./dom.js";
import { loader } from "./loader.js";
import { t } from "./text.js";
import { parseTime, when } from "./time.js";

export function usersPage() {
  const place = h("div.grid", { "aria-busy": "true" },
    h("p.loading", t("users.loading")));
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("word.users")),
      button(t("act.addUser"), () => addUser(load), { class: "primary", id: "add-user" })), place);

  const load = loader(place, async () => {
    const { results } = await get("/users");
    results.sort((a, b) => a.username.localeCompare(b.username));
    return results.map(user => card(user, load));
  });

  load();
  return {
    title: t("word.users"), node, event(name) { if (name === "again") load(); }, close() {},
  };
}

function card(user, load) {
  const path = `/users/${encodeURIComponent(user.username)}`;
  const isMe = user.objectId === me.user.objectId, name = user.username;

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
    if (!user.enabled) return change({ enabled: true }, t("users.enabled", { name }));
    ask({
      title: t("users.disableTitle", { name }), confirm: t("act.disable"), danger: true,
      body: h("p", t("users.disableText")),
      async submit() {
        await put(path, { enabled: false });
        say(t("users.disabled", { name }));
        load();
      },
    });
  }

  const claims = h("input", {
    type: "checkbox", id: `claim-${user.objectId}`, checked: user.mayClaim,
    onchange: () => change({ mayClaim: claims.checked },
      t(claims.checked ? "users.mayPair" : "users.mayNotPair", { name })),
  });
  return h("article.card", { "data-user": user.username },
    h("div.head", h("h2", user.username),
      !user.enabled ? pill("bad", t("users.isDisabled")) : isMe ? pill("good", t("users.you"))
        : user.isAdministrator ? pill("", t("word.administrator")) : null),
    facts([[t("users.role"), user.isAdministrator ? t("word.administrator") : t("word.user")],
      [t("users.since"), when(parseTime(user.createdAt))]]),
    h("label.check", claims, t("word.mayPair")),
    user.mayClaim && h("p.note", t("users.claimsEnd")),
    h("div.actions",
      info.login.passwords && button(t("users.setPassword"), () => acts.setPassword(name, isMe), {
        id: `password-${user.objectId}`, "aria-label": t("acts.setPassword", { name }) }),
      !isMe && button(t("word.recoveryCode"), () => acts.makeRecoveryCode(user.username, false), {
        id: `recovery-${user.objectId}`,
        "aria-label": t("users.codeFor", { name }) }),
      !isMe && button(user.enabled ? t("act.disable") : t("act.enable"), toggle, {
        id: `enabled-${user.objectId}`, class: user.enabled ? "danger" : null,
        "aria-label": t("act.on",
          { act: t(user.enabled ? "act.disable" : "act.enable"), name }) })));
}

function addUser(done) {
  const name = h("input", { name: "username", autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", maxlength: 256 });
  const password = h("input", { name: "password", type: "password", autocomplete: "new-password" });
  const claims = h("input", { type: "checkbox", checked: true });
  const rules = h("input", { type: "checkbox" });
  ask({
    title: t("act.addUser"), confirm: t("act.add"),
    body: [field(t("word.name"), name), info.login.passwords ? field(t("word.password"), password)
      : h("p.note", t("users.thenCode")),
      h("label.check", claims, t("word.mayPair")),
      h("label.check", rules, t("word.administrator"))],
    async submit() {
      const username = name.value.trim(), { passwords } = info.login;
      if (!passwords) password.value = nobodyKnows();
      if (!username || !password.value) throw new Error(t("users.typeBoth"));
      await post("/users", {
        username, password: password.value, mayClaim: claims.checked,
        isAdministrator: rules.checked,
      });
      say(t("users.added", { name: username }));
      done();
      // After this dialog has closed.
      if (!passwords) setTimeout(() => acts.makeRecoveryCode(username, false));
    },
  });
}

function nobodyKnows() { return [...crypto.getRandomValues(new Uint8Array(32))].join(""); }
