// The passkeys of the logged-in person.

import { makeRecoveryCode } from "./acts.js";
import { get, me, post, put, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, empty, facts, field, h, say } from "./dom.js";
import { loader } from "./loader.js";
import { obstacleNotice } from "./login.js";
import { makePasskey, obstacle } from "./passkey.js";
import { phrase, t } from "./text.js";
import { when } from "./time.js";
import { browserName } from "./words.js";

export function passkeysPage() {
  const place = h("div", { "aria-busy": "true" },
    h("p.loading", t("passkeys.loading")));
  const why = obstacle();
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("word.passkeys")), !why
      && button(t("passkeys.add"), () => add(load), { class: "primary", id: "add-passkey" })),
    h("p.note", t("passkeys.about")),
    why && obstacleNotice(why), place);

  const load = loader(place, async () => {
    const { results, recoveryCodeAt } = await get("/passkeys");
    return [h("div.grid", results.length ? results.map(one => card(one, load))
      : empty(t("passkeys.none"), why ? t("passkeys.otherWay")
        : t("passkeys.addOne"))),
    h("section.over.feed", { "aria-labelledby": "h-recovery" },
      h("h2", { id: "h-recovery" }, t("word.recoveryCode")),
      h("p.note", t("passkeys.paper"), " ",
        recoveryCodeAt ? phrase("passkeys.codeMade", { when: when(recoveryCodeAt) })
          : t("passkeys.noCode")),
      button(recoveryCodeAt ? t("passkeys.newCode") : t("passkeys.makeCode"),
        () => makeRecoveryCode(me.user.username, true, load), { id: "make-recovery-code" }))];
  });

  load();
  return {
    title: t("word.passkeys"), node, event(name) { if (name === "again") load(); }, close() {},
  };
}

function card({ id, name, createdAt, lastUsedAt }, load) {
  const act = (what, does, kind) => button(t(`act.${what}`), does, {
    id: `${what}-${id}`, class: kind, "aria-label": t("act.on", { act: t(`act.${what}`), name }) });
  return h("article.card", { "data-passkey": name },
    h("div.head", h("h2", name)),
    facts([[t("passkeys.lastUsed"), when(lastUsedAt)], [t("passkeys.added2"), when(createdAt)]]),
    h("div.actions", act("rename", () => rename(id, name, load)),
      act("remove", () => end(id, name, load), "danger")));
}

function nameField(value) {
  return h("input", { name: "passkey", value, maxlength: 64, autocomplete: "off" });
}

function typed(input) {
  const name = input.value.trim();
  if (!name) throw new Error(t("word.typeName"));
  return name;
}

function add(load) {
  const input = nameField(browserName());
  ask({
    title: t("passkeys.add"), confirm: t("act.add"),
    body: [field(t("word.name"), input, t("passkeys.nameNote")),
      h("p", t("passkeys.then"))],
    async submit() {
      const name = typed(input);
      await post("/passkeys", { name, credential: await makePasskey() });
      say(t("passkeys.added", { name }));
      load();
    },
  });
}

function rename(id, old, load) {
  const input = nameField(old);
  ask({
    title: t("passkeys.renameTitle", { name: old }), confirm: t("act.rename"),
    body: field(t("word.name"), input),
    async submit() {
      await put(`/passkeys/${id}`, { name: typed(input) });
      say(t("word.renamed"));
      load();
    },
  });
}

function end(id, name, load) {
  ask({
    title: t("consumers.removeTitle", { name }), confirm: t("act.remove"), danger: true,
    body: h("p", t("passkeys.removeText")),
    async submit() {
      await remove(`/passkeys/${id}`);
      say(t("consumers.removed", { name }));
      load();
    },
  });
}
