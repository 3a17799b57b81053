// Plays lines from stdin (schedules, or arguments of a classifier) through the reconnect.js that the
// first argument names, and writes what came in one writing for one value.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** The same as `canonical` of tests/kit/reconnect_data.py. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** A line of JSON for each line: a schedule, or the arguments of a classifier. */
function answer(policy, line) {
  const asked = JSON.parse(line);
  if (asked.classify) {
    const name = { close: "classifyClose", upgrade: "classifyUpgrade", failure: "classifyFailure" };
    return canonical(policy[name[asked.classify]](...asked.arguments));
  }
  let state = policy.initial(asked.start);
  return canonical(
    asked.moments.map(([event, now, random]) => {
      const before = canonical(state);
      const [after, actions] = policy.step(state, event, now, random);
      if (canonical(state) !== before) throw new Error("the state before was changed");
      state = after;
      return [state, actions];
    }),
  );
}

const policy = await import(pathToFileURL(process.argv[2]).href);
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${answer(policy, line)}\n`);
}
