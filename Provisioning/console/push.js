// Alerts on this phone, by Web Push: one switch.

import { get, onNobody, put, remove } from "./api.js";
import { checkbox, h, problem } from "./dom.js";
import { t } from "./text.js";

async function manager() {
  if (!globalThis.Notification || !navigator.serviceWorker) return null;
  return (await navigator.serviceWorker.getRegistration())?.pushManager;
}

/** Hidden where the authority or the browser cannot do it. */
export function pushSwitch() {
  const box = checkbox({ id: "push", onchange: change }), error = problem();
  const node = h("div", { hidden: true }, h("label.check", box, t("push.alerts")), error);
  let key = null;

  async function load() {
    const pushes = await manager(), known = pushes && await get("/push");
    key = known?.key;
    if (!key) return;
    const own = await pushes.getSubscription();
    box.checked = own && own.endpoint === known.endpoint;
    node.hidden = false;
  }

  async function change() {
    error.textContent = "";
    box.disabled = true;
    try {
      if (!box.checked) await remove("/push");
      else if (await Notification.requestPermission() !== "granted") {
        throw new Error(t("push.permit"));
      }
      await forget();
      if (box.checked) await subscribe(key);
    } catch (fault) {
      box.checked = !box.checked;
      error.textContent = fault.message;
    }
    box.disabled = false;
  }

  load().catch(() => {});
  return node;
}

async function subscribe(key) {
  const own = await (await manager())
    .subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await put("/push", own.toJSON()).catch(async error => {
    await forget();
    throw error;
  });
}

async function forget() {
  await (await (await manager())?.getSubscription())?.unsubscribe();
}

/** The authority forgets the browser with the login; the browser forgets here. */
async function leave() {
  await forget();
  const worker = await navigator.serviceWorker.getRegistration();
  for (const one of await worker?.getNotifications() ?? []) one.close();
}

onNobody(() => leave().catch(() => {}));
