// Places of a page whose content comes from the authority.

import { me } from "./api.js";
import { failure, fill, h, renew, title } from "./dom.js";
import { t } from "./text.js";

/** Each call puts the result of `make` into `place`, or the error. */
export function loader(place, make) {
  return async function load() {
    try {
      renew(place, await make(load));
    } catch (error) {
      if (me) fill(place, failure(error.message, load));
    }
    place.removeAttribute("aria-busy");
  };
}

export function loading(selector) {
  return h(selector, { "aria-busy": "true" }, h("p.loading", t("word.loading")));
}

/** A page with a list, `make(load)`; `tools(load)` are beside its heading. */
export function listPage(heading, make, { selector = "div", tools, about } = {}) {
  const place = loading(selector), load = loader(place, make);
  load();
  return { title: heading, load, node: h("div", title(heading, tools?.(load)), about, place) };
}
