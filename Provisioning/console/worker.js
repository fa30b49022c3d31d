// The service worker: it opens the page while the authority is away. It answers only a GET of the
// page and, for a page that it answered, of that page's files. It never sees a token.
//
// The authority puts a line before this file: `page` is the version of the page's files, and the
// address and the SHA-256 of each.

/* global page */
const here = `page-${page.version}`;
const root = new URL("./", self.registration.scope).href;
const files = new Set(page.files.map(([path]) => new URL(path, root).href));
const patience = 4000;
/** The ids of the pages that came from the cache: their files come from there, too. */
const away = new Set();

addEventListener("install", event => {
  self.skipWaiting();
  event.waitUntil(keep());
});

/** Keeps all files of one version, or none. */
async function keep() {
  const cache = await caches.open(here);
  try {
    await cache.addAll(page.files.map(([path, integrity]) => new Request(new URL(path, root),
      { integrity, cache: "no-cache", credentials: "omit" })));
  } catch (error) {
    await caches.delete(here);
    throw error;
  }
}

addEventListener("activate", event => event.waitUntil(takeOver()));

async function takeOver() {
  for (const name of await caches.keys()) {
    if (name.startsWith("page-") && name !== here) await caches.delete(name);
  }
  await self.clients.claim();
}

addEventListener("fetch", event => {
  const { request } = event;
  if (request.method !== "GET") return;
  const address = request.url.split("#")[0];
  if (request.mode === "navigate") {
    if (address === root) event.respondWith(open(event));
  } else if (away.has(event.clientId) && files.has(address)) {
    event.respondWith(kept(address).then(found => found ?? fetch(request)));
  }
});

async function kept(address) { return (await caches.open(here)).match(address); }

/** The authority's answer; the kept page if there is none in time. */
async function open(event) {
  const answer = fetch(event.request);
  const late = new Promise(resolve => setTimeout(resolve, patience));
  const first = await Promise.race([answer, late]).catch(() => null);
  if (first && first.status < 500) return first;
  const found = event.resultingClientId && await kept(root);
  if (!found) return answer;
  answer.catch(() => {});
  away.add(event.resultingClientId);
  return found;
}
