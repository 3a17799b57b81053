// The official TypeScript server, with an agent in it that answers at once: `node FILE NODE_MODULES PORT`.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [folder, port] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${folder}/${path}`).href);
const sdk = "@agentclientprotocol/sdk/dist";
const { agent, methods } = await load(`${sdk}/v1/stable/acp.js`);
const { AcpServer } = await load(`${sdk}/transports/server.js`);
const node = await load(`${sdk}/transports/node-adapter.js`);
const { WebSocketServer } = await load("ws/wrapper.mjs");

function createAgent() {
  return agent({ name: "bench" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "bench" }))
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const { sessionId } = params;
      const content = { type: "text", text: "x".repeat(160) };
      const update = { sessionUpdate: "agent_message_chunk", content };
      for (let left = Number(params.prompt[0].text.split(" ")[0]); left > 0; left -= 1) {
        await client.notify(methods.client.session.update, { sessionId, update });
      }
      return { stopReason: "end_turn" };
    });
}

const acp = new AcpServer({ createAgent });
const http = createServer(node.createNodeHttpHandler(acp));
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
http.on("upgrade", node.createNodeWebSocketUpgradeHandler(acp, sockets));
http.listen(Number(port), "127.0.0.1");
