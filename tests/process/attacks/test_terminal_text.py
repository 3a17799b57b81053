"""Text out of an agent on a terminal: no command passes what a terminal would obey.

Everything that an agent, a client or a file can put words into is fed with the same marks, and each
command's output is searched for what is left of them. What a command's output must say besides is
other tests'.
"""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING, Any

from tests.kit import left_behind
from tests.kit.rows import every
from tests.process.attacks.conftest import GRACE, Attack

if TYPE_CHECKING:
    import subprocess

    from tests.process.attacks.conftest import Life

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


def evil_agent(**life: Any) -> Life:
    """An agent that puts the marks wherever it has words."""
    result = {
        "protocolVersion": 1,
        "agentInfo": {"name": EVIL, "title": EVIL, "version": EVIL, EVIL: EVIL},
        "authMethods": [{"id": EVIL, "name": EVIL, "description": EVIL}],
        "agentCapabilities": {EVIL: EVIL, "_meta": {EVIL: EVIL}},
        EVIL: EVIL,
    }
    tool = {"toolCallId": EVIL, "title": EVIL, "kind": EVIL, "status": EVIL}
    turn = [
        ["update", EVIL, {EVIL: EVIL}],
        ["update", "tool_call", tool],
        ["update", "tool_call_update", {**tool, "status": "completed"}],
        ["send", {"method": EVIL, "params": {"sessionId": EVIL, EVIL: EVIL}}],
        ["send", {"id": EVIL, "result": {EVIL: EVIL}}],
        ["raw", EVIL.replace("\x85", "") + "\n"],
        ["error", ERROR],
    ]
    return {"initialize": [[["answer", result]]], "session/prompt": [turn], **life}


DIES: Life = {"start": [["stderr", f"Traceback: {EVIL}\n"], ["exit", 1]]}
NOISE: Life = {"start": [["raw", EVIL.replace("\x85", "") + "\n"]]}
NO_ACP: Life = {"initialize": [[["send", {"id": "$id", "result": {"protocolVersion": EVIL}}]]]}


def harmless(output: bytes | str) -> list[str]:
    """What is left in an output that a terminal would obey, with what stands around it."""
    text = output if isinstance(output, str) else output.decode(errors="surrogateescape")
    return [
        ascii(text[max(0, m.start() - 40) : m.end() + 20]) for m in list(OBEYED.finditer(text))[:3]
    ]


def both(done: subprocess.CompletedProcess[str]) -> str:
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
    attack: Attack, words: list[str], life: Life
) -> None:
    done = attack.command(*words, "--", *attack.agent(evil_agent(**life)), check=False)
    assert harmless(both(done)) == []
    for file in attack.folder.glob("report.xml"):
        assert harmless(file.read_bytes()) == []


# `run` writes on its own stderr, where the agent's passes as it came. Commands read the record.

READERS = [
    *(["log"], ["log", "--last"], ["log", "--errors", "--json"], ["stats"]),
    *(["export", EVIL], ["export", "--last", "-o", "-"]),
]


def test_run_and_the_commands_that_read_its_record_show_nothing_that_a_terminal_obeys(
    attack: Attack,
) -> None:
    options = ("--verbose", "--record-text", GRACE)
    with attack.run(evil_agent(**NOISE), options=options) as client:
        info = {"name": EVIL, "version": EVIL}
        client.answer(client.request("initialize", protocolVersion=1, clientInfo=info))
        client.request(EVIL, sessionId=EVIL, cwd=EVIL, request_id=EVIL)
        client.send_line(EVIL.replace("\x85", "").encode())
        client.notify(EVIL, **{EVIL: EVIL})
        client.call("session/new", cwd=EVIL, mcpServers=[])
        client.answer(client.prompt("Hello"))
        client.answer(client.prompt(EVIL, session=EVIL))
    assert client.stderr.data
    assert harmless(bytes(client.stderr.data)) == []
    left_behind.wait_for_none(client.mark)  # a recorder may outlive its run
    for command in READERS:
        assert harmless(both(attack.command(*command, check=False))) == [], command
    file = attack.folder / "report.zip"
    attack.command("export", "--last", "-o", str(file))
    with zipfile.ZipFile(file) as bundle:
        for member in bundle.namelist():
            assert harmless(bundle.read(member)) == [], member


# `explain` is given whatever somebody has.

TOLD = {
    "an error": json.dumps(ERROR, ensure_ascii=False),
    "a text": f"429 Too Many Requests: {EVIL}",
    "a traceback": f'Traceback (most recent call last):\n  File "{EVIL}"\nValueError: {EVIL}',
}


@every("options", [[], ["--json"], ["--jsonl"]])
@every("told", TOLD.values())
def test_explain_shows_nothing_that_a_terminal_obeys(
    attack: Attack, told: str, options: list[str]
) -> None:
    file = attack.folder / "told"
    file.write_text(told if options != ["--jsonl"] else json.dumps({"id": EVIL, "text": told}))
    done = attack.command("explain", *options, str(file), check=False)
    assert harmless(both(done)) == []


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


@every("arguments", ARGUMENTS)
def test_no_command_repeats_an_argument_that_a_terminal_would_obey(
    attack: Attack, arguments: list[str]
) -> None:
    """They come from scripts and settings as much as from hands."""
    assert harmless(both(attack.command(*arguments, check=False))) == []
