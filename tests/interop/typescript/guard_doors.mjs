// Connects agents behind the guard of the folder in the first argument in other ways than by pipes,
// and prints what came of it.
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const sdk = await import(
  pathToFileURL(`${folder}/../node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js`)
);
const { guard, TurnError } = await import(pathToFileURL(`${folder}/dist/guard.js`));
let logged = 0;
console.error = () => (logged += 1);
const thrown = (run) => {
  try {
    run();
  } catch (error) {
    return error.message;
  }
};
const prompt = () => {
  throw Object.assign(new Error("Slow down"), { status: 429 });
};
const handlers = (app) =>
  app
    .onRequest("initialize", () => ({ protocolVersion: 1 }))
    .onRequest("session/new", () => ({ sessionId: "s1" }))
    .onRequest("session/prompt", prompt);
const params = { sessionId: "s1", prompt: [{ type: "text", text: "Hi" }] };

const late = thrown(() => guard(handlers(sdk.agent())).connect({}));
const client = sdk.client();
const wildcard = thrown(() => guard(sdk.agent()).onRequest("*", prompt).connect(sdk.client()));
const { closed } = handlers(guard(sdk.agent())).connect(client);
// The client app connects the other way: the handler's error is typed, but nothing else is.
const other = await sdk.client().connectWith(handlers(guard(sdk.agent())), async (agent) => {
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return agent.request("session/prompt", params).catch(({ data }) => data.agent_error.type);
});
// A request other than a prompt fails in the same form, without an update.
const [there, back] = [new TransformStream(), new TransformStream()];
const peer = sdk.client().connect({ readable: back.readable, writable: there.writable });
const key = "sk-test-0123456789abcdefghijABCDEFGHIJ0123456789";
guard(sdk.agent())
  .onRequest("session/prompt", prompt)
  .onRequest("session/new", () => {
    throw Object.assign(new Error(`Incorrect API key provided: ${key}`), { status: 401 });
  })
  .onRequest("session/load", () => {
    throw new sdk.RequestError(-32602, `No session for ${key}`, { key });
  })
  .connect({ readable: there.readable, writable: back.writable });
const opened = await peer.agent
  .request("session/new", { cwd: "/", mcpServers: [] })
  .catch(({ code, message, data }) => ({ code, message, data }));
const loaded = await peer.agent
  .request("session/load", { sessionId: "s1", cwd: "/", mcpServers: [] })
  .catch(({ code, message, data }) => ({ code, message, data }));
const request = {
  leaks: JSON.stringify([opened, loaded]).includes(key),
  code: opened.code,
  own: loaded.code,
};
Object.assign(request, { kind: opened.data.errorKind, keys: Object.keys(opened.data).sort() });
// However often it is guarded, and whatever its handler throws or returns, a turn ends once.
async function ends(handler, options) {
  const [there, back] = [new TransformStream(), new TransformStream()];
  const peer = sdk
    .client()
    .onNotification("session/update", () => {})
    .connect({ readable: back.readable, writable: there.writable });
  guard(guard(sdk.agent(), options))
    .onRequest("initialize", () => ({ protocolVersion: 1 }))
    .onRequest("session/prompt", handler)
    .connect({ readable: there.readable, writable: back.writable });
  await peer.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  logged = 0;
  const answer = await peer.agent.request("session/prompt", params).catch((error) => error);
  const { type, message } = answer.data?.agent_error ?? {};
  return [type ?? answer.stopReason, message, logged];
}
const twice = await ends(() => {
  throw new TurnError("budget", "Ask Ada.", { retryAfterSeconds: NaN });
});
const unprintable = await ends(() => {
  throw { status: 429, toString: () => fail() };
});
const bigint = await ends(() => {
  throw new sdk.RequestError(-32603, "429 Too Many Requests", { left: 10n });
});
// What became ready while the process stood still comes before the guard's timers.
const stood = async () => {
  setTimeout(() => {
    for (const until = Date.now() + 600; Date.now() < until;);
  }, 50);
  await new Promise((ready) => setTimeout(ready, 300));
  return { stopReason: "max_tokens" };
};
const [standstill] = await ends(stood, { firstUpdateTimeoutSeconds: 0.2 });
const silent = await ends(() => ({ stopReason: "end_turn" })); // nothing else keeps the process
process.env.LASTWORD_PASSTHROUGH = "1";
const plain = sdk.agent();
const { onRequest } = plain;
const off = guard(plain).onRequest === onRequest;
process.stdout.write(
  JSON.stringify({
    ...{ late, wildcard: wildcard ?? null, other, request, off, twice, standstill },
    ...{ unprintable: unprintable[0], bigint: bigint[0], silent: silent[0] },
    connected: closed instanceof Promise,
  }),
);
