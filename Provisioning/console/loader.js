// A place of a page whose content comes from the authority.

import { me } from "./api.js";
import { failure, fill } from "./dom.js";

/** What `make` gives stands in `place`, or why it cannot, each time that this is called. */
export function loader(place, make) {
  return async function load() {
    try {
      fill(place, await make());
    } catch (error) {
      if (me) fill(place, failure(error.message, load));
    }
    place.removeAttribute("aria-busy");
  };
}
