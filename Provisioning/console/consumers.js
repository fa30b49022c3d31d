// Consumers: broker logins for other programs, which read the data of the user's boards.

import { get, post, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, choice, copy, empty, facts, field, h, pill, say } from "./dom.js";
import { loader } from "./loader.js";
import { when } from "./time.js";
import { list } from "./words.js";

export function consumersPage() {
  const place = h("div", { class: "grid", "aria-busy": "true" },
    h("p", { class: "loading" }, "Loading consumers…"));
  const node = h("div", null,
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Consumers"),
      button("Add a consumer", () => add(load), { class: "primary", id: "add-consumer" })),
    h("p", { class: "note" }, "A consumer is a login at the broker for another program, such as "
      + "Home Assistant, Node-RED or Telegraf. It reads your boards' data and changes nothing."),
    place);

  const load = loader(place, async () => {
    const [{ results }, boards] = await Promise.all([get("/consumers"), get("/boards")]);
    const names = new Map(boards.results.map(b => [b.installationId, b.name]));
    return results.length ? results.map(consumer => card(consumer, names, load))
      : [empty("No consumers", "Add one to get your data into another program.")];
  });

  load();
  return { title: "Consumers", node, event(name) { if (name === "again") load(); }, close() {} };
}

function card(consumer, names, load) {
  const { name, boards, classes, boardsLeftOut, connected } = consumer;
  // A board that is no longer the user's is not read any more.
  const present = boards?.filter(id => names.has(id)).map(id => names.get(id));
  const all = boardsLeftOut ? `All but ${boardsLeftOut}` : "All, also later ones";
  return h("article", { class: "card", "data-consumer": name },
    h("div", { class: "head" }, h("h2", null, name)),
    facts([["Connected", connected === null || connected === undefined ? null
      : connected ? pill("good", "Yes") : pill("", "No")],
    ["Boards", present ? list(present) || "None" : all],
      ["Classes", classes ? list(classes) : "All"],
      ["Ends", when(consumer.until, "Never")], ["Made", when(consumer.createdAt)],
      ["Client id", h("code", null, consumer.clientId)]]),
    h("div", { class: "actions" }, button("Remove", () => end(name, load), {
      id: `remove-${name}`, class: "danger", "aria-label": `Remove ${name}` })));
}

function end(name, load) {
  ask({
    title: `Remove ${name}?`, confirm: "Remove", danger: true,
    body: h("p", null, "Its program is cut off at once, and cannot log in again."),
    async submit() {
      const { brokerTold } = await remove(`/consumers/${encodeURIComponent(name)}`);
      say(brokerTold === false
        ? `${name} is removed, but the broker does not answer: the program may stay connected.`
        : `${name} is removed.`);
      load();
    },
  });
}

const day = 86400;
const ends = [
  { value: "", label: "Never" }, { value: String(day), label: "1 day" },
  { value: String(30 * day), label: "30 days" }, { value: String(365 * day), label: "1 year" },
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
  const boards = own.map(board => h("label", { class: "check" },
    h("input", { type: "checkbox", name: "board", value: board.installationId }), board.name));
  ask({
    title: "Add a consumer", confirm: "Add",
    body: [field("Name", name, "Letters, digits and . _ -"),
      boards.length > 0 && h("fieldset", { class: "choice" }, h("legend", null, "Boards"),
        h("p", { class: "note" }, "Choose none to read all, also those that you pair later."),
        boards),
      field("Classes", classes, "Such as Reading, Alarm. Empty: all."),
      choice("Ends after", "end", ends, "", null, "chips four")],
    async submit(form) {
      const order = { name: name.value.trim() };
      if (!order.name) throw new Error("Type a name.");
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
    title: `The login of ${made.name}`, dismiss: "Close",
    body: [
      h("p", null, "The password is shown only now. Copy it into your program."),
      field("Password", secret),
      h("div", { class: "actions" },
        button("Copy the password", () => copy(password, secret), { id: "copy-password" }),
        button("Copy all as JSON", () => copy(JSON.stringify(all, null, 2), secret),
          { id: "copy-all" })),
      facts([["Address", h("code", null, uri)], ["Client id", h("code", null, clientId)],
        ["User name", h("code", null, username)],
        ["CA", fingerprint && h("code", null, fingerprint)], ["Ends", until && when(until)]]),
      h("p", null, "Topics"), h("pre", { id: "consumer-topics" }, topics.join("\n")),
    ],
  });
}
