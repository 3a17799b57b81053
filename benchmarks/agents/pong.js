// A small Node agent: answers every request at once. Its start-up is what a Node agent's user waits for.
let held = "";

const results = {
  initialize: {
    protocolVersion: 1,
    agentCapabilities: {},
    agentInfo: { name: "benchmark", version: "1" },
    authMethods: [],
    _meta: { pid: process.pid, grandchild: 0 },
  },
  "session/new": { sessionId: "sess_01hv5m2c9dq8w0" },
  "session/prompt": { stopReason: "end_turn" },
};

process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  const lines = (held + piece).split("\n");
  held = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (id === undefined || method === undefined) continue;
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }) + "\n");
  }
});
