// The rules of a session: presets, and custom rules.

import { choice, field, fill, h } from "./dom.js";
import { t } from "./text.js";

const example = '{\n  "default": "deny",\n  "rules": [\n'
  + '    { "app": "thermo",\n      "class": "Reading",\n      "allow": ["create"] }\n  ]\n}';

/**
 * A chooser, which begins with everything, or with `present` rules as custom ones. `scope()` is
 * the chosen scope; undefined for everything; throws if it is wrong.
 */
export function ruleChooser(present = null) {
  const classes = h("input", { value: "Reading", autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", maxlength: 128 });
  const text = h("textarea", { rows: 9, spellcheck: "false", autocapitalize: "none",
    value: present ? JSON.stringify(present, null, 2) : example });
  const more = h("div.more");
  const fields = {
    readings: field(t("rules.class"), classes,
      t("rules.classNote")),
    everything: null,
    custom: field(t("word.rules"), text, t("rules.scopeNote")),
  };
  const chooser = choice(t("rules.what"), "rules", [
    { value: "everything", label: t("word.everything"),
      note: t("rules.everythingNote") },
    { value: "readings", label: t("rules.readings"), note: t("rules.readingsNote") },
    { value: "custom", label: t("rules.custom"), note: t("rules.customNote") },
  ], present ? "custom" : "everything", show);
  const chosen = () => chooser.querySelector("input:checked").value;

  function show() { fill(more, fields[chosen()]); }

  function scope() {
    if (chosen() === "everything") return undefined;
    return chosen() === "readings" ? readings() : custom();
  }

  function readings() {
    const name = classes.value.trim();
    if (!/^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name)) {
      throw new Error(t("rules.badClass"));
    }
    return { default: "deny", rules: [{ class: name, allow: ["create"] }] };
  }

  function custom() {
    let value;
    try {
      value = JSON.parse(text.value);
    } catch (error) {
      throw new Error(t("rules.notJSON", { error: error.message }));
    }
    if (!value || typeof value !== "object" || Array.isArray(value)) {
      throw new Error(t("rules.oneObject"));
    }
    return value;
  }

  show();
  return { node: h("div", chooser, more), scope };
}
