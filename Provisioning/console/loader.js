// A place of a page whose content comes from the authority.

import { me } from "./api.js";
import { failure, fill, renew } from "./dom.js";

/**
 * Each call puts the result of `make` into `place`, or the error. `put` is `fill` if the caller
 * keeps the elements that `make` returned.
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
