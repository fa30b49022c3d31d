// Consumers: broker logins for other programs, which read the data of the user's boards.

import { get, post, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, choice, copy, empty, facts, field, h, pill, say } from "./dom.js";
import { loader } from "./loader.js";
import { list, t } from "./text.js";
import { inUnit, span, when } from "./time.js";

export function consumersPage() {
  const place = h("div.grid", { "aria-busy": "true" },
    h("p.loading", t("consumers.loading")));
  const node = h("div",
    h("div.title", h("h1", { tabindex: "-1" }, t("word.consumers")),
      button(t("consumers.add"), () => add(load), { class: "primary", id: "add-consumer" })),
    h("p.note",
      t("consumers.about")),
    place);

  const load = loader(place, async () => {
    const [{ results }, boards] = await Promise.all([get("/consumers"), get("/boards")]);
    const names = new Map(boards.results.map(b => [b.installationId, b.name]));
    return results.length ? results.map(consumer => card(consumer, names, load))
      : [empty(t("consumers.none"), t("consumers.noneText"))];
  });

  load();
  return {
    title: t("word.consumers"), node, event(name) { if (name === "again") load(); }, close() {},
  };
}

function card(consumer, names, load) {
  const { name, boards, classes, boardsLeftOut, connected } = consumer;
  // A board that is no longer the user's is not read any more.
  const present = boards?.filter(id => names.has(id)).map(id => names.get(id));
  const all = t(boardsLeftOut ? "consumers.allBut" : "consumers.allBoards", { n: boardsLeftOut });
  return h("article.card", { "data-consumer": name },
    h("div.head", h("h2", name)),
    facts([[t("consumers.connected"), connected === null || connected === undefined ? null
      : connected ? pill("good", t("consumers.yes")) : pill("", t("consumers.no"))],
    [t("word.boards"), present ? list(present) || t("consumers.noBoard") : all],
      [t("word.classes"), classes ? list(classes) : t("consumers.all")],
      [t("word.ends"), when(consumer.until, t("word.never"))],
      [t("word.made"), when(consumer.createdAt)],
      [t("word.clientID"), h("code", consumer.clientId)]]),
    h("div.actions", button(t("act.remove"), () => end(name, load), {
      id: `remove-${name}`, class: "danger",
      "aria-label": t("act.on", { act: t("act.remove"), name }) })));
}

function end(name, load) {
  ask({
    title: t("consumers.removeTitle", { name }), confirm: t("act.remove"), danger: true,
    body: h("p", t("consumers.removeText")),
    async submit() {
      const { brokerTold } = await remove(`/consumers/${encodeURIComponent(name)}`);
      say(t(brokerTold === false ? "consumers.notTold" : "consumers.removed", { name }));
      load();
    },
  });
}

const day = 86400;
const ends = [
  { value: "", label: t("word.never") },
  { value: String(day), label: inUnit(1, "day") }, { value: String(30 * day), label: span(30 * day) },
  { value: String(365 * day), label: inUnit(1, "year") },
];

async function add(load) {
  let own = [];
  try {
    own = (await get("/boards")).results;
  } catch (error) {
    return say(error.message);
  }
  const name = h("input", { name: "consumer", autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", maxlength: 64 });
  const classes = h("input", { name: "classes", autocomplete: "off", autocapitalize: "none",
    spellcheck: "false" });
  const boards = own.map(board => h("label.check",
    h("input", { type: "checkbox", name: "board", value: board.installationId }), board.name));
  ask({
    title: t("consumers.add"), confirm: t("act.add"),
    body: [field(t("word.name"), name, t("consumers.nameNote")),
      boards.length > 0 && h("fieldset.choice", h("legend", t("word.boards")),
        h("p.note", t("consumers.boardsNote")),
        boards),
      field(t("word.classes"), classes, t("consumers.classesNote")),
      choice(t("consumers.endsAfter"), "end", ends, "", null, "chips four")],
    async submit(form) {
      const order = { name: name.value.trim() };
      if (!order.name) throw new Error(t("word.typeName"));
      const chosen = [...form.querySelectorAll("[name=board]:checked")].map(box => box.value);
      if (chosen.length) order.boards = chosen;
      const named = classes.value.split(",").map(text => text.trim()).filter(Boolean);
      if (named.length) order.classes = named;
      const seconds = Number(form.elements.end.value);
      if (seconds) order.durationSeconds = seconds;
      const made = await post("/consumers", order);
      load();
      // After this dialog has closed.
      setTimeout(() => show(made));
    },
  });
}

/** The login, which the authority shows only now. */
function show(made) {
  const { uri, clientId, username, password, topics, fingerprint, ca, until } = made;
  const all = { uri, clientId, username, password, topics, ...(fingerprint && { fingerprint }),
    ...(ca && { ca }), ...(until && { until }) };
  const secret = h("input", { id: "consumer-password", value: password, readonly: true,
    autocomplete: "off", spellcheck: "false" });
  ask({
    title: t("consumers.loginOf", made), dismiss: t("act.close"),
    body: [
      h("p", t("consumers.password")),
      field(t("word.password"), secret),
      h("div.actions",
        button(t("consumers.copyPassword"), () => copy(password, secret), { id: "copy-password" }),
        button(t("consumers.copyAll"), () => copy(JSON.stringify(all, null, 2), secret),
          { id: "copy-all" })),
      facts([[t("consumers.address"), h("code", uri)], [t("word.clientID"), h("code", clientId)],
        [t("consumers.userName"), h("code", username)],
        [t("consumers.ca"), fingerprint && h("code", fingerprint)],
        [t("word.ends"), until && when(until)]]),
      h("p", t("consumers.topics")), h("pre", { id: "consumer-topics" }, topics.join("\n")),
    ],
  });
}
