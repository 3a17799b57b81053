"""An agent that answers every request with success, also those that it does not know."""

import json
import sys

for line in sys.stdin:
    frame = json.loads(line)
    if "id" in frame:
        result = {"protocolVersion": 1} if frame["method"] == "initialize" else {}
        print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}), flush=True)
