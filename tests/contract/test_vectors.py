"""Every vector of `protocol/vectors` holds for the core."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from functools import cache
from typing import Any

from lastword.core.link.effects import Side
from tests.kit.rows import every
from tests.kit.vector_format import Vector, load_vectors
from tests.kit.vector_runner import Run

VECTORS = load_vectors()

MEAN_SOMETHING_ELSE = {-32002, -32602, -32700, -32800}


@every("name", VECTORS)
@every("observed", [False, True])
def test_the_core_satisfies_the_vector_with_and_without_its_fast_path(
    name: str, observed: bool
) -> None:
    Run(VECTORS[name], observed=observed).all_steps()


@cache
def answers() -> dict[str, list[dict[str, Any]]]:
    """The vectors in which the core answers the client, each with its answers."""
    return {name: found for name, each in VECTORS.items() if (found := answers_to_client(each))}


def test_the_core_answers_in_most_vectors() -> None:
    # What is asserted of each answer would hold for nothing where there is none.
    assert len(answers()) > len(VECTORS) / 2
    assert any("error" in frame for frames in answers().values() for frame in frames)


def answers_to_client(vector: Vector) -> list[dict[str, Any]]:
    """Every answer of the core's own making or holding, however the vector ends."""
    run = Run(vector)
    with suppress(AssertionError):  # told by the test above
        run.all_steps()
    frames = [json.loads(line) for side, line in run.own if side is Side.CLIENT]
    return [frame for frame in frames if "method" not in frame]


def test_no_client_request_is_answered_twice() -> None:
    for name, frames in answers().items():
        steps = VECTORS[name].steps
        if any({"client_line", "client_long_line"} & step.keys() for step in steps):
            continue  # a line that cannot be read has an answer, too
        sent = [step["client"] for step in steps if "client" in step]
        asked = Counter(repr(one["id"]) for one in sent if one.keys() >= {"id", "method"})
        assert Counter(repr(frame["id"]) for frame in frames) <= asked, name


def test_our_own_failures_never_use_a_code_with_another_meaning() -> None:
    for name, frames in answers().items():
        steps = VECTORS[name].steps
        from_agent = json.dumps([step for step in steps if "agent" in step])
        cancels = any(s.get("client", {}).get("method") == "session/cancel" for s in steps)
        allowed = {-32700} if any("client_line" in step for step in steps) else set()
        allowed |= {-32800} if cancels else set()
        for frame in frames:
            code = frame.get("error", {}).get("code")
            quoted = f'"code": {code}' in from_agent
            assert quoted or code in allowed or code not in MEAN_SOMETHING_ELSE, name
