// Consumers: broker logins for other programs, which read the data of the user's boards.

import { typed } from "./acts.js";
import { get, post, remove } from "./api.js";
import { ask, askTo } from "./dialog.js";
import { button, checkbox, choice, copy, empty, entry, facts, field, h, pill, say } from "./dom.js";
import { listPage } from "./loader.js";
import { ends } from "./share.js";
import { list, t } from "./text.js";
import { when } from "./time.js";

export function makePage() {
  return listPage(t("word.consumers"), async load => {
    const [{ results }, boards] = await Promise.all([get("/consumers"), get("/boards")]);
    const names = new Map(boards.results.map(b => [b.installationId, b.name]));
    return results.length ? results.map(consumer => card(consumer, names, load))
      : empty(t("consumers.none"), t("consumers.noneText"));
  }, {
    selector: "div.grid", about: h("p.note", t("consumers.about")),
    tools: load => button(t("act.addConsumer"), () => add(load),
      "#add-consumer.primary"),
  });
}

function card({ name, boards, classes, boardsLeftOut: n, connected, ...rest }, names, load) {
  // A board that is no longer the user's is not read any more.
  const present = boards?.filter(id => names.has(id)).map(id => names.get(id));
  return h("article.card", { "data-consumer": name }, h("div.head", h("h2", name)),
    facts([[t("consumers.connected"), typeof connected === "boolean"
      && (connected ? pill("good", t("consumers.yes")) : pill("", t("consumers.no")))],
    [t("word.boards"), present ? list(present) || t("consumers.noBoard")
      : t(n ? "consumers.allBut" : "consumers.allBoards", { n })],
    [t("word.classes"), classes ? list(classes) : t("consumers.all")],
    [t("word.ends"), when(rest.until, t("word.never"))], [t("word.made"), when(rest.createdAt)],
    [t("word.clientID"), h("code", rest.clientId)]]),
    h("div.actions", button(t("act.remove"), () => end(name, load), { id: `remove-${name}`,
      class: "danger", "aria-label": t("act.on", { act: t("act.remove"), name }) })));
}

function end(name, load) {
  askTo("consumers.remove", { name }, async () => {
    const { brokerTold } = await remove(`/consumers/${encodeURIComponent(name)}`);
    return brokerTold === false && t("consumers.notTold", { name });
  }, load);
}

async function add(load) {
  const own = await get("/boards").catch(error => say(error.message));
  if (!own) return;
  const name = entry({ name: "consumer", maxlength: 64 }), classes = entry({ name: "classes" });
  const boards = own.results.filter(board => !board.shared).map(board => h("label.check",
    checkbox({ name: "board", value: board.installationId }), board.name));
  ask({
    title: t("act.addConsumer"), confirm: t("act.add"),
    body: [field(t("word.name"), name, t("consumers.nameNote")),
      boards.length > 0 && h("fieldset.choice", h("legend", t("word.boards")),
        h("p.note", t("consumers.boardsNote")), boards),
      field(t("word.classes"), classes, t("consumers.classesNote")),
      choice(t("consumers.endsAfter"), "end", ends, "", null, "chips four")],
    async submit(form) {
      const order = { name: typed(name) };
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
function show({ name, uri, clientId, username, password, topics, fingerprint, ca, until }) {
  // JSON leaves out what is undefined.
  const all = JSON.stringify({ uri, clientId, username, password, topics, ca: ca || undefined,
    fingerprint: fingerprint || undefined, until: until || undefined }, null, 2);
  const secret = entry({ id: "consumer-password", value: password, readonly: true });
  const code = text => text && h("code", text);
  ask({
    title: t("consumers.loginOf", { name }), dismiss: t("act.close"),
    body: [
      h("p", t("consumers.password")), field(t("word.password"), secret),
      h("div.actions",
        button(t("consumers.copyPassword"), () => copy(password, secret), "#copy-password"),
        button(t("consumers.copyAll"), () => copy(all, secret), "#copy-all")),
      facts([[t("consumers.address"), code(uri)], [t("word.clientID"), code(clientId)],
        [t("consumers.userName"), code(username)], ["CA", code(fingerprint)],
        [t("word.ends"), until && when(until)]]),
      h("p", t("consumers.topics")), h("pre#consumer-topics", topics.join("\n")),
    ],
  });
}
