"""The agent behind a door: ``python -m tests.kit.doors sdk|asyncio|trio [WORD…]``.

Words: `cancel=end|never` gives it a handler of `session/cancel` that ends the turn or does not
return; `record=FOLDER|off` is the author's; with `log` all of the records of `lastword.timeline` go
to the file that LOG_FILE names; `blocked=IDLE,GRACE` sets the limits in seconds, and has a blocked
loop noticed within tenths of one; with `quiet` the author has set up no logging; with `prints`
there is print before and after. The record's last entries have as long as they need; handlers end
in time also on a busy machine.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys

import lastword
from lastword.inprocess import handling
from lastword.record import thread
from tests.kit.doors.work import Work
from tests.kit.patience import FUSE_SECONDS, patient


class ToFile(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        with open(os.environ["LOG_FILE"], "a") as file:
            said = {"message": record.getMessage(), **record.__dict__}
            file.write(json.dumps(said, default=str) + "\n")


def main(door: str, *words: str) -> None:
    named = dict(word.split("=", 1) for word in words if "=" in word)
    options = None
    if "quiet" not in words:
        logging.basicConfig(level=logging.WARNING, format="[%(name)s] %(levelname)s %(message)s")
    if "log" in words:
        logger = logging.getLogger("lastword.timeline")
        logger.addHandler(ToFile())
        logger.setLevel(logging.DEBUG)
    if "record" in named:
        folder = named["record"]
        options = lastword.Options(record=False if folder == "off" else folder)
    if "blocked" in named:
        handling.BLOCKED_SECONDS = 0.3
        handling.LOOK_SECONDS = 0.05
        handling.POLL_SECONDS = 0.02
        idle, grace = map(float, named["blocked"].split(","))
        options = lastword.Options(idle_timeout_seconds=idle, cancel_grace_seconds=grace)
    thread.EXIT_SECONDS = FUSE_SECONDS
    # Only the door's own library is loaded.
    module = importlib.import_module(f"tests.kit.doors.{'sdk' if door == 'sdk' else 'serve'}")
    for name in ("lastword.inprocess.sdk.agent", "lastword.inprocess.serve.connection"):
        if loaded := sys.modules.get(name):
            for limit in ("OWN_CANCEL_SECONDS", "LAST_ANSWERS_SECONDS"):
                setattr(loaded, limit, patient(getattr(loaded, limit)))
    if "prints" in words:
        print("printed before")
    module.run(Work(module, door, named.get("cancel")), options)
    if "prints" in words:
        print(f"printed after, {[os.get_blocking(fd) for fd in (0, 1)]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
