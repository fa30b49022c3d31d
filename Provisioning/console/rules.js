// The rules of a session: presets, and custom rules.

import { choice, entry, field, fill, h } from "./dom.js";
import { t } from "./text.js";

const example = '{\n  "default": "deny",\n  "rules": [\n'
  + '    { "app": "thermo",\n      "class": "Reading",\n      "allow": ["create"] }\n  ]\n}';

/**
 * A chooser, which begins with everything, or with `present` rules as custom ones. `scope()` is
 * the chosen scope; undefined for everything; throws if it is wrong.
 */
export function ruleChooser(present = null) {
  const classes = entry({ value: "Reading", maxlength: 128 }), more = h("div.more");
  const text = h("textarea", { rows: 9, spellcheck: "false", autocapitalize: "none",
    value: present ? JSON.stringify(present, null, 2) : example });
  const fields = {
    readings: field(t("rules.class"), classes, t("rules.classNote")),
    custom: field(t("word.rules"), text, t("rules.scopeNote")),
  };
  const options = ["everything", "readings", "custom"].map(value =>
    ({ value, label: t(`rules.${value}`), note: t(`rules.${value}Note`) }));
  const chooser = choice(t("rules.what"), "rules", options,
    present ? "custom" : "everything", show);
  const chosen = () => chooser.querySelector("input:checked").value;

  function show() { fill(more, fields[chosen()]); }

  function scope() {
    const kind = chosen();
    return kind === "everything" ? undefined : kind === "readings" ? readings() : custom();
  }

  function readings() {
    const name = classes.value.trim();
    if (!/^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name)) throw new Error(t("rules.badClass"));
    return { default: "deny", rules: [{ class: name, allow: ["create"] }] };
  }

  function custom() {
    let value;
    try {
      value = JSON.parse(text.value);
    } catch (error) {
      throw new Error(t("rules.notJSON", { error: error.message }));
    }
    if (value?.constructor !== Object) throw new Error(t("rules.oneObject"));
    return value;
  }

  show();
  return { node: h("div", chooser, more), scope };
}
