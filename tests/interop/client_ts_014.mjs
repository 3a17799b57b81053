/**
 * A client on the official TypeScript SDK of early 2026 (0.14), whose API is one connection object.
 * Writes down everything it is given, as `client_ts.mjs` does; `agent_error` is foreign to its SDK.
 */
import { Readable, Writable } from "node:stream";
import { ClientSideConnection, PROTOCOL_VERSION, ndJsonStream } from "sdk-0-14";
import { allowOnce, converse, noteUpdate, parse, start, takeConsole, withErrors } from "./client_parts.mjs";

takeConsole();
const options = parse(process.argv.slice(2), { protocol: "1", name: "interop-ts-014" });
const agent = start(options);

const user = {
  sessionUpdate: async (params) => noteUpdate(params),
  requestPermission: async (params) => allowOnce(params),
};
const plain = ndJsonStream(Writable.toWeb(agent.child.stdin), Readable.toWeb(agent.child.stdout));
const stream = options["own-stream"] ? withErrors(plain) : plain;
const connection = new ClientSideConnection(() => user, stream);
const hello = {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: options.meta ? { _meta: JSON.parse(options.meta) } : {},
  clientInfo: { name: options.name, version: "1.0.0" },
};
await converse(agent, options, hello, {
  initialize: (params) => connection.initialize(params),
  open: (params) => connection.newSession(params),
  prompt: (params) => connection.prompt(params),
});
