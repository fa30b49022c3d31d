// The actions on boards, sessions and users. Each asks for confirmation first.

import { post, put, remove } from "./api.js";
import { ask, askTo } from "./dialog.js";
import { button, checkbox, choice, copy, entry, field, h } from "./dom.js";
import { ruleChooser } from "./rules.js";
import { phrase, t } from "./text.js";
import { endChoices, parseTime, when } from "./time.js";
import { sessionName } from "./words.js";

/** Deletes `path`, for `askTo`. It says more than `text` if the broker does not know of it yet. */
const end = path => async (_, text) => {
  const { brokerTold } = await remove(path);
  return brokerTold === false && t("acts.notTold", { text });
};

/** The buttons that move a session's end, for what is possible now. */
export function endButtons({ id, name, expiresAt, latestEnd }, done, make = button) {
  const { later, earlier } = endChoices(expiresAt, latestEnd);
  const move = (what, spans, shorten) => spans.length > 0 && make(t(`act.${what}`),
    () => moveEnd(`acts.${what}`, { id, name }, spans, shorten, done),
    { id: shorten ? "end-earlier" : "extend" });
  return [move("extend", later, false), move("endEarlier", earlier, true)];
}

function moveEnd(key, { id, name }, spans, shorten, done) {
  askTo(key, { name }, async ({ elements }) => {
    const order = { durationSeconds: Number(elements.duration.value), ...(shorten && { shorten }) };
    const { expiresAt } = await post(`/sessions/${id}/extend`, order);
    return phrase("acts.ends", { when: when(parseTime(expiresAt)) });
  }, done, { danger: false, body: spanChoice(spans) });
}

export function spanChoice(spans) {
  return choice(t("acts.howLong"), "duration", spans, spans.at(-1).value, null, "chips four");
}

export function renewBoard(board, done) {
  askTo("acts.renew", board, async () => {
    await post(`/boards/${board.installationId}/renew`, {});
  }, done, { danger: false });
}

export function changeRules(board, done) {
  const rules = ruleChooser(board.scope);
  askTo("acts.rules", board, async () => {
    // No scope would mean "unchanged" to a board that has one.
    const scope = rules.scope() ?? { default: "allow", rules: [] };
    const { scopePending } = await put(`/sessions/${board.sessionId}/scope`, scope);
    return !scopePending && t("acts.inForce");
  }, done, { danger: false, body: [rules.node, h("p.note", t("acts.rulesNote"))] });
}

export function signOutBoard(board, done) {
  askTo("acts.signOut", board, end(`/sessions/${board.sessionId}`), done);
}

export function signOutSession(session, done) {
  const key = session.restricted ? "acts.signOutDevice" : session.isThisOne ? "acts.signOutHere"
    : "acts.signOutLogin";
  askTo(key, { name: sessionName(session) }, end(`/sessions/${session.objectId}`), done);
}

export function signOutOthers(username, done) {
  const boards = checkbox({ id: "boards-too" });
  askTo("acts.others", {}, async () => {
    const { ended } = await post(`/users/${encodeURIComponent(username)}/revoke`,
      { keepBoards: !boards.checked });
    return t("acts.ended", { n: ended });
  }, done, { body: h("label.check", boards, t("acts.boardsToo")) });
}

/** Renames what is at `path`; `name` is the input's, for the browser. */
export function rename(key, path, value, done, name = "newname") {
  const input = h("input", { name, value, maxlength: 64, autocomplete: "off", required: true });
  askTo(key, { name: value }, async () => {
    await put(path, { name: typed(input) });
  }, done, { danger: false, body: field(t("word.name"), input) });
}

export function typed(input) {
  const name = input.value.trim();
  if (!name) throw new Error(t("word.typeName"));
  return name;
}

export function renameBoard({ installationId, name }, done) {
  rename("acts.renameBoard", `/boards/${installationId}`, name, done);
}

export function renameSession({ objectId, name }, done) {
  rename("acts.renameSession", `/sessions/${objectId}`, name ?? "", done);
}

export function endClaim({ claimId, renewal }, name, done) {
  askTo(renewal ? "acts.endRenewal" : "acts.endClaim", { name }, end(`/claims/${claimId}`), done);
}

export function releaseBoard(board, done) {
  const keeps = checkbox({ name: "keep-data" });
  const path = `/boards/${board.installationId}`;
  askTo("acts.release", board, (form, text) =>
    end(keeps.checked ? `${path}?keepData=true` : path)(form, text), done, {
    body: [h("p", t("acts.dataGoes")), h("label.check", keeps, t("acts.keepData"))],
  });
}

export function setPassword(username, isOwn, done = () => {}) {
  const secret = kind => h("input", { name: kind, type: "password", autocomplete: kind });
  const old = isOwn && secret("current-password"), fresh = secret("new-password");
  const boards = checkbox({ checked: true });
  askTo(isOwn ? "acts.ownPassword" : "acts.password", { name: username }, async () => {
    if (!fresh.value) throw new Error(t("acts.typeNew"));
    await put(`/users/${encodeURIComponent(username)}/password`, {
      password: fresh.value, keepBoards: boards.checked, ...(old && { oldPassword: old.value }),
    });
  }, done, { danger: false, body: [
    old && field(t("acts.presentPassword"), old), field(t("acts.newPassword"), fresh),
    h("label.check", boards, t("acts.boardsStay")),
    h("p.note", t(isOwn ? "acts.yourLoginsEnd" : "acts.loginsEnd"))] });
}

export function makeRecoveryCode(username, isOwn, done = () => {}) {
  ask({
    title: t(isOwn ? "acts.ownCode" : "acts.codeFor", { name: username }),
    confirm: t("act.make"), body: h("p", t("acts.codeText")),
    async submit() {
      const { recoveryCode } = await post(`/users/${encodeURIComponent(username)}/recovery-code`);
      done();
      // After this dialog has closed.
      setTimeout(() => showCode(username, recoveryCode));
    },
  });
}

function showCode(username, code) {
  const shown = entry({ id: "new-recovery-code", value: code, readonly: true });
  ask({
    title: t("acts.codeOf", { name: username }), dismiss: t("act.close"),
    body: [h("p", t("acts.shownNow")), field(t("word.recoveryCode"), shown),
      button(t("acts.copyCode"), () => copy(code, shown), "#copy-code")],
  });
}
