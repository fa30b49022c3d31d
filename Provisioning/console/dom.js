// Makes elements. Text stays text: nothing here turns a string into markup.

import { t } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const inSVG = ["svg", "path", "g", "rect", "text", "defs", "clipPath"];
const isThere = child => ![null, undefined, false, ""].includes(child);
const there = children => children.flat(Infinity).filter(isThere);

/**
 * An element: `h("p#id.class", { title: "x" }, children)`. The properties may be left out. Children
 * are strings, nodes, arrays of them; null is nothing.
 */
export function h(selector, ...children) {
  const [tag, ...marks] = selector.split(/(?=[#.])/);
  const node = inSVG.includes(tag)
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const mark of marks) {
    if (mark[0] === "#") node.id = mark.slice(1);
    else node.classList.add(mark.slice(1));
  }
  const props = children[0]?.constructor === Object ? children.shift() : {};
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...there(children));
  return node;
}

/** Makes a change to `node`. The focused element in it gets the focus again, by its id. */
function keepFocus(node, change) {
  const focused = node.contains(document.activeElement) && document.activeElement.id;
  change();
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

export function fill(node, ...children) {
  keepFocus(node, () => node.replaceChildren(...there(children)));
}

/**
 * As `fill`, but what is the same stays: a button is not taken from under a finger. For nodes
 * that nobody else holds. An equal node keeps its listeners, so they must mean the same.
 */
export function renew(node, ...children) {
  const fresh = there(children), old = [...node.childNodes];
  if (old.length !== fresh.length || fresh.some(c => !c.nodeType || c.isConnected)) {
    return fill(node, fresh);
  }
  fresh.forEach((child, index) => merge(old[index], child));
}

function merge(old, fresh) {
  const isInput = fresh.nodeName === "INPUT";
  if (!isInput && old.isEqualNode(fresh) && !fresh.querySelector?.("input")) return;
  const olds = [...old.childNodes], news = [...fresh.childNodes];
  if (isInput || old.nodeName !== fresh.nodeName || old.nodeType !== Node.ELEMENT_NODE
    || old.matches("button, a") || olds.length !== news.length) {
    return keepFocus(old, () => old.replaceWith(fresh));
  }
  for (const { name } of [...old.attributes]) {
    if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  news.forEach((child, index) => merge(olds[index], child));
}

let lastID = 0;
/** An id that no other element of the page has. */
export function freshID(stem) { return `${stem}-${++lastID}`; }

const paths = {
  gate: "M4 21V11a8 8 0 0 1 16 0v10h-4V11a4 4 0 0 0-8 0v10z",
  boards: "M7 4v3M12 4v3M17 4v3M7 17v3M12 17v3M17 17v3M4 7h16v10H4zM9 11h6v2H9z",
  sessions: "M14 10a4 4 0 1 0-3.500 4L13 16.500h2.500V19H18v2h3v-3l-7.300-7.300M9 9h.01",
  consumers: "M4 12h10M10 8l4 4-4 4M14 4h6v16h-6",
  users: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 3.500-6 8-6s8 2 8 6",
  audit: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  back: "M15 5l-7 7 7 7",
  plus: "M12 5v14M5 12h14",
  check: "M5 12.500l4.500 4.500L19 7.500",
  cross: "M7 7l10 10M17 7L7 17",
};

/** An icon next to a text with the same meaning. */
export function icon(name) {
  return h(`svg.icon.i-${name}`, { viewBox: "0 0 24 24", "aria-hidden": "true" },
    h("path", { d: paths[name] }));
}

export function back() {
  return h("a.back", { href: "#/boards" }, icon("back"), t("word.boards"));
}

/** `props` are properties, or an id and classes: `#id.class`. */
export function button(text, onclick, props = "", type = "button") {
  const [marks, more] = typeof props === "string" ? [props] : ["", props];
  return h(`button${marks}`, { type, onclick, ...more }, text);
}

export function submit(text, props) { return button(text, null, props, "submit"); }

/** The first line of a page. */
export function title(text, ...more) {
  return h("div.title", h("h1", { tabindex: "-1" }, text), more);
}

/** A part of a page, below a heading. */
export function section(selector, id, heading, ...children) {
  return h(`section${selector}`, { "aria-labelledby": `h-${id}` },
    h("h2", { id: `h-${id}` }, heading), children);
}

/** A label, its input, and a note below. */
export function field(label, input, note) {
  const id = input.id ||= freshID("field");
  if (note) input.setAttribute("aria-describedby", `${id}-note`);
  return h("div.field", h("label", { for: id }, label), input,
    note && h("p.note", { id: `${id}-note` }, note));
}

/** An input for what a browser must not correct or remember. */
export function entry(props) {
  return h("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...props });
}

export function checkbox(props) { return h("input", { type: "checkbox", ...props }); }

export function problem() { return h("p.error", { role: "alert" }); }

/** A form that is sent once at a time. What `send` throws goes to `error`. */
export function form(selector, props, ...body) {
  const { send, go, error = problem(), failed = () => go.focus() } = props;
  const node = h(`form${selector}`, { novalidate: true }, body);
  node.addEventListener("submit", async event => {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    go.disabled = true;
    const fault = await send(node).then(() => null, fault => fault);
    go.disabled = false;
    if (!fault) return;
    error.textContent = fault.message;
    failed();
  });
  return node;
}

/** A choice of one: `options` are `{value, label, note}`. */
export function choice(legend, name, options, chosen, onchange, kind = "") {
  return h("fieldset", { class: `choice ${kind}` }, h("legend", legend),
    options.map(({ value, label, note }) => h("label.option",
      h("input", { type: "radio", name, value, checked: value === chosen, onchange }),
      h("span", h("span.what", label), note && h("small", note)))));
}

export function pill(kind, text) { return h("span", { class: `pill ${kind}` }, text); }

/** Facts as pairs of name and value; a pair with the value null is left out. */
export function facts(pairs) {
  return h("dl.facts", pairs.filter(p => p && isThere(p[1])).map(([name, value]) =>
    h("div", h("dt", name), h("dd", value))));
}

/** An error, and a button to try again. */
export function failure(text, again) {
  return h("div.notice.bad", { role: "alert" }, h("p", text), button(t("act.tryAgain"), again));
}

export function empty(title, text, ...more) {
  return h("div.empty", h("p.what", title), h("p", text), more);
}

// The element exists from the start, because a screen reader announces only changes.
const said = h("div.toast", { role: "status" });
document.body.append(said);

/** Shows a short message for a moment, also to screen readers. */
export function say(text) {
  said.replaceChildren(...[text].flat());
  said.classList.add("shown");
  clearTimeout(said.timer);
  said.timer = setTimeout(() => said.classList.remove("shown"), 5000);
}

/** Copies `text`. A browser gives a page without HTTPS no clipboard: then `input` is selected. */
export async function copy(text, input) {
  try {
    await navigator.clipboard.writeText(text);
    say(t("dom.copied"));
  } catch {
    input.select();
    say(t("dom.selected"));
  }
}
