// Commands to the apps of a board: a form, and the last ones with what became of them.

import { get, post } from "./api.js";
import { field, fill, h, pill, renew } from "./dom.js";
import { phrase, t } from "./text.js";
import { when } from "./time.js";

const shown = 5;
const kinds = { answered: "good", refused: "bad", expired: "bad" };

/**
 * The part of a board's page. `show(board)` shows it if the board's policy has an app that takes
 * commands, and `load()` reads the last ones while it is open.
 */
export function commandPart(path) {
  const app = h("select", { name: "app" });
  const text = h("textarea", { name: "command", rows: 3, spellcheck: "false",
    autocapitalize: "none", placeholder: '{"celsius":21}' });
  const said = h("div.answer", { role: "status" });
  const go = h("button.primary", { type: "submit" }, t("commands.send"));
  const last = h("ul.rows");
  const form = h("form", { novalidate: true }, field(t("word.app"), app),
    field(t("commands.command"), text, t("commands.note")), go, said);
  const node = h("details", { id: "commands", hidden: true },
    h("summary", t("commands.title")), form, last);
  // An ended command stays as it is.
  const ended = new Map();
  let sent = null, loads = 0;

  node.addEventListener("toggle", load);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    let command;
    try {
      command = JSON.parse(text.value);
    } catch {
      fill(said, h("p.error", t("commands.notJSON")));
      return text.focus();
    }
    go.disabled = true;
    try {
      sent = (await post(`${path}/commands`, { app: app.value, command })).id;
      fill(said, h("p", t("commands.sent")));
    } catch (error) {
      fill(said, h("p.error", error.message));
    }
    go.disabled = false;
    await load();
  });

  async function whole({ id, state }) {
    if (ended.has(id)) return ended.get(id);
    const one = await get(`${path}/commands/${id}`);
    if (kinds[state]) ended.set(id, one);
    return one;
  }

  async function load() {
    if (node.hidden || !node.open) return;
    const turn = ++loads;
    try {
      const { commands } = await get(`${path}/commands`);
      const all = await Promise.all(commands.slice(0, shown).map(whole));
      // A later read has begun, and knows more.
      if (turn !== loads) return;
      renew(last, all.map(row));
      const own = all.find(one => one.id === sent && kinds[one.state]);
      if (!own) return;
      sent = null;
      ended.set(own.id, own);
      fill(said, h("p", `${own.app}: `, outcome(own)));
    } catch { /* The next event or the user loads it again. */ }
  }

  function show({ policy, shared }) {
    const names = Object.entries(policy?.apps ?? {})
      .filter(([, limit]) => limit.commands).map(([name]) => name).sort();
    // Only its owner and administrators send commands.
    node.hidden = Boolean(shared) || !names.length;
    if (names.join() === [...app.options].map(one => one.value).join()) return;
    fill(app, names.map(name => h("option", { value: name }, name)));
  }

  return { node, show, load };
}

function row(one) {
  return h("li", h("div",
    h("p", h("span.what", one.app), " ", code(one, "command")),
    h("p.note", when(one.createdAt), one.user && ` · ${one.user}`),
    kinds[one.state] && h("p", outcome(one))),
  pill(kinds[one.state] ?? "", t(`commands.${one.state}`)));
}

/** What became of a command, in words or as the app answered. */
function outcome(one) {
  if (one.state === "answered") return code(one, "answer") ?? t("commands.answered");
  if (one.state === "expired")
    return t(`commands.${one.uncertain ? "perhaps" : one.delivered ? "noAnswer" : "away"}`);
  const { error, code: number, rule, field: name } = one.error ?? {};
  return phrase("commands.why", { error, number: `${number}`,
    rule: [rule, name].filter(Boolean).join(", ") });
}

function code(one, name) {
  return name in one ? h("code", JSON.stringify(one[name])) : null;
}
