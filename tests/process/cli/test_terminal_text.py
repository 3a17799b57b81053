"""Text out of an agent on a terminal: no command passes what a terminal would obey.

Everything that an agent, a client or a file can put words into is fed with the same marks, and each
command's output is searched for what is left of them. What a command's output must say besides is
other tests'.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from typing import TYPE_CHECKING, Any

from tests.kit import left_behind
from tests.kit.command import command
from tests.kit.rows import every
from tests.process.sidecar.conftest import Start, start

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

__all__ = ["start"]

TITLE_SCREEN_AND_COLOUR = "\x1b]0;OWNED\x07 \x1b[2J\x1b[1;1H \x1b[31;5m"
LINK = "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\"
ONE_BYTE_FOR_TWO = "\x9b31m\x9d0;OWNED\x9c"
OVERWRITING = "fine\rOWNED\x08\x7f"
BIDI_AND_LINES = "\u202eDENWO\u202c\u2066\u2069\u200f\u061c \x0b\x0c\u2028\u2029\x85"
EVIL = f"evil {TITLE_SCREEN_AND_COLOUR} {LINK} {ONE_BYTE_FOR_TWO} {OVERWRITING} {BIDI_AND_LINES}"
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
ERROR = {"code": -32000, "message": EVIL, "data": {"details": EVIL, EVIL: EVIL}}


AGENT = """
import json, os, sys

life = json.load(open(sys.argv[1]))
os.write(2, life.get("stderr", "").encode())
os.write(1, life.get("noise", "").encode())
for line in () if "stderr" in life else sys.stdin:
    asked = json.loads(line)
    for frame in life.get(asked.get("method"), [{"id": "$id", "result": {"sessionId": "s1"}}]):
        text = json.dumps({"jsonrpc": "2.0", **frame})
        os.write(1, text.replace('"$id"', json.dumps(asked.get("id"))).encode() + b"\\n")
"""
"""Says what its `life` has for each method; after words on stderr it has died."""


def agent(folder: Path, **life: Any) -> list[str]:
    """The command of an agent that puts the marks wherever it has words."""
    result = {
        "protocolVersion": 1,
        "agentInfo": {"name": EVIL, "title": EVIL, "version": EVIL, EVIL: EVIL},
        "authMethods": [{"id": EVIL, "name": EVIL, "description": EVIL}],
        "agentCapabilities": {EVIL: EVIL, "_meta": {EVIL: EVIL}},
        EVIL: EVIL,
    }
    tool = {"toolCallId": EVIL, "title": EVIL, "kind": EVIL, "status": EVIL}
    updates = [
        {"sessionUpdate": EVIL, EVIL: EVIL},
        {"sessionUpdate": "tool_call", **tool},
        {"sessionUpdate": "tool_call_update", **tool, "status": "completed"},
    ]
    turn = [
        *(
            {"method": "session/update", "params": {"sessionId": "s1", "update": each}}
            for each in updates
        ),
        {"method": EVIL, "params": {"sessionId": EVIL, EVIL: EVIL}},
        {"id": EVIL, "result": {EVIL: EVIL}},
        {"id": "$id", "error": ERROR},
    ]
    told = {"initialize": [{"id": "$id", "result": result}], "session/prompt": turn, **life}
    file = folder / "life.json"
    file.write_text(json.dumps(told))
    return [sys.executable, "-c", AGENT, str(file)]


DIES = {"stderr": f"Traceback: {EVIL}\n"}
NOISE = {"noise": EVIL.replace("\x85", "") + "\n"}
NO_ACP = {"initialize": [{"id": "$id", "result": {"protocolVersion": EVIL}}]}


def harmless(output: bytes | str) -> list[str]:
    """What is left in an output that a terminal would obey, with what stands around it."""
    text = output if isinstance(output, str) else output.decode(errors="surrogateescape")
    return [
        ascii(text[max(0, m.start() - 40) : m.end() + 20]) for m in list(OBEYED.finditer(text))[:3]
    ]


def shown(folder: Path, *words: str) -> str:
    """What a command shows, whatever its status."""
    environment = os.environ | {"LASTWORD_STATE_DIR": str(folder / "state")}
    done: subprocess.CompletedProcess[str] = command(*words, environment=environment, cwd=folder)
    assert done.stdout or done.stderr
    return done.stdout + done.stderr


# `doctor` and `check` read an agent's answers, its stderr and its noise.

SOME = ("--only", "AGT-1,AGT-18", "--timeout", "3", "--turn-limit", "3")


@every(
    ("words", "life"),
    [
        (["doctor", "--timeout", "5"], DIES),
        (["doctor", "--timeout", "5"], NO_ACP),
        (["doctor", "--json"], {}),
        (["check", *SOME], NOISE),
        (["check", "--json", "--junit", "report.xml", *SOME], NOISE),
    ],
)
def test_a_command_that_tries_an_agent_shows_nothing_that_a_terminal_obeys(
    tmp_path: Path, words: list[str], life: dict[str, Any]
) -> None:
    assert harmless(shown(tmp_path, *words, "--", *agent(tmp_path, **life))) == []
    for file in tmp_path.glob("report.xml"):
        assert harmless(file.read_bytes()) == []


# `run` writes on its own stderr, where the agent's passes as it came. Commands read the record.

READERS = [
    *(["log"], ["log", "--last"], ["log", "--errors", "--json"], ["stats"]),
    *(["export", EVIL], ["export", "--last", "-o", "-"]),
]


def test_run_and_the_commands_that_read_its_record_show_nothing_that_a_terminal_obeys(
    start: Start, tmp_path: Path
) -> None:
    client = start.command(
        agent(tmp_path, **NOISE),
        options=("--verbose", "--record-text", "--cancel-grace=0.5"),
        environment={"LASTWORD_STATE_DIR": str(tmp_path / "state")},
    )
    info = {"name": EVIL, "version": EVIL}
    client.answer(client.request("initialize", protocolVersion=1, clientInfo=info))
    client.request(EVIL, request_id=EVIL, sessionId=EVIL, cwd=EVIL)
    client.send_bytes(EVIL.replace("\x85", "").encode() + b"\n")
    client.notify(EVIL, **{EVIL: EVIL})
    client.call("session/new", cwd=EVIL, mcpServers=[])
    client.answer(client.prompt("Hello"))
    client.answer(client.prompt(EVIL, session=EVIL))
    client.end()
    assert client.said
    assert harmless(client.said) == []
    left_behind.wait_for_none(client.mark)  # a recorder may outlive its run
    for words in READERS:
        assert harmless(shown(tmp_path, *words)) == [], words
    file = tmp_path / "report.zip"
    shown(tmp_path, "export", "--last", "-o", str(file))
    with zipfile.ZipFile(file) as bundle:
        for member in bundle.namelist():
            assert harmless(bundle.read(member)) == [], member


# `explain` is given whatever somebody has.

TOLD = {
    "an error": json.dumps(ERROR, ensure_ascii=False),
    "a text": f"429 Too Many Requests: {EVIL}",
    "a traceback": f'Traceback (most recent call last):\n  File "{EVIL}"\nValueError: {EVIL}',
}


@every("told", TOLD.values())
def test_explain_shows_nothing_that_a_terminal_obeys(tmp_path: Path, told: str) -> None:
    file = tmp_path / "told"
    for options in ([], ["--json"], ["--jsonl"]):
        file.write_text(told if options != ["--jsonl"] else json.dumps({"id": EVIL, "text": told}))
        assert harmless(shown(tmp_path, "explain", *options, str(file))) == [], options


ARGUMENTS = [
    ["run", "--verbose", "--", f"/none/{EVIL}"],
    ["run", f"--{EVIL}", "--", "true"],
    ["run", "--idle-timeout", EVIL, "--", "true"],
    ["explain", f"/none/{EVIL}"],
    ["agent", EVIL],
    ["log", "--record", f"/none/{EVIL}"],
    ["doctor", "--client", EVIL, "--", f"/none/{EVIL}"],
    ["check", "--only", EVIL, "--", "true"],
    [EVIL],
]


def test_no_command_repeats_an_argument_that_a_terminal_would_obey(tmp_path: Path) -> None:
    """They come from scripts and settings as much as from hands."""
    for arguments in ARGUMENTS:
        assert harmless(shown(tmp_path, *arguments)) == [], arguments
