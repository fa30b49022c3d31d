// Boards that the user had, and whose data the user kept: a list, and a page of each.

import { ask } from "./dialog.js";
import { get, me, remove } from "./api.js";
import { button, facts, failure, fill, h, icon, say } from "./dom.js";
import { readings } from "./readings.js";
import { loader } from "./loader.js";
import { t } from "./text.js";
import { when } from "./time.js";

const nameOf = board => board.name ?? t("former.board", { id: board.installationId.slice(0, 8) });

/** The part of the list of boards; empty if there are none. */
export function formerBoards() {
  const node = h("div");
  const load = loader(node, async () => {
    const { results } = await get("/former-boards");
    return results.length ? [h("section", { "aria-labelledby": "h-former" },
      h("h2", { id: "h-former" }, t("word.dataKept")),
      h("p.note", t("former.note")),
      h("div.grid", results.map(board =>
        h("article.card.former",
          h("div.head", h("h3",
            h("a", { href: `#/former/${board.installationId}` }, nameOf(board)))),
          facts(spans(board))))))] : [];
  });
  return { node, load };
}

function spans(board) {
  return [[t("former.first"), when(board.firstRecord)], [t("former.last"), when(board.lastRecord)]];
}

export function formerPage(id, go) {
  const path = `/former-boards/${encodeURIComponent(id)}`;
  const heading = h("h1", { tabindex: "-1" }, t("former.title"));
  const notice = h("div"), about = h("div"), actions = h("div.actions");
  const body = h("div.board-page");
  const live = readings(path);
  const node = h("div", { "aria-busy": "true" },
    h("a.back", { href: "#/boards" }, icon("back"), t("word.boards")),
    h("div.title", heading), notice, body);
  const page = { title: t("former.title"), node, event, close: live.close, state: live.state };
  const parts = [
    h("div.main", section("readings", t("word.readings"), live.node)),
    h("div.side", section("state", t("word.dataKept"),
      h("p", t("former.text")), about, actions)),
  ];

  async function load() {
    try {
      const board = await get(path);
      live.setBoard({ name: board.name ?? id });
      await live.load();
      const name = page.title = heading.textContent = nameOf(board);
      document.title = document.title.replace(/^[^·]*/, `${name} `);
      fill(notice);
      fill(about, facts([...spans(board), [t("word.installation"), h("code", id)]]));
      fill(actions, button(t("former.delete"), () => end(path, name, go),
        { id: "delete-data", class: "danger" }));
      fill(body, parts);
    } catch (error) {
      if (me) fill(notice, failure(error.code === 101
        ? t("former.none") : error.message, load));
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
    title: t("former.deleteTitle", { name }), confirm: t("act.delete"), danger: true,
    body: h("p", t("former.deleteText")),
    async submit() {
      await remove(path);
      say(t("former.deleted", { name }));
      go("#/boards");
    },
  });
}
