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
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.link_bug import with_site
from tests.kit.gateway.serving import Gateway, until

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
        self.words = (*words, *wrong)
        self._wrong = wrong

    def add(self, what: str, *facts: object) -> None:
        """Count something that is wrong, and print what is known of it."""
        self.counts[what] += 1
        print(what, *facts, flush=True)

    def look_at_turn(self, turn: Turn, answer: dict[str, Any], *, may_fail: bool) -> None:
        """Look at a turn's end and its words; `may_fail` says whether the answer's error may be."""
        words = words_of(turn.editor, turn.name)
        whole = [f"{turn.name}.{number}" for number in range(WORDS)]
        whole.insert(WORDS // 2 + 1, f"{turn.name}.answer=True")
        is_well = answer.get("result") == {"stopReason": "end_turn"}
        if not is_well and not may_fail:
            self.add("untyped", turn.name, turn.kind, answer)
        if words != (whole if is_well else whole[: len(words)]):
            self.add("lost", turn.name, turn.kind, words)

    def look_for_doubles(self, editors: Iterable[Editor], prompts: Path) -> None:
        """Each request has one answer, each question comes once, and each prompt was sent once."""
        found = [Counter(prompts.read_text(encoding="utf-8").splitlines())]
        for editor in editors:
            answers = [each for each in editor.frames if "id" in each and "method" not in each]
            found += [
                Counter(str(each["id"]) for each in some) for some in (answers, questions(editor))
            ]
        for key, count in (each for counts in found for each in counts.items()):
            if count > 1:
                self.add("double", key, count)

    @property
    def status(self) -> int:
        return int(any(self.counts[word] for word in self._wrong))

    def __str__(self) -> str:
        return " ".join(f"{word}={self.counts[word]}" for word in self.words)


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


class Turn(NamedTuple):
    kind: str
    editor: Editor
    name: str
    prompt: int
    in_question: bool

    def answer(self) -> None:
        if self.in_question:
            chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
            self.editor.send({"id": questions(self.editor)[-1]["id"], "result": chosen})


class Killing:
    """Turns that something befalls in their midst, and how they end."""

    pause_ms = PAUSE_MS
    latest_word = WORDS

    def __init__(self, score: Score, seed: int, prompts: Path) -> None:
        self.score = score
        self.dice = random.Random(seed)
        self.prompts = prompts

    def may_fail(self, kind: str, failure: dict[str, Any]) -> bool:
        """May a turn that this befell end with this failure?"""
        return kind in ENDS_TURNS and failure.get("type") == "agent_crash"

    async def begin(self, kind: str, editor: Editor, session: str, name: str) -> Turn | None:
        """Begin a turn, and wait until it is half done; `None` if it has ended before."""
        in_question = self.dice.random() < QUESTIONS_OPEN
        at = self.dice.randrange(self.latest_word)
        editor.answer_questions = not in_question
        asked_before = len(questions(editor))
        prompt = editor.prompt(session, f"{WORDS} {self.pause_ms} ask as={name}")
        turn = Turn(kind, editor, name, prompt, in_question)

        def is_half_done(_: Editor) -> bool:
            is_asked = in_question and len(questions(editor)) > asked_before
            is_said = not in_question and len(words_of(editor, name)) > at
            return is_asked or is_said or bool(editor.answers(prompt))

        try:
            await editor.wait_for(is_half_done)
        except TimeoutError:
            self.score.add("unanswered", name, "before", kind)
            return None
        if editor.answers(prompt):  # all of it came before we looked: the next turn, then
            await self.end(turn._replace(kind="no kill"))
            return None
        self.score.counts[kind if kind in self.score.words else "kills"] += 1
        return turn

    async def end(self, turn: Turn) -> None:
        try:
            answer = await turn.editor.answer(turn.prompt)
        except TimeoutError:
            self.score.add("unanswered", turn.name, turn.kind, turn.in_question)
            return
        failure = answer.get("error", {}).get("data", {}).get("agent_error", {})
        self.score.look_at_turn(turn, answer, may_fail=self.may_fail(turn.kind, failure))


class GatewayKilling(Killing):
    def __init__(self, gateway: Gateway, seed: int, prompts: Path) -> None:
        super().__init__(Score(("kills",), WRONG), seed, prompts)
        self._gateway = gateway

    async def run(self, kills: int) -> None:
        token = self._gateway.token()
        async with connected(self._gateway.url, token, hasty=True) as editor:
            session_id = await editor.begin(self._gateway.root)
            for number in itertools.count():
                if self.score.counts["kills"] >= kills:
                    break
                # Asked now, since it takes as long as a turn.
                held = until("the session is there", self._held)
                # An agent that was killed starts again at the next prompt; until then it has no id.
                kind = self.dice.choice([k for k in KINDS if held["agent_pid"] or k != "agent"])
                turn = await self.begin(kind, editor, session_id, f"t{number}")
                if turn is not None:
                    self._strike(kind, held)
                    turn.answer()
                    await self.end(turn)
            self._look_at_all(editor)

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

    def _look_at_all(self, editor: Editor) -> None:
        self.score.look_for_doubles([editor], self.prompts)
        until("the session's agent is back after the last kill", self._held)
        children = children_of(self._gateway.front.pid)
        zombies = [pid for pid, state in children.items() if state == "Z"]
        serving = [each for each in self._gateway.holders() if each["sessions"]]
        if zombies or len(serving) != 1:
            self.score.add("left", zombies, len(serving))


def questions(editor: Editor) -> list[dict[str, Any]]:
    return [each for each in editor.frames if each.get("method") == "session/request_permission"]


def words_of(editor: Editor, name: str) -> list[str]:
    return [word for word in editor.words() if word.startswith(f"{name}.")]


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills a gateway's processes in mid-turn.")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lastword-") as name:
        folder = Path(name)
        prompts = folder / "prompts"
        without_loop = with_site(folder, NO_LOOP)
        gateway = Gateway(folder, counting(str(prompts)), variables=without_loop)
        killing = GatewayKilling(gateway, options.seed, prompts)
        try:
            asyncio.run(killing.run(options.kills))
        finally:
            gateway.close()
    print(killing.score)
    return killing.score.status


if __name__ == "__main__":
    sys.exit(main())
