"""Checks of the agent's process: how it exits, what it leaves behind, and its stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.kit.check.checks.connection import IN_FRONT
from lastword.kit.check.checks.model import EVERY_ACT, Finding, check, failed, passed, warned
from lastword.kit.check.stage import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.stage import Transcript

MUCH_STDERR_BYTES = 1 << 20
_UNSEEN = "it was not seen to exit by itself"


@check(
    "exit",
    "AGT-13",
    "the agent exits by itself when its stdin ends",
    acts=("healthy",),
    partial=True,
    mend="Agents pile up behind closed editors: end the process at the end of stdin.",
    in_front=IN_FRONT,
)
def exits(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if "left" not in act.notes:
        raise UnreachedError(str(act.notes.get("unreached", "its stdin was not closed")))
    if act.exit_seconds is None:
        return failed("it ran on after its stdin had ended")
    return passed(f"after {act.exit_seconds:.1f} s")


@check(
    "exit-in-turn",
    "AGT-13",
    "the agent exits by itself when its stdin ends in mid-turn",
    acts=("eof_in_turn",),
    mend="A closed editor leaves a model call running, and paid for.",
    in_front=IN_FRONT,
)
def exits_in_turn(acts: Sequence[Transcript]) -> Finding:
    return exits(acts)


@check(
    "exit-status",
    "AGT-14",
    "the status of an agent whose stdin has ended is 0",
    acts=("healthy",),
    partial=True,
    mend="Clients report a crash where there was none: exit with 0.",
)
def exit_status(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if act.exit_seconds is None:
        raise UnreachedError(_UNSEEN)
    return passed() if act.exit_code == 0 else warned(f"exit status {act.exit_code}")


@check(
    "nothing-left",
    "AGT-15",
    "nothing of the agent runs on once it has exited",
    acts=("healthy", "eof_in_turn"),
    partial=True,
    mend="Orphaned processes eat the user's machine: end your children.",
    in_front="`lastword run --` in front ends what has stayed in the agent's process group",
)
def nothing_left(acts: Sequence[Transcript]) -> Finding:
    gone = [act for act in acts if act.exit_seconds is not None]
    if not gone:
        raise UnreachedError(_UNSEEN)
    for act in gone:
        if act.leftovers:
            return failed(f"left behind (act {act.name}): {act.leftovers[0][:120]}")
    return passed()


@check(
    "unread-stderr",
    "AGT-16",
    "the agent works on where nobody reads its stderr",
    acts=("healthy", "deaf"),
    partial=True,
    mend="With clients that do not read stderr the agent hangs once 64 KiB are full.",
    in_front=IN_FRONT,
)
def unread_stderr(acts: Sequence[Transcript]) -> Finding:
    read, act = acts
    reason = str(read.notes.get("unreached", ""))
    if reason or any(turn.answer is None for turn in read.turns):
        raise UnreachedError(reason or "its turns do not end where stderr is read either")
    reason = str(act.notes.get("unreached", ""))
    if not act.notes.get("alive"):
        return failed(reason or "session/new was not answered while stderr was full")
    if any(turn.answer is None for turn in act.turns):
        return failed("a turn did not end while stderr was full")
    return passed(f"{len(act.turns)} turns")


@check(
    "stderr-amount",
    "AGT-17",
    "stderr stays small: less than 1 MiB in a few turns",
    acts=EVERY_ACT,
    partial=True,
    mend="Clients that show or keep stderr slow down or run full: log to a file.",
)
def stderr_amount(acts: Sequence[Transcript]) -> Finding:
    most = max(acts, key=lambda act: act.stderr_bytes)
    evidence = f"at most {most.stderr_bytes} bytes (act {most.name})"
    return warned(evidence) if most.stderr_bytes > MUCH_STDERR_BYTES else passed(evidence)
