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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.serving import Gateway, until
from tests.kit.places import ROOT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
WRONG = ("lost", "double", "unanswered", "untyped", "left")


class Score:
    """How often each word of the last line was counted; the words of `wrong` are to be 0."""

    def __init__(self, words: Sequence[str], wrong: Sequence[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._words = (*words, *wrong)
        self._wrong = wrong

    def add(self, what: str, *facts: object) -> None:
        """Count something that is wrong, and print what is known of it."""
        self.counts[what] += 1
        print(what, *facts, flush=True)

    def look_at_turn(
        self, editor: Editor, name: str, kind: str, answer: dict[str, Any], *, may_fail: bool
    ) -> None:
        """Look at a turn's end and its words; `may_fail` says whether the answer's error may be."""
        words, whole = words_of(editor, name), expected(name)
        is_well = answer.get("result") == {"stopReason": "end_turn"}
        if not is_well and not may_fail:
            self.add("untyped", name, kind, answer)
        if words != (whole if is_well else whole[: len(words)]):
            self.add("lost", name, kind, words)

    def look_for_doubles(self, editors: Iterable[Editor], prompts: Path) -> None:
        """Each request has one answer, each question comes once, and each prompt was sent once."""
        found = [Counter(prompts.read_text(encoding="utf-8").splitlines())]
        for editor in editors:
            asked = Counter(str(each["id"]) for each in questions(editor))
            found += [answers(editor), asked]
        for key, count in (each for counts in found for each in counts.items()):
            if count > 1:
                self.add("double", key, count)

    @property
    def status(self) -> int:
        return int(any(self.counts[word] for word in self._wrong))

    def __str__(self) -> str:
        return " ".join(f"{word}={self.counts[word]}" for word in self._words)


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
        self.score = Score(("kills",), WRONG)
        self._gateway = gateway
        self._dice = random.Random(seed)
        self._prompts = prompts

    async def run(self, kills: int) -> None:
        token = self._gateway.token()
        async with connected(self._gateway.url, token, hasty=True) as editor:
            session_id = await editor.begin(self._gateway.root)
            for number in itertools.count():
                if self.score.counts["kills"] >= kills:
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

        await until_half_done(editor, prompt, name, asked_before if in_question else None, at)
        if editor.answers(prompt):  # all of it came before we looked: the next turn, then
            self._look_at(editor, name, "no kill", editor.answers(prompt)[0])
            return
        self._strike(kind, held)
        self.score.counts["kills"] += 1
        if in_question:
            answer_question(editor)
        try:
            answer = await editor.answer(prompt)
        except TimeoutError:
            self.score.add("unanswered", name, kind, in_question)
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
        payload = answer.get("error", {}).get("data", {}).get("agent_error", {})
        may_fail = kind in ENDS_TURNS and payload.get("type") == "agent_crash"
        self.score.look_at_turn(editor, name, kind, answer, may_fail=may_fail)

    async def _look_at_all(self, editor: Editor) -> None:
        self.score.look_for_doubles([editor], self._prompts)
        children = children_of(self._gateway.front.pid)
        zombies = [pid for pid, state in children.items() if state == "Z"]
        serving = [each for each in self._gateway.holders() if each["sessions"]]
        if zombies or len(serving) != 1:
            self.score.add("left", zombies, len(serving))


async def until_half_done(
    editor: Editor, prompt: int, name: str, asked_before: int | None, at: int
) -> None:
    """Wait until a turn has asked one more question, or has said more words, or is over."""

    def is_there(_: Editor) -> bool:
        if asked_before is not None:
            is_so = len(questions(editor)) > asked_before
        else:
            is_so = len(words_of(editor, name)) > at
        return is_so or bool(editor.answers(prompt))

    await editor.wait_for(is_there)


def answer_question(editor: Editor) -> None:
    chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    editor.send({"id": questions(editor)[-1]["id"], "result": chosen})


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
    return killing.score.status


if __name__ == "__main__":
    sys.exit(main())
