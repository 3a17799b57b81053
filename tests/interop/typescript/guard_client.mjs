// A client on the official SDK that starts the agent in its arguments, and takes a turn for each
// JSON line of stdin: `{"prompt": TEXT, "cancel": whether}`. Prints what its user would learn, a line a turn.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [folder, version, capabilities, ...command] = process.argv.slice(2);
const sdk = await import(
  pathToFileURL(`${folder}/../node_modules/@agentclientprotocol/sdk/dist/v${version}/stable/acp.js`)
);
const { readError } = await import(pathToFileURL(`${folder}/dist/index.js`));
const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "ignore"] });
const pipes = sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const { methods } = sdk;
let raw = [],
  moved = () => {};
const tap = new TransformStream({
  transform(message, controller) {
    raw.push(message);
    moved();
    controller.enqueue(message);
  },
});
for (const level of ["log", "warn", "error"]) console[level] = () => {};
const { agent, close } = sdk
  .client({ name: "probe" })
  .onNotification(methods.client.session.update, () => {})
  .connect({ writable: pipes.writable, readable: pipes.readable.pipeThrough(tap) });
const until = async (holds) => {
  while (!raw.some(holds)) await new Promise((go) => (moved = go));
};
const _meta = JSON.parse(capabilities);
const hello =
  version === "1"
    ? { clientCapabilities: { _meta } }
    : { info: { name: "probe", version: "1" }, capabilities: { _meta } };
await agent.request(methods.agent.initialize, { protocolVersion: Number(version), ...hello });
const { sessionId } = await agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
for await (const line of createInterface({ input: process.stdin })) {
  const { prompt, cancel } = JSON.parse(line);
  raw = [];
  const request = agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: "text", text: prompt }],
  });
  const answered = request.then(
    (result) => ({ result }),
    ({ code, message, data }) => ({ error: { code, message, data } }),
  );
  if (cancel) {
    if (prompt === "wait" || prompt === "signal")
      await until((one) => one.params?.update?.sessionUpdate === "agent_message_chunk");
    await agent.notify(methods.agent.session.cancel, { sessionId });
  }
  const answer = await answered;
  if (version === "2") await until((one) => one.params?.update?.state === "idle");
  const updates = raw.flatMap((one) => (one.params?.update ? [one.params.update] : []));
  const typed = readError(answer.error ?? answer.result) ?? readError(updates.at(-1));
  process.stdout.write(`${JSON.stringify({ updates, typed, ...answer })}\n`);
}
child.kill();
process.exit(0);
