/**
 * The button by which a browser subscribes to notifications, and ends that again. Loaded where a
 * browser can show any.
 * @module
 */

import { get } from "./api.js";
import { button, h } from "./dom.js";

const WORKER = "/page/push_worker.js";

// A notification was clicked while this page was open.
navigator.serviceWorker.addEventListener("message", (event) => {
  if (typeof event.data?.session === "string") location.hash = `#/session/${encodeURIComponent(event.data.session)}`;
});

/**
 * Put the button into a place.
 * @param {Element} place
 * @param {string} session the only session that it is about; empty for all
 */
export async function offer(place, session) {
  const view = await get("/v1/push").catch(() => null);
  if (!view?.key) return;
  const worker = await navigator.serviceWorker.register(WORKER);
  const status = h("small", { role: "status", class: "quiet" });
  let own = own_of(view, session);
  const press = button("", async () => {
    press.disabled = true;
    try {
      own = own ? await end(worker, own) : await begin(worker, view.key, session);
      status.textContent = own ? "" : "This browser gets no more notifications.";
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : "That failed.";
    }
    press.disabled = false;
    show();
  });
  const show = () => {
    press.textContent = own ? "Stop notifications" : session ? "Notify me about this session" : "Notify me";
    press.setAttribute("aria-pressed", String(Boolean(own)));
  };
  show();
  place.append(press, " ", status);
}

/**
 * The id of this browser's subscription, if the gateway still has it.
 * @param {any} view
 * @param {string} session
 */
function own_of(view, session) {
  const id = localStorage.getItem(`push ${session}`) ?? "";
  return view.subscriptions.some((/** @type {any} */ each) => each.id === id) ? id : "";
}

/**
 * @param {ServiceWorkerRegistration} worker
 * @param {string} key
 * @param {string} session
 * @returns {Promise<string>}
 */
async function begin(worker, key, session) {
  if ((await Notification.requestPermission()) !== "granted") {
    throw new Error("The browser does not allow notifications of this page. Its settings can.");
  }
  const bytes = Uint8Array.from(atob(key.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
  const options = { userVisibleOnly: true, applicationServerKey: bytes };
  const made = await worker.pushManager.subscribe(options).catch(async () => {
    // A gateway with another key was at this address.
    await (await worker.pushManager.getSubscription())?.unsubscribe();
    return worker.pushManager.subscribe(options);
  });
  const { endpoint, keys } = made.toJSON();
  const body = JSON.stringify({ endpoint, keys, ...(session ? { session_id: session } : {}) });
  const headers = { "content-type": "application/json" };
  const view = await get("/v1/push", { method: "POST", headers, body });
  localStorage.setItem(`push ${session}`, view.id);
  return view.id;
}

/**
 * @param {ServiceWorkerRegistration} worker
 * @param {string} id
 * @returns {Promise<string>}
 */
async function end(worker, id) {
  const view = await get(`/v1/push/${encodeURIComponent(id)}`, { method: "DELETE" });
  const others = Object.keys(localStorage).some(
    (each) => each.startsWith("push ") && view.subscriptions.some((/** @type {any} */ one) => one.id === localStorage.getItem(each)),
  );
  if (!others) await (await worker.pushManager.getSubscription())?.unsubscribe();
  return "";
}
