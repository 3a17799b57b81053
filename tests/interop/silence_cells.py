"""One cell of the silences' table: a real agent that is silent for one reason, behind lastword.

Owns the reasons, how each is brought about in an unmodified agent, and what lastword made of it:
its remark, the turn's end and the record. Does not own: the agents (`agents_registry`), or what is
made of the cells (`silence_table`).

A process spins where its main thread does, on a signal: in Node by a preloaded module, in Python by
`sitecustomize`. A program that loads neither has a child that spins in its place.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
import time
import uuid
from contextlib import ExitStack, closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.kit.peer import MARK, StrictClient
from lastword.kit.provider.dialects import TEXT
from lastword.kit.provider.server import Call, Provider, ProviderScenario
from lastword.kit.provider.target import Target
from lastword.platform.process_tree import read_tree
from tests.interop.agents_registry import AGENTS
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.kit.peer import Frame

WARN_SECONDS, LIMIT_SECONDS = 9.0, 14.0
RETRIES_SECONDS = 17.0
"""So much later with retries, between which agents wait for longer and longer."""

LONG_SECONDS = 60.0
SLOW_ANSWER_SECONDS = 20.0
FULL_ACCESS = "full-access"
FUSE = 4 * FUSE_SECONDS
CAPABILITIES = {
    "session": {"notices": {}},
    "_meta": {"agent_error": {"version": 1, "retry": True}},
}
NODE_PRELOAD = f"""\
const spins = process.env.SPINS;
if (require("worker_threads").isMainThread) process.on("SIGUSR2", () => {{
  require("fs").appendFileSync(spins, `${{process.pid}}\\n`);
  const end = Date.now() + {LONG_SECONDS * 1000:.0f};
  while (Date.now() < end);
}});
"""
PYTHON_PRELOAD = f"""\
import os, signal, time
def spin(*_):
    with open(os.environ["SPINS"], "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    end = time.monotonic() + {LONG_SECONDS}
    while time.monotonic() < end:
        pass
if os.environ.get("SPINS"):
    signal.signal(signal.SIGUSR2, spin)
"""
SHELL_WITH_CHILD = '"$0" -c "import sitecustomize, time; time.sleep(900)" & exec "$@"'
_USR2_CAUGHT = 1 << (signal.SIGUSR2 - 1)


class Silence(StrEnum):
    """Why an agent is silent."""

    HANG = "hang"
    RETRIES = "retries"
    TOOL = "tool"
    SPINS = "spins"
    STOPPED = "stopped"
    SLOW = "slow"
    """Not a failure: the provider answers late, and then slowly."""


SCENARIOS = {
    Silence.HANG: ProviderScenario.HANG,
    Silence.RETRIES: ProviderScenario.OVERLOADED,
    Silence.TOOL: ProviderScenario.HEALTHY_TOOL,
    Silence.SPINS: ProviderScenario.SLOW,
    Silence.STOPPED: ProviderScenario.SLOW,
    Silence.SLOW: ProviderScenario.SLOW,
}
CAUSES = {
    Silence.HANG: "provider",
    Silence.RETRIES: "tries",
    Silence.TOOL: "tool",
    Silence.SPINS: "busy",
    Silence.STOPPED: "stopped",
}
WAITS = {
    Silence.HANG: "provider_seconds",
    Silence.RETRIES: "provider_seconds",
    Silence.SPINS: "agent_seconds",
    Silence.STOPPED: "agent_seconds",
}
"""The fact of the record by which the turn's end says what the time was spent on."""

ENDS = {
    Silence.HANG: {("timeout", "provider_silent")},
    # What the provider answered is known of some agents alone.
    Silence.RETRIES: {
        ("provider_unavailable", "retries_pending"),
        *(("agent_stalled", limit) for limit in ("first_update_timeout", "idle_timeout")),
    },
    Silence.TOOL: {("agent_stalled", "tool_timeout")},
    Silence.SPINS: {("agent_stalled", "idle_timeout")},
    Silence.STOPPED: {("agent_stalled", "idle_timeout")},
}


class Cell(msgspec.Struct, frozen=True):
    """An agent, and why it is silent."""

    agent: str
    silence: Silence

    def __str__(self) -> str:
        return f"{self.agent}-{self.silence}"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What lastword made of a silence.

    Attributes:
        cell: the cell.
        remarks: the notices that the client was sent.
        retries: the types of the retries that were reported.
        end: the type and the reason of the error that ended the turn, or its stop reason.
        text: whether the provider's whole text came through.
        causes: the causes that the record has.
        waits: the facts about its waits in the record's entry of the turn's end.
    """

    cell: Cell
    remarks: tuple[str, ...] = ()
    retries: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    text: bool = False
    causes: tuple[str, ...] = ()
    waits: dict[str, Any] = {}

    @property
    def is_right(self) -> bool:
        """Whether the cause was reported, and the end is as it has to be."""
        silence = self.cell.silence
        if silence is Silence.SLOW:
            accused = any(cause not in {"provider", "None"} for cause in self.causes)
            return self.end == ("end_turn",) and self.text and not self.retries and not accused
        if silence is Silence.RETRIES and self.end[0] == "provider_unavailable" and self.retries:
            # The failed calls themselves were reported, which says more.
            return True
        return (
            CAUSES[silence] in self.causes
            and self.end in ENDS[silence]
            and (silence not in WAITS or WAITS[silence] in self.waits)
        )


class SilentProvider(Provider):
    """A provider that sees to it that its agent is silent as a cell wants it.

    Attributes:
        root: The process that has started the agent.
    """

    root = 0

    def __init__(self, silence: Silence) -> None:
        super().__init__(SCENARIOS[silence])
        self._silence = silence
        self._timer: threading.Timer | None = None
        self.command = "tail -f /dev/null"
        self.slow_seconds = 6.0 if silence is Silence.SLOW else LONG_SECONDS

    def record(self, call: Call) -> None:
        """Count a call; the turn's first one begins what makes the agent silent."""
        super().record(call)
        if not call.offers_tools or self._timer is not None:
            return
        self._timer = threading.Timer(1.0, self._act)
        self._timer.start()
        if self._silence is Silence.SLOW:
            time.sleep(SLOW_ANSWER_SECONDS)

    def _act(self) -> None:
        for process in read_tree(self.root):
            if any("lastword" in word for word in process.words[1:]):
                continue
            with suppress(OSError):
                if self._silence is Silence.STOPPED:
                    os.kill(process.pid, signal.SIGSTOP)
                elif self._silence is Silence.SPINS and _catches(process.pid):
                    os.kill(process.pid, signal.SIGUSR2)


def _catches(pid: int) -> bool:
    """Return whether a process has loaded what makes it spin."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & _USR2_CAUGHT)


def play(cell: Cell, folder: Path) -> Result:
    """Run one turn of a silent agent, its home in a folder."""
    place = folder / str(cell)
    home, cwd, state, preload = (place / name for name in ("home", "work", "state", "preload"))
    for each in (home, cwd, state, preload):
        each.mkdir(parents=True)
    with ExitStack() as stack:
        provider = stack.enter_context(SilentProvider(cell.silence))
        program = AGENTS[cell.agent]
        command = program.command(cwd)
        environment = program.environment(Target(provider.url, provider.openai_url), home)
        environment |= {MARK: uuid.uuid4().hex, "LASTWORD_STATE_DIR": str(state)}
        if cell.silence is Silence.SPINS:
            command, more = _spinning(command, preload)
            environment |= more
        options = ["--record", str(state), *_limits(cell.silence)]
        client = StrictClient(
            [sys.executable, "-m", "lastword", "run", *options, "--", *command], environment
        )
        stack.callback(client.close)
        provider.root = client.pid
        end, since = _turn(client, str(cwd))
        events = [event for event in client.events[since:] if not event.sent]
    return Result(
        cell=cell,
        remarks=tuple(str(e.update.get("title")) for e in events if e.kind == "notice"),
        retries=tuple(str(e.update["error"]["type"]) for e in events if e.kind == "agent_retry"),
        end=end,
        text=all(piece.strip().encode() in b"".join(e.raw for e in events) for piece in TEXT),
        causes=tuple(_facts(state, "silence", "cause")),
        waits=next(iter(_ends(state)), {}),
    )


def _limits(silence: Silence) -> list[str]:
    later = RETRIES_SECONDS if silence is Silence.RETRIES else 0.0
    options = ["--warn-after", str(WARN_SECONDS + later), "--cancel-grace", "1"]
    if silence is not Silence.SLOW:
        for name in ("--first-update-timeout", "--idle-timeout", "--tool-timeout"):
            options += [name, str(LIMIT_SECONDS + later)]
    return options


def _spinning(command: list[str], preload: Path) -> tuple[list[str], dict[str, str]]:
    """Return a command and variables with which an agent's process spins at SIGUSR2."""
    (preload / "spin.cjs").write_text(NODE_PRELOAD)
    (preload / "sitecustomize.py").write_text(PYTHON_PRELOAD)
    environment = {
        "SPINS": str(preload / "spins"),
        "NODE_OPTIONS": f"--require {preload / 'spin.cjs'}",
        "PYTHONPATH": str(preload),
    }
    with Path(command[0]).open("rb") as program:
        if program.read(4) == b"\x7fELF" and Path(command[0]).name != "node":
            command = ["/bin/sh", "-c", SHELL_WITH_CHILD, sys.executable, *command]
    return command, environment


def _turn(client: StrictClient, cwd: str) -> tuple[tuple[str, ...], int]:
    """Open a session and prompt in it; return how the turn ended, and its first event's number."""
    greeting = client.initialize(CAPABILITIES, info={"name": "silence-table", "version": "1"})
    _frame(client, greeting)
    opened = _frame(client, client.new_session(cwd))["result"]
    session = opened["sessionId"]
    modes = [mode["id"] for mode in (opened.get("modes") or {}).get("availableModes") or ()]
    if FULL_ACCESS in modes:
        # Its sandbox needs a program that not every machine has.
        params = {"sessionId": session, "modeId": FULL_ACCESS}
        _frame(client, client.request("session/set_mode", params))
    since = len(client.events)
    frame = _frame(client, client.prompt(session, "Run the command."))
    if "result" in frame:
        return (str(frame["result"].get("stopReason")),), since
    data = frame["error"].get("data") or {}
    payload = data.get("agent_error") or {} if isinstance(data, dict) else {}
    return (str(payload.get("type")), str(payload.get("reason"))), since


def _frame(client: StrictClient, request: object) -> Frame:
    event = client.answer_to(request, FUSE)
    if event is None or event.frame is None:
        raise TimeoutError(bytes(client.stderr.data[-2000:]))
    return event.frame


def _facts(state: Path, kind: str, name: str) -> Iterator[str]:
    for facts in _entries(state, kind):
        yield str(facts.get(name))


def _ends(state: Path) -> Iterator[dict[str, Any]]:
    for facts in (*_entries(state, "answer"), *_entries(state, "error")):
        waits = {name: value for name, value in facts.items() if name.endswith("_seconds")}
        if waits:
            yield waits


def _entries(state: Path, kind: str) -> list[dict[str, Any]]:
    store = state / "record.db"
    if not store.exists():
        return []
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT facts FROM entries WHERE kind = ? ORDER BY rowid", (kind,)
        )
        return [json.loads(text) for (text,) in rows.fetchall()]
