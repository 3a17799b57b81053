// Drives Chromium, one line of JSON for each step: `{"page": 1, "do": "click", "with": […]}` from
// stdin, `{"value": …}` or `{"error": "…"}` to stdout. The browser's command is the first argument.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FUSE_MS = 60_000;
/** What the browser says by itself while no gateway answers it; the last one is about a worker. */
const UNANSWERED = /^Failed to load resource|WebSocket connection|error occurred when fetching the script/;

const browser = await chromium.launch({
  executablePath: process.argv[2],
  timeout: FUSE_MS,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP gateway.test 127.0.0.1"],
});
const pages = new Map();
const said = new Map();
let last = 0;

/** A context of its own is a browser of its own: cookies are not shared. */
async function tab({ like, width = 1000, height = 760, dark = false, still = false, scripts = true } = {}) {
  const context =
    pages.get(like)?.context() ??
    (await browser.newContext({
      viewport: { width, height },
      javaScriptEnabled: scripts,
      colorScheme: dark ? "dark" : "light",
      reducedMotion: still ? "reduce" : "no-preference",
    }));
  const page = await context.newPage();
  page.setDefaultTimeout(FUSE_MS);
  last += 1;
  const number = last;
  pages.set(number, page);
  said.set(number, []);
  page.on("pageerror", (error) => said.get(number).push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !UNANSWERED.test(message.text())) said.get(number).push(message.text());
  });
  return number;
}

const steps = {
  goto: async (page, url) => (await page.goto(url))?.status() ?? 0,
  reload: async (page) => (await page.reload())?.status() ?? 0,
  see: (page, text) => page.getByText(text).filter({ visible: true }).first().waitFor(),
  gone: (page, selector) => page.locator(selector).first().waitFor({ state: "hidden" }),
  wait: (page, selector) => page.locator(selector).first().waitFor(),
  click: (page, name, role = "button") => page.getByRole(role, { name, exact: false }).first().click(),
  fill: (page, label, text) => page.getByLabel(label, { exact: true }).fill(text),
  press: (page, keys) => page.keyboard.press(keys),
  type: (page, text) => page.keyboard.type(text),
  select: (page, label, value) => page.getByLabel(label, { exact: true }).selectOption({ label: value }),
  text: (page, selector) => page.locator(selector).first().innerText(),
  count: (page, selector) => page.locator(selector).count(),
  evaluate: (page, code, value) => page.evaluate(`(${code})(${JSON.stringify(value ?? null)})`),
  until: async (page, code) => {
    const burns = Date.now() + FUSE_MS; // the driver's own waiting needs `eval`, which the page forbids
    while (!(await page.evaluate(`(${code})()`))) {
      if (Date.now() > burns) throw new Error("the fuse burned");
      await new Promise((go) => setTimeout(go, 50));
    }
  },
  shot: (page, path) => page.screenshot({ path }).then(() => path),
  offline: (page, is) => page.context().setOffline(is),
  media: (page, dark) => page.emulateMedia({ colorScheme: dark ? "dark" : "light" }),
  size: async (page, width, height) => {
    await page.setViewportSize({ width, height });
    await steps.until(page, `() => innerWidth === ${width} && innerHeight === ${height}`);
  },
  clock: (page) => page.clock.install(),
  forward: (page, ms) => page.clock.fastForward(ms),
  cookies: (page) => page.context().cookies(),
  cookie: (page, cookie) => page.context().addCookies([cookie]),
  errors: (page) => said.get([...pages].find(([, each]) => each === page)[0]),
  allow: (page, ...permissions) => page.context().grantPermissions(permissions),
  push: async (page, data) => {
    // The browser gives the worker a message as its push service would have brought it.
    const session = await page.context().newCDPSession(page);
    const known = new Promise((take) =>
      session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && take(registrations[0])),
    );
    await session.send("ServiceWorker.enable");
    const { registrationId } = await known;
    await session.send("ServiceWorker.deliverPushMessage", { origin: new URL(page.url()).origin, registrationId, data });
    await session.detach();
  },
  worker: (page, code, value) => page.context().serviceWorkers()[0].evaluate(`(${code})(${JSON.stringify(value ?? null)})`),
  close: (page) => page.close(),
  download: async (page, name) => {
    const [given] = await Promise.all([page.waitForEvent("download"), steps.click(page, name)]);
    return [given.suggestedFilename(), readFileSync(await given.path(), "utf8")];
  },
  axe: async (page) => {
    if (!(await page.evaluate("Boolean(window.axe)"))) await page.evaluate(AXE);
    const { violations } = await page.evaluate("axe.run({ resultTypes: ['violations'] })");
    return violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let told;
  try {
    const value =
      asked.do === "tab" ? await tab(...asked.with) : await steps[asked.do](pages.get(asked.page), ...asked.with);
    told = { value: value ?? null };
  } catch (error) {
    told = { error: String(error.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await browser.close();
