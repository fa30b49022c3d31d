// The rules of a session: presets, and custom rules.

import { choice, field, fill, h } from "./dom.js";

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
  const more = h("div", { class: "more" });
  const fields = {
    readings: field("Class of the readings", classes,
      "The board may create these, and nothing else."),
    everything: null,
    custom: field("Rules", text, "A scope as JSON: default, and rules with app, class, allow, "
      + "fields and max_bytes. The first rule that matches decides."),
  };
  const chooser = choice("What it may do", "rules", [
    { value: "everything", label: "Everything a restricted session may",
      note: "Never users, sessions or roles. The board's own policy may allow less." },
    { value: "readings", label: "Send readings only", note: "Create records of one class." },
    { value: "custom", label: "Custom rules", note: "Write them yourself." },
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
      throw new Error("A class is a letter, then letters, digits or _.");
    }
    return { default: "deny", rules: [{ class: name, allow: ["create"] }] };
  }

  function custom() {
    let value;
    try {
      value = JSON.parse(text.value);
    } catch (error) {
      throw new Error(`The rules are not JSON: ${error.message}`);
    }
    if (!value || typeof value !== "object" || Array.isArray(value)) {
      throw new Error("The rules are one JSON object with default and rules.");
    }
    return value;
  }

  show();
  return { node: h("div", null, chooser, more), scope };
}
