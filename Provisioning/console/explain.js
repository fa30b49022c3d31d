// The form that explains why a write passes or is refused.

import { post } from "./api.js";
import { choice, field, fill, h, pill } from "./dom.js";
import { layerWords } from "./words.js";

/** A form for `POST <path>/explain`; `open({app, rule})` shows it filled with the known values. */
export function explainForm(path) {
  const app = input("app", "thermo"), className = input("class", "Reading");
  const record = input("record", "");
  const payload = h("textarea", { name: "payload", rows: 3, spellcheck: "false",
    placeholder: '{"celsius":21.5}' });
  const answer = h("div", { class: "answer", role: "status" });
  const go = h("button", { type: "submit" }, "Explain");
  const form = h("form", { novalidate: true }, field("App", app), field("Class", className),
    choice("Operation", "op",
      ["create", "update", "delete"].map(value => ({ value, label: value })), "create",
      null, "chips"),
    field("Record", record, "For update and delete."),
    field("Payload", payload, "As the app sends it. It goes to the authority, not to the board."),
    go, answer);
  const node = h("details", { class: "explain" },
    h("summary", null, "Explain a write"), form);

  form.addEventListener("submit", async event => {
    event.preventDefault();
    go.disabled = true;
    try {
      fill(answer, verdict(await post(`${path}/explain`, asked())));
    } catch (error) {
      fill(answer, h("p", { class: "error" }, error.message));
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
    fill(answer, h("p", { class: "note" }, `Refused by ${refusal.rule}. `
      + "Fill in the class and the payload to see the decision of each layer."));
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
    h("p", null, pill(passes ? "good" : "bad", passes ? "Passes" : "Refused"),
      ` ${reason || ""} `, rule && h("code", null, rule), !passes && code && ` (${code})`),
    complete === false && h("p", { class: "note" },
      "The board's own policy is not known here, so the board may refuse this write."),
    h("ul", { class: "rows" }, (by ?? []).map(layer => h("li", null,
      h("p", null, h("span", { class: "what" }, layerWords(layer.layer)), " ",
        layer.reason || (layer.decision === "allow" ? "allows it" : "has no rule for it"), " ",
        layer.rule && h("code", null, layer.rule)),
      pill(layer.decision === "allow" ? "good" : layer.decision === "deny" ? "bad" : "",
        { allow: "passes", deny: "refuses" }[layer.decision] ?? "no rule")))),
  ];
}
