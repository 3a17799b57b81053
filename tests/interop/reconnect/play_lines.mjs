// Lines from stdin through the file that the first argument names, to stdout.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { answer } from "./play.mjs";

const policy = await import(pathToFileURL(process.argv[2]).href);
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${answer(policy, line)}\n`);
}
