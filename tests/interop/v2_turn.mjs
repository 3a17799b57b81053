/**
 * One turn on the official TypeScript SDK's client of protocol version 2, with the command in its
 * arguments. Owns: what reached user code, as one JSON line on stdout. Judges nothing.
 */
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, command, ...args] = process.argv.slice(2);
const entry = `${modules}/@agentclientprotocol/sdk/dist/v2/stable/acp.js`;
const sdk = await import(pathToFileURL(entry).href);
for (const level of ["log", "info", "warn", "error"]) console[level] = () => {};

const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
child.stdin.on("error", () => {});
const updates = [];
let idle;
const ended = new Promise((done) => (idle = done));
const stream = sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const connection = sdk
  .client({ name: "v2" })
  .onRequest(sdk.methods.client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options[0].optionId },
  }))
  .onNotification(sdk.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    if (params.update.state === "idle") idle();
  })
  .connect(stream);

let failed = null;
try {
  const { methods } = sdk;
  const hello = { protocolVersion: 2, info: { name: "v2", version: "1" }, capabilities: {} };
  await connection.agent.request(methods.agent.initialize, hello);
  const opening = { cwd: process.cwd(), mcpServers: [] };
  const { sessionId } = await connection.agent.request(methods.agent.session.new, opening);
  const prompt = [{ type: "text", text: "Why does the parser fail?" }];
  await connection.agent.request(methods.agent.session.prompt, { sessionId, prompt });
  await ended;
} catch (error) {
  failed = { code: error.code, message: error.message, data: error.data };
}
process.stdout.write(`${JSON.stringify({ updates, failed })}\n`, () => {
  child.kill();
  process.exit(0);
});
