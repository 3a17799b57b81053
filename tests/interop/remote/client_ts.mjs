/**
 * A client on the official TypeScript SDK that comes to a gateway by URL: one session and its turns,
 * a second connection after the first was cut in mid-turn. Owns: one JSON line on stdout for each
 * thing that the SDK delivered. Does not own: any judgement, nor the cut. It knows nothing of lastword.
 *
 *     node --experimental-websocket client_ts.mjs ws|http URL TOKEN CWD one|all
 */
import { PROTOCOL_VERSION, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const [transport, url, token, cwd, scenes] = process.argv.slice(2);
/** What the turn that was cut ends with, and the one after it. */
const LAST_WORDS = [" The other half.", "Again."];
const LOST_MILLIS = 10_000;
const ATTEMPTS = 5;

let questions = 0;
let open;
const opened = new Promise((resolve) => (open = resolve));
const heard = new Map();
const ends = LAST_WORDS.map((words) => new Promise((resolve) => heard.set(words, resolve)));

// A request of the SDK's own, which nobody awaits, fails with a link that is cut.
process.on("unhandledRejection", (error) => process.stderr.write(`not awaited: ${error}\n`));

function report(event, fields = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
}

function stream() {
  if (transport === "http") {
    return createHttpStream(url, { headers: { Authorization: `Bearer ${token}` } });
  }
  return createWebSocketStream(url, { protocols: ["acp.lastword.v1", `bearer.${token}`] });
}

async function connected(name) {
  const connection = client({ name })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      questions += 1;
      report("permission", { name, title: params.toolCall.title });
      // The second question is open while the link is cut.
      if (questions === 2) {
        open();
        return new Promise(() => {});
      }
      return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      report("update", { name, update: params.update });
      if (name === "second") heard.get(params.update.content?.text)?.();
    })
    .connect(stream());
  const hello = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name, version: "1.0.0" },
  };
  report("initialized", { name, result: await connection.agent.request(methods.agent.initialize, hello) });
  return connection.agent;
}

/**
 * Connects anew after the cut. A pooled connection of the first may not have been seen to end yet:
 * the request that `fetch` puts on it fails, and a client sends it again.
 */
async function connectedAgain(name) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await connected(name);
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof TypeError)) throw error;
    }
  }
}

async function turn(agent, sessionId, n) {
  const prompt = { sessionId, prompt: [{ type: "text", text: `Prompt ${n}` }] };
  const late = opened.then(() => new Promise((resolve) => setTimeout(resolve, LOST_MILLIS, "hang").unref()));
  try {
    const asked = agent.request(methods.agent.session.prompt, prompt);
    const result = await (n === 2 ? Promise.race([asked, late]) : asked);
    report(result === "hang" ? "hang" : "answer", { n, result });
  } catch (error) {
    report("refused", { n, code: error.code ?? null, message: error.message, data: error.data ?? null });
  }
}

const first = await connected("first");
const { sessionId } = await first.request(methods.agent.session.new, { cwd, mcpServers: [] });
report("session", { sessionId });
await turn(first, sessionId, 1);
if (scenes === "all") {
  await turn(first, sessionId, 2);
  const second = await connectedAgain("second");
  const loading = { sessionId, cwd, mcpServers: [] };
  report("loaded", { result: await second.request(methods.agent.session.load, loading) });
  await ends[0];
  await turn(second, sessionId, 3);
  await ends[1]; // which may come after the answer where those are on two streams
}
process.exit(0);
