// A place of a page whose content comes from the authority.

import { me } from "./api.js";
import { failure, fill, renew } from "./dom.js";

/**
 * What `make` gives stands in `place`, or why it cannot, each time that this is called. `put`
 * is `fill` where somebody holds what was made.
 */
export function loader(place, make, put = renew) {
  return async function load() {
    try {
      put(place, await make());
    } catch (error) {
      if (me) fill(place, failure(error.message, load));
    }
    place.removeAttribute("aria-busy");
  };
}
