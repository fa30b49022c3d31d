// The open alerts, on the page of all boards and on the page of one.

import * as acts from "./acts.js";
import { get, me } from "./api.js";
import { button, h, renew } from "./dom.js";
import { t } from "./text.js";
import { when } from "./time.js";

const most = 10;
// A change of a board may be a change of its alerts, and the authority looks once a minute.
const rest = 5000;

/** A list that is hidden while it is empty. `query` gives the parameters: which alerts. */
export function openAlerts(query) {
  const list = h("ul.plain");
  const node = h("section.notice.wait.alerts", { "aria-label": t("word.alerts"), hidden: true },
    h("h2", t("word.alerts")), list);
  let timer = 0, isClosed = false;

  async function load() {
    clearTimeout(timer);
    timer = 0;
    if (!me) return;
    try {
      const { results } = await get(`/alerts?${query()}`);
      if (isClosed) return;
      node.hidden = !results.length;
      renew(list, results.slice(0, most).map(alert => row(alert, load)), results.length > most
        && h("li", t("alerts.more", { n: results.length - most })));
    } catch { /* The next event loads it again; the page itself shows the error. */ }
  }

  function event(name) {
    if (name === "board" && !timer) timer = setTimeout(load, rest);
  }

  function close() {
    isClosed = true;
    clearTimeout(timer);
  }

  return { node, load, event, close };
}

function row(alert, load) {
  const text = h("span", alert.text);
  return h("li", { "data-kind": alert.kind },
    alert.installationId ? h("a", { href: `#/boards/${alert.installationId}` }, text) : text,
    h("span.note", " · ", when(alert.openedAt)),
    alert.details.renewable && [" ", button(t("act.renew"), () => acts.renewBoard(alert, load),
      { id: `renew-${alert.installationId}` })]);
}
