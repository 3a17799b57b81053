// A client on the official TypeScript SDK: one turn with the agent that its arguments start. Prints
// how the turn ended, and the text of its updates, as one line of JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [command, ...words] = process.argv.slice(2);
const child = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const texts = [];

const connection = client({ name: "windows-client" })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    texts.push(update.content?.text ?? "");
  })
  .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));

let ended;
try {
  const ask = (method, params) => connection.agent.request(method, params);
  await ask(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ask(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  ended = await ask(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "hello" }] });
} catch (error) {
  ended = { message: error.message, data: error.data };
}
console.log(JSON.stringify({ ended, texts }));
child.stdin.end();
child.on("exit", () => process.exit(0));
