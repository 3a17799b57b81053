// An agent on the official SDK behind the guard of the folder in its first argument, in the version
// of the protocol in its second. What a prompt says decides how its handler ends.
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [folder, version] = process.argv.slice(2);
const packageOf = createRequire(`${folder}/package.json`);
const sdk = await import(
  pathToFileURL(`${folder}/../node_modules/@agentclientprotocol/sdk/dist/v${version}/stable/acp.js`)
);
const ai = await import(pathToFileURL(packageOf.resolve("ai")));
const { failTurn, guard, reportRetry } = await import(pathToFileURL(`${folder}/dist/guard.js`));

const KEY = "sk-test-0123456789abcdefghijABCDEFGHIJ0123456789";
const failure = (statusCode, message, responseHeaders = {}) =>
  new ai.APICallError({
    message,
    url: "https://api.example",
    requestBodyValues: {},
    statusCode,
    responseHeaders,
  });
let cancelled;
const wait = () => new Promise((_, fail) => (cancelled = () => fail(failure(500, "Aborted"))));

async function turn({ params, client, signal }) {
  const { sessionId } = params;
  const show = (update) => client.notify(sdk.methods.client.session.update, { sessionId, update });
  const say = (text) =>
    show({
      sessionUpdate: "agent_message_chunk",
      messageId: "a1",
      content: { type: "text", text },
    });
  switch (params.prompt[0].text) {
    case "limit":
      throw failure(429, "Slow down", { "retry-after": "20" });
    case "key":
      throw failure(401, `Incorrect API key provided: ${KEY}`);
    case "silent":
      return "end_turn";
    case "wait":
      await say("Wait.");
      return wait();
    case "signal":
      await say("Wait.");
      return new Promise((_, fail) =>
        signal.addEventListener("abort", () => fail(failure(500, "Aborted"))),
      );
    case "ignore":
      return new Promise(() => {});
    case "refuse":
      throw sdk.RequestError.invalidParams({ details: "no" }, "not this");
    case "tool":
      await show({
        sessionUpdate: version === "2" ? "tool_call_update" : "tool_call",
        toolCallId: "t1",
        title: "Edit",
        kind: "edit",
        status: "in_progress",
      });
      throw failure(503, "Down");
    case "retry":
      await reportRetry(client, sessionId, failure(503, "Down"), {
        attempt: 2,
        maxAttempts: 3,
        waitSeconds: 1.5,
      });
      await say("Done.");
      return "end_turn";
    default:
      await say("Hello.");
      return "end_turn";
  }
}

const initialize = { protocolVersion: Number(version) };
if (version === "2")
  Object.assign(initialize, {
    info: { name: "a", version: "1" },
    capabilities: { session: { prompt: {} } },
  });
guard(sdk.agent({ name: "guarded" }), { cancelGraceSeconds: 1 })
  .onRequest(sdk.methods.agent.initialize, () => initialize)
  .onRequest(sdk.methods.agent.session.new, () => ({ sessionId: "s1" }))
  .onRequest(sdk.methods.agent.session.prompt, async (context) => {
    if (version === "1") return { stopReason: await turn(context) };
    const {
      client,
      params: { sessionId },
    } = context;
    const state = (update) =>
      client.notify("session/update", {
        sessionId,
        update: { sessionUpdate: "state_update", ...update },
      });
    setTimeout(async () => {
      await state({ state: "running" });
      turn(context).then(
        (stopReason) => state({ state: "idle", stopReason }),
        (error) => failTurn(client, sessionId, error),
      );
    });
    return { messageId: "m1" };
  })
  .onNotification(sdk.methods.agent.session.cancel, () => cancelled?.())
  .connect(sdk.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
