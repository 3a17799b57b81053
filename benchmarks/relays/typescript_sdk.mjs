// A plain relay made of the official TypeScript SDK: `node typescript_sdk.mjs SDK AGENT ARGUMENTS`, where SDK is
// the folder of the package. An agent towards the client and a client towards the agent, each passing on whatever
// the other is sent, through the SDK's handlers for methods without one of their own.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const entry = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")).exports["."].import;
const { agent, client, ndJsonStream } = await import(pathToFileURL(join(sdk, entry)).href);

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const streamOf = (output, input) => ndJsonStream(Writable.toWeb(output), Readable.toWeb(input));

const towardsAgent = client({ name: "relay" })
  .onRequest("*", ({ method, params }) => towardsClient.client.request(method, params))
  .onNotification("*", ({ method, params }) => towardsClient.client.notify(method, params))
  .connect(streamOf(child.stdin, child.stdout));

const towardsClient = agent({ name: "relay" })
  .onRequest("*", ({ method, params }) => towardsAgent.agent.request(method, params))
  .onNotification("*", ({ method, params }) => towardsAgent.agent.notify(method, params))
  .connect(streamOf(process.stdout, process.stdin));

await towardsClient.closed;
child.stdin.end();
