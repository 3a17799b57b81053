"""A gateway that is replaced and killed in mid-turn, over and over, with an editor before it.

    python -m tests.long.kill_gateway --kills 100 --seed 1

The editor is before `lastword connect`, as an editor that starts commands is. In each turn, drawn
from the seed, the gateway is replaced by `reload`, or it or the agent is killed; at a word of the
agent's, or while its question is open. A turn in a gateway that is replaced ends as ever, with
every word once; one whose gateway or agent was killed ends typed, with a part of the words that has
no hole, and the next turn of the session works.

The last line counts: `kills=… lost=0 double=0 unanswered=0 untyped=0 left=0`. Status 1 where
anything is not 0. `left` is what remains beside the processes that serve: zombies of the gateway,
and agents without a session.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.serving import Gateway, until
from tests.kit.places import ROOT, SOURCE

WORDS, PAUSE_MS = 30, 4
KINDS = ("reload", "reload", "gateway", "agent")
QUESTIONS_OPEN = 0.4
"""In how many turns the question is open when something dies."""

NO_LOOP = """
import sys
from lastword.core.restart import state
state.FIRST_BACKOFF_SECONDS = 0.0
state.LOOP_CRASHES = state.LOOP_SHORT_LIVES = sys.maxsize
"""
"""What a crash loop is and what waits after a crash has tests of its own; here it would be days."""

ENDS_TURNS = frozenset({"gateway", "agent"})


@dataclass(slots=True)
class Score:
    kills: int = 0
    lost: int = 0
    double: int = 0
    unanswered: int = 0
    untyped: int = 0
    left: int = 0

    def __str__(self) -> str:
        return " ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.double or self.unanswered or self.untyped or self.left)


def children_of(pid: int) -> dict[int, str]:
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_bytes().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid:
            found[int(stat.parent.name)] = state.decode()
    return found


def expected(name: str) -> list[str]:
    words = [f"{name}.{number}" for number in range(WORDS)]
    words.insert(WORDS // 2 + 1, f"{name}.answer=True")
    return words


class Killing:
    def __init__(self, gateway: Gateway, seed: int, prompts: Path) -> None:
        self.score = Score()
        self._gateway = gateway
        self._dice = random.Random(seed)
        self._prompts = prompts

    async def run(self, kills: int) -> None:
        token = self._gateway.token()
        async with connected(self._gateway.url, token, hasty=True) as editor:
            session_id = await editor.begin(self._gateway.root)
            for number in itertools.count():
                if self.score.kills >= kills:
                    break
                await self._turn(editor, session_id, f"t{number}")
            await self._look_at_all(editor)

    async def _turn(self, editor: Editor, session_id: str, name: str) -> None:
        kind = self._dice.choice(KINDS)
        in_question = self._dice.random() < QUESTIONS_OPEN
        at = self._dice.randrange(WORDS)
        editor.answer_questions = not in_question
        # Asked now, since it takes as long as a turn.
        held = until("the session's agent is there", self._held)
        asked_before = len(questions(editor))
        prompt = editor.prompt(session_id, f"{WORDS} {PAUSE_MS} ask as={name}")

        def is_there(_: Editor) -> bool:
            asked = in_question and len(questions(editor)) > asked_before
            said = not in_question and len(words_of(editor, name)) > at
            return asked or said or bool(editor.answers(prompt))

        await editor.wait_for(is_there)
        if editor.answers(prompt):  # all of it came before we looked: the next turn, then
            self._look_at(editor, name, "no kill", editor.answers(prompt)[0])
            return
        self._strike(kind, held)
        self.score.kills += 1
        if in_question:
            chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
            editor.send({"id": questions(editor)[-1]["id"], "result": chosen})
        try:
            answer = await editor.answer(prompt)
        except TimeoutError:
            self._found("unanswered", name, kind, in_question)
            return
        self._look_at(editor, name, kind, answer)

    def _held(self) -> dict[str, Any] | None:
        return next((each for each in self._gateway.holders() if each["sessions"]), None)

    def _strike(self, kind: str, held: dict[str, Any]) -> None:
        gateway = self._gateway
        if kind == "gateway":
            gateway.crash()
        elif kind == "reload":
            gateway.reload()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(held["agent_pid"], signal.SIGKILL)

    def _look_at(self, editor: Editor, name: str, kind: str, answer: dict[str, Any]) -> None:
        words, whole = words_of(editor, name), expected(name)
        if answer.get("result") == {"stopReason": "end_turn"}:
            if words != whole:
                self._found("lost", name, kind, words)
            return
        payload = answer.get("error", {}).get("data", {}).get("agent_error", {})
        if kind not in ENDS_TURNS or payload.get("type") != "agent_crash":
            self._found("untyped", name, kind, answer)
        if words != whole[: len(words)]:
            self._found("lost", name, kind, words)

    async def _look_at_all(self, editor: Editor) -> None:
        for what in (answers(editor), Counter(str(each["id"]) for each in questions(editor))):
            for key, count in what.items():
                if count > 1:
                    self._found("double", key, count)
        sent = Counter(self._prompts.read_text(encoding="utf-8").splitlines())
        for line, count in sent.items():
            if count > 1:
                self._found("double", "sent", line)
        children = children_of(self._gateway.front.pid)
        zombies = [pid for pid, state in children.items() if state == "Z"]
        serving = [each for each in self._gateway.holders() if each["sessions"]]
        if zombies or len(serving) != 1:
            self._found("left", zombies, len(serving))

    def _found(self, what: str, *told: object) -> None:
        setattr(self.score, what, getattr(self.score, what) + 1)
        print(what, *told, flush=True)


def questions(editor: Editor) -> list[dict[str, Any]]:
    return [each for each in editor.frames if each.get("method") == "session/request_permission"]


def answers(editor: Editor) -> Counter[str]:
    """How often each request of the editor's was answered."""
    return Counter(
        str(each["id"]) for each in editor.frames if "id" in each and "method" not in each
    )


def words_of(editor: Editor, name: str) -> list[str]:
    return [word for word in editor.words() if word.startswith(f"{name}.")]


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills a gateway's processes in mid-turn.")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lastword-") as folder:
        prompts = Path(folder, "prompts")
        Path(folder, "site").mkdir()
        Path(folder, "site", "sitecustomize.py").write_text(NO_LOOP, encoding="utf-8")
        path = os.pathsep.join((str(Path(folder, "site")), str(SOURCE), str(ROOT)))
        environment = {**os.environ, "PYTHONPATH": path}
        gateway = Gateway(Path(folder), counting(str(prompts)), environment=environment)
        killing = Killing(gateway, options.seed, prompts)
        try:
            asyncio.run(killing.run(options.kills))
        finally:
            gateway.close()
    print(killing.score)
    return 0 if killing.score.clean else 1


if __name__ == "__main__":
    sys.exit(main())
