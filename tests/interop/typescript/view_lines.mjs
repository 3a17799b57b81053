// Calls the compiled `error_view` that the first argument names, for each JSON line of stdin, and
// writes what it gave as a line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { retryLine, view, withErrors } = await import(pathToFileURL(process.argv[2]));
const calls = {
  view: ({ error, received, now }) => view(error, received, now),
  retry: ({ update }) => retryLine(update),
  tap: async ({ messages, throws }) => {
    const noted = [];
    const read = [];
    const readable = new ReadableStream({
      start(controller) {
        for (const message of messages) controller.enqueue(message);
        controller.close();
      },
    });
    const tapped = withErrors({ readable, writable: new WritableStream() }, (update, sessionId) => {
      noted.push([sessionId, update.sessionUpdate]);
      if (throws) throw new Error("a fault of the client's");
    });
    for await (const message of tapped.readable) read.push(message);
    return { noted, read };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...given } = JSON.parse(line);
  process.stdout.write(JSON.stringify(await calls[call](given)) + "\n");
}
