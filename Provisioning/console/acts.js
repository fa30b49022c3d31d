// The actions on boards, sessions and users. Each asks for confirmation first.

import { post, put, remove } from "./api.js";
import { ask } from "./dialog.js";
import { button, choice, copy, field, h, say } from "./dom.js";
import { ruleChooser } from "./rules.js";
import { endChoices, parseTime, when } from "./time.js";
import { count, sessionName } from "./words.js";

/** Deletes `path` and shows `text`; also shows if the broker does not know of it yet. */
async function end(path, text) {
  const { brokerTold } = await remove(path);
  say(brokerTold === false
    ? `${text} It is recorded, but not yet delivered: the broker does not answer, so the board may `
      + "stay connected." : text);
}

/** The buttons that move a session's end, for what is possible now. */
export function endButtons({ id, name, expiresAt, latestEnd }, done, make = button) {
  const { later, earlier } = endChoices(expiresAt, latestEnd);
  return [
    later.length > 0 && make("Extend", () => moveEnd(id, done, {
      title: `Extend ${name}`, confirm: "Extend", spans: later,
    }), { id: "extend" }),
    earlier.length > 0 && make("End earlier", () => moveEnd(id, done, {
      title: `End ${name} earlier`, confirm: "End earlier", spans: earlier, shorten: true,
    }), { id: "end-earlier" }),
  ];
}

function moveEnd(id, done, { title, confirm, spans, shorten }) {
  ask({
    title, confirm,
    body: choice("How long from now", "duration", spans, spans.at(-1).value, null, "chips four"),
    async submit(form) {
      const durationSeconds = Number(form.elements.duration.value);
      const { expiresAt } = await post(`/sessions/${id}/extend`,
        { durationSeconds, ...(shorten && { shorten }) });
      say("The session ends ", when(parseTime(expiresAt)), ".");
      done();
    },
  });
}

export function renewBoard(board, done) {
  ask({
    title: `Renew ${board.name}?`, confirm: "Renew",
    body: h("p", null, "The board gets a new session with the same rules, as soon as it is online. "
      + "Then it sends what it kept."),
    async submit() {
      await post(`/boards/${board.installationId}/renew`, {});
      say(`The renewal waits for ${board.name}.`);
      done();
    },
  });
}

export function changeRules(board, done) {
  const rules = ruleChooser(board.scope);
  ask({
    title: `Change the rules of ${board.name}`, confirm: "Change",
    body: [
      rules.node,
      h("p", { class: "note" }, "Messages that wait on the board are judged by the new rules. "
        + "What may not leave any more stays there as a dead letter."),
    ],
    async submit() {
      // No scope would mean "unchanged" to a board that has one.
      const scope = rules.scope() ?? { default: "allow", rules: [] };
      const { scopePending } = await put(`/sessions/${board.sessionId}/scope`, scope);
      say(scopePending ? "Changed. The board takes it as soon as it is online."
        : "These are the rules in force.");
      done();
    },
  });
}

export function signOutBoard(board, done) {
  ask({
    title: `Sign out ${board.name}?`, confirm: "Sign out", danger: true,
    body: h("p", null, "The board stops sending at once, or as soon as it is online. "
      + "It keeps its unsent messages for your next session. To use it again, pair it again."),
    async submit() {
      await end(`/sessions/${board.sessionId}`, `${board.name} is signed out.`);
      done();
    },
  });
}

export function signOutSession(session, done) {
  const name = sessionName(session);
  ask({
    title: session.isThisOne ? "Sign out here?" : `Sign out ${name}?`,
    confirm: "Sign out", danger: true,
    body: h("p", null, session.restricted
      ? "The device stops sending. To use it again, pair it again."
      : session.isThisOne ? "You log in again to come back."
        : "Its user must log in again."),
    async submit() {
      await end(`/sessions/${session.objectId}`, `${name} is signed out.`);
      done();
    },
  });
}

export function signOutOthers(username, done) {
  const boards = h("input", { type: "checkbox", id: "boards-too" });
  ask({
    title: "Sign out all others?", confirm: "Sign out all others", danger: true,
    body: [
      h("p", null, "All your other logins end now. This one stays."),
      h("label", { class: "check" }, boards, "Also my boards: each must be paired again"),
    ],
    async submit() {
      const { ended } = await post(`/users/${encodeURIComponent(username)}/revoke`,
        { keepBoards: !boards.checked });
      say(`${count(ended, "session")} ended.`);
      done();
    },
  });
}

function rename(what, path, value, done) {
  const input = h("input",
    { name: "newname", value, maxlength: 64, autocomplete: "off", required: true });
  ask({
    title: `Rename the ${what}`, confirm: "Rename", body: field("Name", input),
    async submit() {
      const name = input.value.trim();
      if (!name) throw new Error("Type a name.");
      await put(path, { name });
      say("Renamed.");
      done();
    },
  });
}

export function renameBoard(board, done) {
  rename("board", `/boards/${board.installationId}`, board.name, done);
}

export function renameSession(session, done) {
  rename("session", `/sessions/${session.objectId}`, session.name ?? "", done);
}

export function endClaim(claim, name, done) {
  ask({
    title: claim.renewal ? `Cancel the renewal of ${name}?` : `End the claim of ${name}?`,
    confirm: claim.renewal ? "Cancel the renewal" : "End the claim", danger: true,
    body: h("p", null, "The board does not get the session that waits for it. "
      + "Nothing else changes on the board."),
    async submit() {
      await end(`/claims/${claim.claimId}`,
        claim.renewal ? "The renewal is cancelled." : "The claim has ended.");
      done();
    },
  });
}

export function releaseBoard(board, done) {
  const keeps = h("input", { type: "checkbox", name: "keep-data" });
  ask({
    title: `Release ${board.name}?`, confirm: "Release", danger: true,
    body: [
      h("p", null, "Its session ends and it leaves your list. "
        + "Then any user who has the board can claim it."),
      h("p", null, "Its data is deleted, unless you keep it."),
      h("label", { class: "check" }, keeps, "Keep its data; only the present owner can read it"),
    ],
    async submit() {
      const query = keeps.checked ? "?keepData=true" : "";
      await end(`/boards/${board.installationId}${query}`, `${board.name} is released.`);
      done();
    },
  });
}

export function setPassword(username, isOwn, done = () => {}) {
  const secret = kind => h("input", { name: kind, type: "password", autocomplete: kind });
  const old = isOwn && secret("current-password"), fresh = secret("new-password");
  const boards = h("input", { type: "checkbox", checked: true });
  ask({
    title: isOwn ? "Change your password" : `Set the password of ${username}`,
    confirm: isOwn ? "Change" : "Set",
    body: [
      old && field("Current password", old), field("New password", fresh),
      h("label", { class: "check" }, boards, "Boards stay signed in"),
      h("p", { class: "note" }, isOwn ? "Your other logins end." : "All logins of this user end."),
    ],
    async submit() {
      if (!fresh.value) throw new Error("Type the new password.");
      await put(`/users/${encodeURIComponent(username)}/password`, {
        password: fresh.value, keepBoards: boards.checked,
        ...(old ? { oldPassword: old.value } : {}),
      });
      say("The password is set.");
      done();
    },
  });
}

export function makeRecoveryCode(username, isOwn, done = () => {}) {
  ask({
    title: isOwn ? "Make a recovery code?" : `Make a recovery code for ${username}?`,
    confirm: "Make",
    body: h("p", null, "The name and the code log in once, without a passkey or a password. "
      + "A code that was made before no longer works."),
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
    title: `The recovery code of ${username}`, dismiss: "Close",
    body: [h("p", null, "It is shown only now. Write it down, or print it."),
      field("Recovery code", shown),
      button("Copy the code", () => copy(code, shown), { id: "copy-code" })],
  });
}
