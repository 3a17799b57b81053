/**
 * A client on the official TypeScript SDK that comes to a gateway by URL: one session, one prompt,
 * then a second connection that loads the session. Owns: one JSON line on stdout for each thing that
 * the SDK delivered. Does not own: any judgement. It knows nothing of lastword.
 *
 *     node --experimental-websocket client_ts.mjs ws|http URL TOKEN CWD
 */
import { PROTOCOL_VERSION, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const [transport, url, token, cwd] = process.argv.slice(2);

function report(event, fields = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
}

function stream() {
  if (transport === "http") {
    return createHttpStream(url, { headers: { Authorization: `Bearer ${token}` } });
  }
  return createWebSocketStream(url, { protocols: ["acp.lastword.v1", `bearer.${token}`] });
}

async function connected(name, talk) {
  const connection = client({ name })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      report("permission", { name, options: params.options.map((option) => option.optionId) });
      return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      report("update", { name, update: params.update });
    })
    .connect(stream());
  const hello = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name, version: "1.0.0" },
  };
  report("initialized", { name, result: await connection.agent.request(methods.agent.initialize, hello) });
  return talk(connection.agent);
}

const session = await connected("first", async (agent) => {
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  report("session", { sessionId });
  const prompt = { sessionId, prompt: [{ type: "text", text: "What is the answer?" }] };
  try {
    report("answer", { result: await agent.request(methods.agent.session.prompt, prompt) });
  } catch (error) {
    report("refused", { code: error.code, message: error.message, data: error.data });
  }
  return sessionId;
});
await connected("second", async (agent) => {
  const loading = { sessionId: session, cwd, mcpServers: [] };
  report("loaded", { result: await agent.request(methods.agent.session.load, loading) });
});
await new Promise((done) => setTimeout(done, 300));
process.exit(0);
