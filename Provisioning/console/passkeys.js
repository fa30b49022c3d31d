// The passkeys of the logged-in person.

import { makeRecoveryCode, rename, typed } from "./acts.js";
import { get, me, post, remove } from "./api.js";
import { askTo } from "./dialog.js";
import { button, empty, facts, field, h, section } from "./dom.js";
import { listPage } from "./loader.js";
import { obstacleNotice } from "./login.js";
import { makePasskey, obstacle } from "./passkey.js";
import { phrase, t } from "./text.js";
import { when } from "./time.js";
import { browserName } from "./words.js";

export function makePage() {
  const why = obstacle();
  return listPage(t("word.passkeys"), async load => {
    const { results, recoveryCodeAt: at } = await get("/passkeys");
    return [h("div.grid", results.length ? results.map(one => card(one, load))
      : empty(t("passkeys.none"), t(why ? "passkeys.otherWay" : "passkeys.addOne"))),
    section(".over.feed", "recovery", t("word.recoveryCode"), h("p.note", t("passkeys.paper"), " ",
      at ? phrase("passkeys.codeMade", { when: when(at) }) : t("passkeys.noCode")),
    button(t(at ? "passkeys.newCode" : "passkeys.makeCode"),
      () => makeRecoveryCode(me.user.username, true, load), "#make-recovery-code"))];
  }, {
    tools: load => !why
      && button(t("act.addPasskey"), () => add(load), "#add-passkey.primary"),
    about: [h("p.note", t("passkeys.about")), why && obstacleNotice(why)],
  });
}

function card({ id, name, createdAt, lastUsedAt }, load) {
  const act = (what, does, kind) => button(t(`act.${what}`), does, {
    id: `${what}-${id}`, class: kind, "aria-label": t("act.on", { act: t(`act.${what}`), name }) });
  const path = `/passkeys/${id}`;
  return h("article.card", { "data-passkey": name }, h("div.head", h("h2", name)),
    facts([[t("passkeys.lastUsed"), when(lastUsedAt)], [t("passkeys.addedAt"), when(createdAt)]]),
    h("div.actions",
      act("rename", () => rename("passkeys.rename", path, name, load, "passkey")),
      act("remove", () => askTo("passkeys.remove", { name },
        async () => { await remove(path); }, load), "danger")));
}

function add(load) {
  const input = h("input", { name: "passkey", value: browserName(), maxlength: 64,
    autocomplete: "off" });
  askTo("passkeys.add", {}, async () => {
    const name = typed(input);
    await post("/passkeys", { name, credential: await makePasskey() });
    return t("passkeys.added", { name });
  }, load, { danger: false, body: [field(t("word.name"), input, t("passkeys.nameNote")),
    h("p", t("passkeys.then"))] });
}
