// Prepared claims: the boards that ask to join, and the list of all.

import { me, post, remove } from "./api.js";
import { askTo } from "./dialog.js";
import { button, checkbox, h, pill, renew } from "./dom.js";
import { forEach } from "./several.js";
import { phrase, t } from "./text.js";
import { when } from "./time.js";

const most = 100, open = ["asking", "prepared"], order = [...open, "accepted", "expired"];
const kinds = { asking: "warn", accepted: "good" };

/** Two parts of the list of boards: `asking` on top, `all` below. `load` reads the claims again. */
export function preparedClaims(load) {
  const chosen = new Set(), rows = h("ul.rows.claims"), heading = h("h2"), actions = h("div.actions");
  const asking = h("section.notice.wait.joins", { "aria-labelledby": "h-joins", hidden: true },
    heading, h("p", t("prepared.compare")), rows, actions);
  heading.id = "h-joins";
  const summary = h("summary"), list = h("ul.rows.claims");
  const all = h("details#prepared", { hidden: true }, summary, h("p.note", t("prepared.about")),
    list);
  let waiting = [];

  function show(claims) {
    waiting = claims.filter(claim => claim.state === "asking");
    const ids = new Set(waiting.filter(isSafe).map(claim => claim.id));
    for (const id of chosen) if (!ids.has(id)) chosen.delete(id);
    asking.hidden = !waiting.length;
    heading.textContent = t("prepared.asks", { n: waiting.length });
    renew(rows, waiting.slice(0, most).map(joining), rest(waiting));
    showActions();
    const sorted = [...claims].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
    all.hidden = !claims.length;
    summary.textContent = t("prepared.title", { n: claims.length });
    renew(list, sorted.slice(0, most).map(one => row(one, load)), rest(sorted));
  }

  function showActions() {
    const safe = waiting.filter(isSafe), picked = safe.filter(claim => chosen.has(claim.id));
    renew(actions, safe.length > 1 && button(t("prepared.acceptAll"), () => accept(
      waiting.filter(isSafe), load), "#accept-all.primary"),
    picked.length > 0 && button(t("prepared.acceptSelected", { n: picked.length }), () => accept(
      waiting.filter(claim => chosen.has(claim.id)), load), "#accept-selected"));
  }

  function joining(claim) {
    const { id, name } = claim, canJoin = isSafe(claim);
    const box = canJoin && checkbox({ id: `join-${id}`, checked: chosen.has(id), onchange(event) {
      chosen[event.target.checked ? "add" : "delete"](id);
      showActions();
    } });
    return h("li", { "data-claim": id }, h("div", box ? h("label.check", box, title(claim))
      : title(claim), h("p.note", phrase("prepared.asked", { when: when(claim.board.askedAt) }),
      byOther(claim))),
    canJoin ? act("prepared.join", claim, () => accept(
      waiting.filter(one => one.id === id), load), `accept-${id}`) : endButton(claim, load, "stop"),
    !canJoin && h("p.note", pill("bad", t("prepared.second")), " ", t("prepared.secondText")));
  }

  return { asking, all, show };
}

function title({ name, board }) {
  return h("span", h("span.what", name), " ", h("code", board.fingerprint));
}

/** A claim that two boards came with is accepted for none. */
function isSafe(claim) { return !claim.secondAt; }

function rest(claims) {
  return claims.length > most && h("li", t("alerts.more", { n: claims.length - most }));
}

function act(key, { name }, does, id) {
  return button(t(key), does, { id, "aria-label": t("act.on", { act: t(key), name }) });
}

function endButton(claim, load, stem) {
  return act("prepared.stop", claim, () => askTo("prepared.end", claim, async (_, text) => {
    const { brokerTold } = await remove(`/prepared-claims/${claim.id}`);
    return brokerTold === false && t("acts.notTold", { text });
  }, load), `${stem}-${claim.id}`);
}

function byOther({ owner }) { return owner !== me?.user.username && [" · ", owner]; }

function row(claim, load) {
  const { id, name, state, board, secondAt, createdAt, expiresAt } = claim;
  return h("li", { "data-prepared": id }, h("div", h("p", h("span.what", name), " ",
    pill(kinds[state] ?? "", t(`prepared.${state}`)), " ", board && h("code", board.fingerprint)),
  h("p.note", phrase("prepared.made", { when: when(createdAt) }), open.includes(state)
    && [" · ", phrase("share.serves", { when: when(expiresAt) })], byOther(claim))),
  endButton(claim, load, "end"),
  secondAt && h("p.note", pill("bad", t("prepared.second")), " ", when(secondAt)));
}

function accept(claims, load) {
  const boards = claims.map(claim =>
    ({ ...claim, name: `${claim.name} ${claim.board.fingerprint}` }));
  forEach(boards, load, {
    key: "prepared.accept", confirm: "prepared.join", body: h("p", t("prepared.acceptText")),
    async act({ id }) {
      await post(`/prepared-claims/${id}/accept`);
      return t("prepared.taken");
    },
  });
}
