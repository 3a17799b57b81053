/**
 * The worker that shows a notification while no page is open, opens its session, and sends the
 * answer of a button. A browser keeps it; nothing is stored here.
 * @module
 */
const worker = /** @type {any} */ (self);

worker.addEventListener("push", (/** @type {any} */ event) => {
  const news = event.data?.json() ?? {};
  event.waitUntil(
    worker.registration.showNotification(String(news.title ?? "lastword"), {
      body: String(news.body ?? ""),
      icon: "/page/icon.svg",
      tag: `${news.event} ${news.session}`,
      renotify: true,
      timestamp: news.at_epoch_ms,
      requireInteraction: news.event === "ask",
      data: news,
      actions: (news.actions ?? []).map((/** @type {any} */ [label], /** @type {number} */ index) => ({ action: String(index), title: label })),
    }),
  );
});

worker.addEventListener("notificationclick", (/** @type {any} */ event) => {
  const news = event.notification.data ?? {};
  const action = event.action ? news.actions?.[Number(event.action)] : null;
  event.notification.close();
  event.waitUntil(action ? answer(news, action[1]) : open(news));
});

/**
 * Open the session, in a page that is open already if there is one.
 * @param {any} news
 */
async function open(news) {
  const session = String(news.session ?? "");
  for (const page of await worker.clients.matchAll({ type: "window", includeUncontrolled: true })) {
    if (new URL(page.url).origin !== worker.location.origin) continue;
    await page.focus();
    page.postMessage({ session });
    return;
  }
  await worker.clients.openWindow(`/#/session/${encodeURIComponent(session)}`);
}

/**
 * Send an answer, whose code is behind the `#` of its address and works once; say what became of it.
 * @param {any} news
 * @param {string} url
 */
async function answer(news, url) {
  const [address, code] = url.split("#");
  const sent = await fetch(new URL(address ?? "", worker.location.origin).pathname, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: code ?? "",
  }).catch(() => null);
  if (sent?.ok) return;
  const refusal = await sent?.json().catch(() => null);
  const body = String(refusal?.error ?? "The gateway cannot be reached.").slice(0, 200);
  await worker.registration.showNotification("The answer was not sent", { body, icon: "/page/icon.svg", data: { session: news.session } });
}
