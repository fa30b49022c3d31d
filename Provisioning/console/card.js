// One board in the list.

import { me } from "./api.js";
import { battery } from "./charts.js";
import { checkbox, facts, h, pill, renew } from "./dom.js";
import { bringUp, noMinutes, putMinute } from "./live.js";
import { shareWords } from "./share.js";
import { number, phrase, t } from "./text.js";
import { lastData, nowMs, when } from "./time.js";
import { boardState, sessionState, shownEnd } from "./words.js";

export function boardCard(board, picked) {
  const state = h("span"), words = h("div"), charts = battery(), pick = h("div");
  const id = board.installationId, { live } = board;
  const minutes = live?.minutes ?? noMinutes(nowMs()), newest = live?.newest ?? [];
  let arrival = live?.arrival;
  const link = h("a", { href: `#/boards/${id}`, id: `b-${id}` });
  const node = h("article.card.board", h("div.head", h("h2", link), state), pick, words, charts);
  const self = { node, board, update, minute, tick, offer, focus: () => link.focus() };

  function update(next) {
    self.board = next;
    minutes.queue[59] = next.queue ?? minutes.queue[59];
    charts.draw(minutes);
    link.textContent = next.name || t("word.unnamed");
    renew(state, pill(...boardState(next)));
    const end = shownEnd(next), { labels, owner, ownerId } = next;
    renew(words, facts([
      [t("word.session"), [sessionState(next.sessionState ?? next.sessionEnd)[1],
        next.renewal && t("card.renewal"), end && phrase("card.ends", { when: when(end) })]],
      [t("word.lastData"), lastData(next)],
      newest.length > 0 && [t("word.reading"), [newest.map(reading).join(", "), " · ",
        when(newest[0].writtenMs / 1000)]],
      arrival?.missing > 0 && [t("word.arrived"),
        pill("bad", t("word.missing", { n: arrival.missing }))],
      labels?.length > 0 && [t("word.labels"), labels.join(", ")],
      ownerId !== me?.user.objectId && [t("word.owner"), [owner,
        next.shared && [" · ", shareWords(next.shared)]]],
    ]));
  }

  function minute(event) {
    putMinute(minutes, event);
    arrival = event.arrival ?? arrival;
    if (event.messages > 0) {
      const latest = Math.min(nowMs(), event.startMs + 60000);
      self.board.lastDataMs = Math.max(self.board.lastDataMs ?? 0, latest);
    }
    update(self.board);
  }

  function tick() { if (bringUp(minutes, nowMs())) charts.draw(minutes); }

  function offer() {
    renew(pick, picked.isOn() && h("label.check.pick", checkbox({
      checked: picked.has(id), id: `pick-${id}`,
      onchange: event => picked.set(id, event.target.checked),
    }), h("span", t("act.select"), h("span.hidden", ` ${self.board.name}`))));
  }

  bringUp(minutes, nowMs());
  update(board);
  offer();
  return self;
}

function reading({ field, number: value, text }) {
  return `${field} ${value === undefined ? text.slice(0, 40) : number(value)}`;
}
