// Boards that the user had, and whose data the user kept: a list, and a page of each.

import { get, me, remove } from "./api.js";
import { askTo } from "./dialog.js";
import { back, button, facts, failure, fill, h, section } from "./dom.js";
import { loader } from "./loader.js";
import { readings } from "./readings.js";
import { t } from "./text.js";
import { when } from "./time.js";

const nameOf = board => board.name ?? t("former.board", { id: board.installationId.slice(0, 8) });
const spans = board =>
  [[t("former.first"), when(board.firstRecord)], [t("former.last"), when(board.lastRecord)]];

export function formerBoards() {
  const node = h("div");
  const load = loader(node, async () => {
    const { results } = await get("/former-boards");
    return results.length > 0 && section("", "former", t("word.dataKept"),
      h("p.note", t("former.note")), h("div.grid", results.map(board =>
        h("article.card.former", h("div.head", h("h3",
          h("a", { href: `#/former/${board.installationId}` }, nameOf(board)))),
        facts(spans(board))))));
  });
  return { node, load };
}

export function formerPage(id, go) {
  const path = `/former-boards/${encodeURIComponent(id)}`, live = readings(path);
  const heading = h("h1", { tabindex: "-1" }, t("former.title")), about = h("div");
  const notice = h("div"), actions = h("div.actions"), body = h("div.board-page");
  const node = h("div", { "aria-busy": "true" }, back(), h("div.title", heading), notice, body);
  const page = { title: t("former.title"), node, load, close: live.close, state: live.state };
  const parts = [
    h("div.main", section(".card.readings", "readings", t("word.readings"), live.node)),
    h("div.side", section(".card.state", "state", t("word.dataKept"),
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
        "#delete-data.danger"));
      fill(body, parts);
    } catch (error) {
      if (me) fill(notice, failure(error.code === 101 ? t("former.none") : error.message, load));
    }
    node.removeAttribute("aria-busy");
  }

  load();
  return page;
}

function end(path, name, go) {
  askTo("former.end", { name }, async () => { await remove(path); }, () => go("#/boards"));
}
