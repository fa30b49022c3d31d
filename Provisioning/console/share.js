// The shares of a board: people, rights and invitations.

import { get, post, remove } from "./api.js";
import { ask, askTo } from "./dialog.js";
import { button, choice, copy, entry, field, h } from "./dom.js";
import { loader } from "./loader.js";
import { list, phrase, t } from "./text.js";
import { inUnit, span, when } from "./time.js";

/** What a person may do: "See: Reading, until …". */
export function shareWords({ right, classes, until }) {
  return [t(`share.${right}`), classes && `: ${list(classes)}`,
    until && [", ", phrase("share.until", { when: when(until) })]];
}

/** The part of a board's page for its owner: loaded when it is unfolded. */
export function sharedWith(board) {
  const path = `/boards/${board.installationId}`, rows = h("ul.rows");
  const load = loader(rows, async () => {
    const { shares, invitations } = await get(`${path}/shares`);
    const all = [...shares.map(one => row(one, `${path}/shares/${one.id}`, one.user, load)),
      ...invitations.map(one => row(one, `${path}/invitations/${one.id}`,
        t("share.open"), load))];
    return all.length ? all : h("li", t("share.none"));
  });
  const refresh = () => node.open && load();
  const node = h("details#shared", { ontoggle: refresh }, h("summary", t("share.title")), rows,
    h("div.actions", button(t("share.invite"), () => invite(board, load), "#invite")));
  return { node, refresh };
}

function row(one, path, name, load) {
  return h("li", h("p", h("span.what", name), ": ", shareWords(one),
    one.expiresAt && [" ", phrase("share.serves", { when: when(one.expiresAt) })]),
  button(t("act.remove"), () => askTo("share.remove", { name },
    async () => { await remove(path); }, load), {
    id: `remove-${one.id}`, "aria-label": t("act.on", { act: t("act.remove"), name }) }));
}

export function leaveBoard({ name, installationId, shared }, done) {
  askTo("share.leave", { name }, async () => {
    await remove(`/boards/${installationId}/shares/${shared.id}`);
  }, done);
}

const day = 86400;
/** The choices of an end, in seconds from now. */
export const ends = [["", t("word.never")], [day, inUnit(1, "day")], [30 * day, span(30 * day)],
  [365 * day, inUnit(1, "year")]].map(([value, label]) => ({ value: String(value), label }));

function invite({ name, installationId }, load) {
  const classes = entry({ name: "classes" });
  const rights = ["see", "manage"].map(value => ({
    value, label: t(`share.${value}`), note: t(`share.${value}Note`) }));
  ask({
    title: t("share.inviteTo", { name }), confirm: t("share.invite"),
    body: [choice(t("share.right"), "right", rights, "see"),
      field(t("word.classes"), classes, t("consumers.classesNote")),
      choice(t("consumers.endsAfter"), "end", ends, "", null, "chips four")],
    async submit({ elements }) {
      const order = { right: elements.right.value };
      const named = classes.value.split(",").map(text => text.trim()).filter(Boolean);
      if (named.length) order.classes = named;
      const seconds = Number(elements.end.value);
      if (seconds) order.durationSeconds = seconds;
      const made = await post(`/boards/${installationId}/invitations`, order);
      load();
      // After this dialog has closed.
      setTimeout(() => showLink(made));
    },
  });
}

function showLink({ url, expiresAt }) {
  const link = entry({ id: "invitation-link", value: url, readonly: true });
  ask({
    title: t("share.link"), dismiss: t("act.close"),
    body: [h("p", phrase("share.linkText", { when: when(expiresAt) })),
      field(t("share.link"), link),
      button(t("share.copy"), () => copy(url, link), "#copy-link")],
  });
}
