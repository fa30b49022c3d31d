// The form that explains why a write passes or is refused.

import { post } from "./api.js";
import { choice, field, fill, h, pill } from "./dom.js";
import { t } from "./text.js";
import { layerWords } from "./words.js";

/** A form for `POST <path>/explain`; `open({app, rule})` shows it filled with the known values. */
export function explainForm(path) {
  const app = input("app", "thermo"), className = input("class", "Reading");
  const record = input("record", "");
  const payload = h("textarea", { name: "payload", rows: 3, spellcheck: "false",
    placeholder: '{"celsius":21.5}' });
  const answer = h("div.answer", { role: "status" });
  const go = h("button", { type: "submit" }, t("act.explain"));
  const form = h("form", { novalidate: true }, field(t("word.app"), app),
    field(t("explain.class"), className),
    choice(t("explain.operation"), "op",
      ["create", "update", "delete"].map(value => ({ value, label: value })), "create",
      null, "chips"),
    field(t("explain.record"), record, t("explain.recordNote")),
    field(t("explain.payload"), payload, t("explain.payloadNote")),
    go, answer);
  const node = h("details.explain",
    h("summary", t("explain.title")), form);

  form.addEventListener("submit", async event => {
    event.preventDefault();
    go.disabled = true;
    try {
      fill(answer, verdict(await post(`${path}/explain`, asked())));
    } catch (error) {
      fill(answer, h("p.error", error.message));
    }
    go.disabled = false;
  });

  function asked() {
    return {
      app: app.value.trim(), class: className.value.trim(), op: form.elements.op.value,
      ...(record.value.trim() ? { objectId: record.value.trim() } : {}),
      ...(payload.value ? { payload: payload.value } : {}),
    };
  }

  function open(refusal) {
    node.open = true;
    if (refusal.app) app.value = refusal.app;
    fill(answer, h("p.note", t("explain.refusedBy", refusal)));
    node.scrollIntoView({ block: "nearest" });
    className.focus();
  }

  return { node, open };
}

function input(name, placeholder) {
  return h("input", { name, placeholder, autocomplete: "off", autocapitalize: "none",
    spellcheck: "false" });
}

function verdict({ decision, rule, reason, code, complete, by }) {
  const passes = decision === "allow";
  return [
    h("p", pill(passes ? "good" : "bad", passes ? t("explain.passes") : t("word.refused")),
      ` ${reason || ""} `, rule && h("code", rule), !passes && code && ` (${code})`),
    complete === false && h("p.note",
      t("explain.noPolicy")),
    h("ul.rows", (by ?? []).map(layer => h("li",
      h("p", h("span.what", layerWords(layer.layer)), " ",
        layer.reason || t(layer.decision === "allow" ? "explain.allows" : "explain.noRuleFor"), " ",
        layer.rule && h("code", layer.rule)),
      pill(layer.decision === "allow" ? "good" : layer.decision === "deny" ? "bad" : "",
        t({ allow: "explain.passesLow", deny: "explain.refuses" }[layer.decision]
          ?? "explain.noRule"))))),
  ];
}
