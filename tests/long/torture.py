"""Every system call of the sidecar's fails once: a session over and over, each time another call.

    python -m tests.long.torture --rounds 2          # all calls, two errors each
    python -m tests.long.torture --every 9           # a sample

Owns the session (a healthy turn, a crash, a turn of the next agent, the client's leaving) and what
must hold whichever call fails: each prompt is answered exactly once, or the sidecar has ended and
said a sentence; it ends in time; there is no traceback, and no process left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.kit import children
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import AGENTS
from tests.kit.sidecar import SidecarClient

LAUNCHER = Path(__file__).with_name("torture_sidecar.py")
AGENT = (sys.executable, "-I", "-S", str(AGENTS / "chaos_agent.py"))
WORDS = ("hello", "die sigkill", "hello", "hello")


def session(client: SidecarClient) -> list[int]:
    """The whole session; gives the ids of the prompts that were sent."""
    prompts: list[int] = []
    try:
        client.initialize()
        client.answer(client.request("session/new", cwd="/", mcpServers=[]))
        for words in WORDS:
            prompts.append(client.prompt(words))
            client.answer(prompts[-1], fuse=FUSE_SECONDS)
    except BrokenPipeError:
        pass
    except AssertionError as problem:
        if "streams ended" not in str(problem):
            raise
    return prompts


def torture(number: int, round_: int, told: Path) -> tuple[str, str]:
    """One session; gives the call that failed (empty where none did), and what was wrong."""
    told.unlink(missing_ok=True)
    under = (sys.executable, str(LAUNCHER), str(number), str(round_), str(told))
    client, problem = SidecarClient(AGENT, under=under), ""
    try:
        prompts = session(client)
        if client.exit_status is None:
            client.close_stdin()
        client.wait(fuse=FUSE_SECONDS)
        client.listen(0.2)
        answers = Counter(frame["id"] for frame in client.frames if "method" not in frame)
        if any(answers[prompt] != 1 for prompt in prompts) and "lastword: " not in client.said:
            problem = f"a prompt was not answered, and nothing was said: {client.said!r}"
        if "Traceback" in client.said:
            problem = client.said
    except AssertionError as error:
        problem = str(error)
    try:
        client.finish()
    except AssertionError as error:
        problem = problem or str(error)
    return (told.read_text(encoding="utf-8") if told.exists() else ""), problem


def run(every: int, rounds: int, first: int = 1) -> tuple[int, list[str]]:
    """All sessions; gives how many calls failed, and what was wrong."""
    failed, problems = 0, []
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        for round_ in range(rounds):
            number = first
            while True:
                call, problem = torture(number, round_, told)
                if problem:
                    problems.append(f"call {number}, round {round_}: {call}: {problem}")
                if not call and not problem:
                    break
                failed += 1
                number += every
    return failed, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="fail each so-manieth call alone")
    parser.add_argument("--rounds", type=int, default=1, help="how many errors to try of each")
    parser.add_argument("--first", type=int, default=1, help="the call to begin with")
    options = parser.parse_args()
    children.prepare()
    failed, problems = run(options.every, options.rounds, options.first)
    for problem in problems:
        sys.stdout.write(f"{problem}\n\n")
    sys.stdout.write(f"failed_calls={failed} problems={len(problems)}\n")
    return 1 if problems or not failed else 0


if __name__ == "__main__":
    sys.exit(main())
