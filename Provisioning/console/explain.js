// The form that explains why a write passes or is refused.

import { post } from "./api.js";
import { choice, entry, field, fill, form, h, pill, submit } from "./dom.js";
import { t } from "./text.js";

/** A form for `POST <path>/explain`; `open({app, rule})` shows it filled with the known values. */
export function explainForm(path) {
  const app = entry({ name: "app", placeholder: "thermo" }), record = entry({ name: "record" });
  const className = entry({ name: "class", placeholder: "Reading" });
  const payload = h("textarea", { name: "payload", rows: 3, spellcheck: "false",
    placeholder: '{"celsius":21.5}' });
  const answer = h("div.answer", { role: "status" }), go = submit(t("act.explain"));
  const acts = ["create", "update", "delete"].map(value => ({ value, label: value }));
  const node = h("details.explain", h("summary", t("explain.title")), form("", {
    go,
    async send({ elements }) {
      const asked = { app: app.value.trim(), class: className.value.trim(), op: elements.op.value,
        objectId: record.value.trim() || undefined, payload: payload.value || undefined };
      fill(answer, await post(`${path}/explain`, asked).then(verdict,
        error => h("p.error", error.message)));
    },
  }, field(t("word.app"), app), field(t("explain.class"), className),
  choice(t("explain.operation"), "op", acts, "create", null, "chips"),
  field(t("explain.record"), record, t("explain.recordNote")),
  field(t("explain.payload"), payload, t("explain.payloadNote")), go, answer));

  function open(refusal) {
    node.open = true;
    if (refusal.app) app.value = refusal.app;
    fill(answer, h("p.note", t("explain.refusedBy", refusal)));
    node.scrollIntoView({ block: "nearest" });
    className.focus();
  }

  return { node, open };
}

function verdict({ decision, rule, reason, code, complete, by }) {
  const passes = decision === "allow";
  return [
    h("p", pill(passes ? "good" : "bad", t(passes ? "explain.passes" : "word.refused")),
      ` ${reason || ""} `, rule && h("code", rule), !passes && code && ` (${code})`),
    complete === false && h("p.note", t("explain.noPolicy")),
    h("ul.rows", (by ?? []).map(({ layer, decision, reason, rule }) => {
      const allows = decision === "allow", denies = decision === "deny";
      return h("li", h("p", h("span.what", t(`layer.${layer}`)), " ",
        reason || t(allows ? "explain.allows" : "explain.noRuleFor"), " ", rule && h("code", rule)),
      pill(allows ? "good" : denies ? "bad" : "",
        t(allows ? "explain.passesLow" : denies ? "explain.refuses" : "explain.noRule")));
    })),
  ];
}
