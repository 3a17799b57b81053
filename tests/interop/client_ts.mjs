/**
 * A client on the official TypeScript SDK (its stable v1 API) that writes down everything it is
 * given. Owns: one session with the command after `--`, and one JSON line on stdout for each thing
 * that happened: `wire` is what passed over the pipes, `update` is what the SDK delivered to user
 * code, `log` is what the SDK itself complained about. Does not own: any judgement. It knows
 * nothing of lastword, and `agent_error` is foreign to its SDK. `client_py.py` writes the same.
 */
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { allowOnce, converse, noteUpdate, parse, report, requests, start, takeConsole, withErrors } from "./client_parts.mjs";

const REPORTED_LINE = 1024 * 1024;

takeConsole();
const options = parse(process.argv.slice(2), {
  protocol: "1",
  name: "interop-ts",
  more: {
    "agent-error": { type: "boolean", default: false },
    "undrained-stderr": { type: "boolean", default: false },
  },
});
const agent = start(options);

function reportLine(direction, line) {
  if (line.length > REPORTED_LINE) {
    report("wire", { direction, bytes: line.length });
    return;
  }
  try {
    report("wire", { direction, message: JSON.parse(line) });
  } catch {
    report("wire", { direction, raw: line });
  }
}

/** Passes bytes on unchanged and notes each whole line of them. */
function tee(direction) {
  const decoder = new TextDecoder();
  let pending = [];
  return new TransformStream({
    transform(chunk, controller) {
      pending.push(decoder.decode(chunk, { stream: true }));
      if (pending.at(-1).includes("\n")) {
        const lines = pending.join("").split("\n");
        pending = [lines.pop()];
        for (const line of lines) reportLine(direction, line);
      }
      controller.enqueue(chunk);
    },
    flush() {
      const rest = pending.join("");
      if (rest) reportLine(direction, rest);
    },
  });
}

function streamOf({ child }) {
  const outgoing = tee("out");
  outgoing.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {});
  return ndJsonStream(outgoing.writable, Readable.toWeb(child.stdout).pipeThrough(tee("in")));
}

function capabilities() {
  if (options.meta) return { _meta: JSON.parse(options.meta) };
  if (!options["agent-error"]) return {};
  return { _meta: { agent_error: { version: 1 } } };
}

const plain = streamOf(agent);
const connection = client({ name: options.name })
  .onRequest(methods.client.session.requestPermission, ({ params }) => allowOnce(params))
  .onNotification(methods.client.session.update, ({ params }) => noteUpdate(params))
  .connect(options["own-stream"] ? withErrors(plain) : plain);
const hello = {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: capabilities(),
  clientInfo: { name: options.name, version: "1.0.0" },
};
await converse(agent, options, hello, requests(connection.agent, methods));
