// Boards that the user had, and whose data the user kept: a list, and a page of each.

import { ask } from "./dialog.js";
import { get, me, remove } from "./api.js";
import { button, facts, failure, fill, h, icon, say } from "./dom.js";
import { readings } from "./readings.js";
import { loader } from "./loader.js";
import { when } from "./time.js";

const nameOf = board => board.name ?? `Board ${board.installationId.slice(0, 8)}`;

/** The part of the list of boards; empty if there are none. */
export function formerBoards() {
  const node = h("div");
  const load = loader(node, async () => {
    const { results } = await get("/former-boards");
    return results.length ? [h("section", { "aria-labelledby": "h-former" },
      h("h2", { id: "h-former" }, "Data you kept"),
      h("p", { class: "note" }, "Of boards that are no longer yours. Only you can read it."),
      h("div", { class: "grid" }, results.map(board =>
        h("article", { class: "card former" },
          h("div", { class: "head" }, h("h3", null,
            h("a", { href: `#/former/${board.installationId}` }, nameOf(board)))),
          facts(spans(board))))))] : [];
  });
  return { node, load };
}

function spans(board) {
  return [["First record", when(board.firstRecord)], ["Last record", when(board.lastRecord)]];
}

export function formerPage(id, go) {
  const path = `/former-boards/${encodeURIComponent(id)}`;
  const heading = h("h1", { tabindex: "-1" }, "Former board");
  const notice = h("div"), about = h("div"), actions = h("div", { class: "actions" });
  const body = h("div", { class: "board-page" });
  const live = readings(path);
  const node = h("div", { "aria-busy": "true" },
    h("a", { class: "back", href: "#/boards" }, icon("back"), "Boards"),
    h("div", { class: "title" }, heading), notice, body);
  const page = { title: "Former board", node, event, close: live.close, state: live.state };
  const parts = [
    h("div", { class: "main" }, section("readings", "Readings", live.node)),
    h("div", { class: "side" }, section("state", "Data you kept",
      h("p", null, "This board is no longer yours, and sends you nothing. "
        + "Its data goes when it is as old as this authority keeps any."), about, actions)),
  ];

  async function load() {
    try {
      const board = await get(path);
      live.setBoard({ name: board.name ?? id });
      await live.load();
      const name = page.title = heading.textContent = nameOf(board);
      document.title = document.title.replace(/^[^·]*/, `${name} `);
      fill(notice);
      fill(about, facts([...spans(board), ["Installation", h("code", null, id)]]));
      fill(actions, button("Delete this data", () => end(path, name, go),
        { id: "delete-data", class: "danger" }));
      fill(body, parts);
    } catch (error) {
      if (me) fill(notice, failure(error.code === 101
        ? "You keep no data of this board." : error.message, load));
    }
    node.removeAttribute("aria-busy");
  }

  function event(name) { if (name === "again") load(); }

  load();
  return page;
}

function section(id, title, ...children) {
  return h("section", { class: `card ${id}`, "aria-labelledby": `h-${id}` },
    h("h2", { id: `h-${id}` }, title), children);
}

function end(path, name, go) {
  ask({
    title: `Delete the data of ${name}?`, confirm: "Delete", danger: true,
    body: h("p", null, "All that this authority keeps of it for you is deleted. "
      + "Nobody can bring it back."),
    async submit() {
      await remove(path);
      say(`The data of ${name} is deleted.`);
      go("#/boards");
    },
  });
}
