// Plays the guard's rules with both ends and the clock on stdin, in the folder that the first
// argument names: each JSON line is a step, and is answered by what came out on either side.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { GuardCore } = await import(pathToFileURL(`${process.argv[2]}/turns.js`));
let core, out, now;
const steps = {
  begin: (options) => {
    core = new GuardCore(
      options,
      (m) => out.client.push(m),
      (m) => out.agent.push(m),
    );
    now = 0;
  },
  client: (message) => core.fromClient(message, now),
  agent: (message) => core.fromAgent(message, now),
  time: (seconds) => {
    for (let due; (due = core.nextTimeout()) !== undefined && due <= seconds * 1000;) {
      now = Math.max(now, due);
      core.handleTimeout(now);
    }
    now = seconds * 1000;
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  out = { client: [], agent: [] };
  for (const [step, value] of Object.entries(JSON.parse(line))) steps[step](value);
  process.stdout.write(`${JSON.stringify(out)}\n`);
}
