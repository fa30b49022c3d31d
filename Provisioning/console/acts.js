// The actions on boards, sessions and users. Each asks for confirmation first.

import { post, put, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, choice, copy, field, h, say } from "./dom.js";
import { ruleChooser } from "./rules.js";
import { phrase, t } from "./text.js";
import { endChoices, parseTime, when } from "./time.js";
import { sessionName } from "./words.js";

/** Deletes `path` and shows `text`; also shows if the broker does not know of it yet. */
async function end(path, text) {
  const { brokerTold } = await remove(path);
  say(brokerTold === false ? t("acts.notTold", { text }) : text);
}

/** The buttons that move a session's end, for what is possible now. */
export function endButtons({ id, name, expiresAt, latestEnd }, done, make = button) {
  const { later, earlier } = endChoices(expiresAt, latestEnd);
  return [
    later.length > 0 && make(t("act.extend"), () => moveEnd(id, done, {
      title: t("acts.extendName", { name }), confirm: t("act.extend"), spans: later,
    }), { id: "extend" }),
    earlier.length > 0 && make(t("act.endEarlier"), () => moveEnd(id, done, {
      title: t("acts.endName", { name }), confirm: t("act.endEarlier"), spans: earlier,
      shorten: true,
    }), { id: "end-earlier" }),
  ];
}

function moveEnd(id, done, { title, confirm, spans, shorten }) {
  ask({
    title, confirm,
    body: choice(t("acts.howLong"), "duration", spans, spans.at(-1).value, null, "chips four"),
    async submit(form) {
      const durationSeconds = Number(form.elements.duration.value);
      const { expiresAt } = await post(`/sessions/${id}/extend`,
        { durationSeconds, ...(shorten && { shorten }) });
      say(phrase("acts.ends", { when: when(parseTime(expiresAt)) }));
      done();
    },
  });
}

export function renewBoard(board, done) {
  ask({
    title: t("acts.renewTitle", board), confirm: t("act.renew"),
    body: h("p", t("acts.renewText")),
    async submit() {
      await post(`/boards/${board.installationId}/renew`, {});
      say(t("acts.renewing", board));
      done();
    },
  });
}

export function changeRules(board, done) {
  const rules = ruleChooser(board.scope);
  ask({
    title: t("acts.rulesTitle", board), confirm: t("act.change"),
    body: [
      rules.node,
      h("p.note", t("acts.rulesNote")),
    ],
    async submit() {
      // No scope would mean "unchanged" to a board that has one.
      const scope = rules.scope() ?? { default: "allow", rules: [] };
      const { scopePending } = await put(`/sessions/${board.sessionId}/scope`, scope);
      say(scopePending ? t("acts.changed")
        : t("acts.inForce"));
      done();
    },
  });
}

export function signOutBoard(board, done) {
  ask({
    title: t("acts.signOutTitle", board), confirm: t("act.signOut"), danger: true,
    body: h("p", t("acts.signOutText")),
    async submit() {
      await end(`/sessions/${board.sessionId}`, t("acts.signedOut", board));
      done();
    },
  });
}

export function signOutSession(session, done) {
  const name = sessionName(session);
  ask({
    title: session.isThisOne ? t("acts.signOutHere") : t("acts.signOutTitle", { name }),
    confirm: t("act.signOut"), danger: true,
    body: h("p", session.restricted
      ? t("acts.deviceStops")
      : session.isThisOne ? t("acts.comeBack")
        : t("acts.userAgain")),
    async submit() {
      await end(`/sessions/${session.objectId}`, t("acts.signedOut", { name }));
      done();
    },
  });
}

export function signOutOthers(username, done) {
  const boards = h("input", { type: "checkbox", id: "boards-too" });
  ask({
    title: t("acts.othersTitle"), confirm: t("act.signOutOthers"), danger: true,
    body: [
      h("p", t("acts.othersText")),
      h("label.check", boards, t("acts.boardsToo")),
    ],
    async submit() {
      const { ended } = await post(`/users/${encodeURIComponent(username)}/revoke`,
        { keepBoards: !boards.checked });
      say(t("acts.ended", { n: ended }));
      done();
    },
  });
}

function rename(title, path, value, done) {
  const input = h("input",
    { name: "newname", value, maxlength: 64, autocomplete: "off", required: true });
  ask({
    title, confirm: t("act.rename"), body: field(t("word.name"), input),
    async submit() {
      const name = input.value.trim();
      if (!name) throw new Error(t("word.typeName"));
      await put(path, { name });
      say(t("word.renamed"));
      done();
    },
  });
}

export function renameBoard(board, done) {
  rename(t("acts.renameBoard"), `/boards/${board.installationId}`, board.name, done);
}

export function renameSession(session, done) {
  rename(t("acts.renameSession"), `/sessions/${session.objectId}`, session.name ?? "", done);
}

export function endClaim(claim, name, done) {
  ask({
    title: claim.renewal ? t("acts.cancelTitle", { name }) : t("acts.endClaimTitle", { name }),
    confirm: claim.renewal ? t("act.cancelRenewal") : t("act.endClaim"), danger: true,
    body: h("p", t("acts.claimText")),
    async submit() {
      await end(`/claims/${claim.claimId}`,
        claim.renewal ? t("acts.renewalCancelled") : t("acts.claimEnded"));
      done();
    },
  });
}

export function releaseBoard(board, done) {
  const keeps = h("input", { type: "checkbox", name: "keep-data" });
  ask({
    title: t("acts.releaseTitle", board), confirm: t("act.release"), danger: true,
    body: [
      h("p", t("acts.releaseText")),
      h("p", t("acts.dataGoes")),
      h("label.check", keeps, t("acts.keepData")),
    ],
    async submit() {
      const query = keeps.checked ? "?keepData=true" : "";
      await end(`/boards/${board.installationId}${query}`, t("acts.released", board));
      done();
    },
  });
}

export function setPassword(username, isOwn, done = () => {}) {
  const secret = kind => h("input", { name: kind, type: "password", autocomplete: kind });
  const old = isOwn && secret("current-password"), fresh = secret("new-password");
  const boards = h("input", { type: "checkbox", checked: true });
  ask({
    title: isOwn ? t("acts.ownPassword") : t("acts.setPassword", { name: username }),
    confirm: isOwn ? t("act.change") : t("act.set"),
    body: [
      old && field(t("acts.presentPassword"), old), field(t("acts.newPassword"), fresh),
      h("label.check", boards, t("acts.boardsStay")),
      h("p.note", isOwn ? t("acts.yourLoginsEnd") : t("acts.loginsEnd")),
    ],
    async submit() {
      if (!fresh.value) throw new Error(t("acts.typeNew"));
      await put(`/users/${encodeURIComponent(username)}/password`, {
        password: fresh.value, keepBoards: boards.checked,
        ...(old ? { oldPassword: old.value } : {}),
      });
      say(t("acts.passwordSet"));
      done();
    },
  });
}

export function makeRecoveryCode(username, isOwn, done = () => {}) {
  ask({
    title: isOwn ? t("acts.ownCode") : t("acts.codeFor", { name: username }),
    confirm: t("act.make"),
    body: h("p", t("acts.codeText")),
    async submit() {
      const { recoveryCode } = await post(`/users/${encodeURIComponent(username)}/recovery-code`);
      done();
      // After this dialog has closed.
      setTimeout(() => showCode(username, recoveryCode));
    },
  });
}

function showCode(username, code) {
  const shown = h("input", { id: "new-recovery-code", value: code, readonly: true,
    autocomplete: "off", spellcheck: "false" });
  ask({
    title: t("acts.codeOf", { name: username }), dismiss: t("act.close"),
    body: [h("p", t("acts.shownNow")),
      field(t("word.recoveryCode"), shown),
      button(t("acts.copyCode"), () => copy(code, shown), { id: "copy-code" })],
  });
}
