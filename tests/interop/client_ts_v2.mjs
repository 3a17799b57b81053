/**
 * A client on the official TypeScript SDK's experimental API for protocol version 2. Writes down
 * everything it is given, as `client_ts.mjs` does. A turn there ends with the idle state, which is
 * reported as its `answer`; the prompt's own answer comes when the agent has taken the prompt in.
 */
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk/experimental/v2";
import { allowOnce, converse, noteUpdate, parse, requests, start, takeConsole } from "./client_parts.mjs";

takeConsole();
const options = parse(process.argv.slice(2), { protocol: "2", name: "interop-ts-v2" });
const agent = start(options);
let idle = () => {};

const connection = client({ name: options.name })
  .onRequest(methods.client.session.requestPermission, ({ params }) => allowOnce(params))
  .onNotification(methods.client.session.update, ({ params }) => {
    noteUpdate(params);
    if (params.update.sessionUpdate === "state_update" && params.update.state === "idle") idle(params.update);
  })
  .connect(ndJsonStream(Writable.toWeb(agent.child.stdin), Readable.toWeb(agent.child.stdout)));
const hello = {
  protocolVersion: PROTOCOL_VERSION,
  capabilities: options.meta ? { _meta: JSON.parse(options.meta) } : {},
  info: { name: options.name, version: "1.0.0" },
};
const asked = requests(connection.agent, methods);
await converse(agent, options, hello, {
  ...asked,
  prompt: (params) => {
    const ended = new Promise((resolve) => (idle = resolve));
    return asked.prompt(params).then(() => ended);
  },
});
