// Reads each JSON line of stdin with the compiled reader that the first argument names, and writes
// what it made of it as a line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { readError } = await import(pathToFileURL(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  const { thrown, value } = JSON.parse(line);
  const error = thrown ? Object.assign(new Error(value.message), value) : value;
  process.stdout.write(JSON.stringify(readError(error)) + "\n");
}
