// Opens the page while the authority is away, and shows alerts. It answers only a GET of the page
// and of that page's files. The authority puts `page` before this file: the version of the files,
// and the address and the SHA-256 of each.

const here = `page-${page.version}`;
const root = new URL("./", self.registration.scope).href;
const files = new Set(page.files.map(([path]) => new URL(path, root).href));
const patience = 4000;
/** The pages that came from the cache: their files come from there, too. */
const away = new Set();

addEventListener("install", event => {
  self.skipWaiting();
  event.waitUntil(keep());
});

/** Of the files with the page's texts, two letters each, only the one that `text.js` chooses. */
function isWanted([path]) {
  const text = one => page.files.some(([path]) => path === `console/${one.slice(0, 2)}.js`);
  const language = navigator.languages.find(text)?.slice(0, 2) ?? "en";
  return path === `console/${language}.js` || !/^console\/[a-z]{2}\.js$/.test(path);
}

/** Keeps all files of one version, or none. */
async function keep() {
  const cache = await caches.open(here);
  try {
    await cache.addAll(page.files.filter(isWanted).map(([path, integrity]) =>
      new Request(new URL(path, root), { integrity, cache: "no-cache", credentials: "omit" })));
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

addEventListener("push", event => {
  const said = event.data.json();
  event.waitUntil(self.registration.showNotification(said.title, {
    body: said.body, tag: said.tag, data: said.path, icon: "console/icon-192.png",
  }));
});

addEventListener("notificationclick", event => {
  event.notification.close();
  event.waitUntil(show(root + event.notification.data));
});

async function show(address) {
  const all = await self.clients.matchAll({ type: "window" });
  // The page of a claim stays: a claim is only there.
  const page = all.find(one => one.url.split("#")[0] === root);
  if (!page) return self.clients.openWindow(address);
  await page.focus();
  return page.navigate(address);
}
