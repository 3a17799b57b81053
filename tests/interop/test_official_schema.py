"""What we send to clients that negotiated nothing keeps the protocol's own JSON Schemas.

The schemas are those of the official TypeScript SDK, which the interop tests install. What the core
sends in the vectors is held against them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from lastword.core.link.effects import Side
from tests.interop.official_schema import CARRIED, carried, official_folder
from tests.interop.toolchain import require_node
from tests.kit.vector_format import Vector, load_vectors
from tests.kit.vector_runner import Run

if TYPE_CHECKING:
    from pathlib import Path

VECTORS = load_vectors()
OWN_KINDS = {"agent_error", "_agent_error", "agent_retry", "_agent_retry"}


class OfficialSchema:
    """One protocol version's schema, and which definition a frame must keep."""

    def __init__(self, path: Path) -> None:
        self._definitions: dict[str, Any] = json.loads(path.read_text())["$defs"]
        self._by_method: dict[tuple[str, bool], str] = {}
        for name, definition in self._definitions.items():
            if method := definition.get("x-method"):
                self._by_method[method, name.endswith("Response")] = name

    @cache  # noqa: B019 - two instances, for the length of a test run
    def _validator(self, name: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": self._definitions})

    def check(self, frame: dict[str, Any], asked: dict[str, str]) -> bool:
        """Hold a frame against its definition; gives False where the schema knows none.

        `asked` holds the methods of the other side's requests, by their ids.
        """
        assert frame.get("jsonrpc") == "2.0"
        if "method" in frame:
            name = self._by_method.get((frame["method"], False))
            value = frame.get("params")
        elif "error" in frame:
            assert "result" not in frame
            name, value = "Error", frame["error"]
        else:
            name = self._by_method.get((asked[repr(frame["id"])], True))
            value = frame["result"]
        if name is None:
            return False
        self._validator(name).validate(value)
        return True


@pytest.fixture(scope="module")
def official() -> dict[int, OfficialSchema]:
    folder = require_node() / "@agentclientprotocol" / "sdk" / "schema"
    return {version: OfficialSchema(folder / f"v{version}" / "schema.json") for version in (1, 2)}


def version_of(vector: Vector) -> int:
    """The protocol version in force: the agent's answer, before it the client's wish."""
    asked = [s["client"] for s in vector.steps if s.get("client", {}).get("method") == "initialize"]
    answers = [s["agent"].get("result") for s in vector.steps if "agent" in s]
    chosen = [
        r["protocolVersion"] for r in answers if isinstance(r, dict) and "protocolVersion" in r
    ]
    version: int = chosen[0] if chosen else asked[0]["params"]["protocolVersion"]
    return version


def negotiated(vector: Vector) -> bool:
    """Did the client ask for the extension, in a way that counts?"""
    for step in vector.steps:
        frame = step.get("client", {})
        if frame.get("method") == "initialize":
            params = frame["params"]
            capabilities = params.get("clientCapabilities") or params.get("capabilities") or {}
            said = (capabilities.get("_meta") or {}).get("agent_error")
            version = said.get("version") if isinstance(said, dict) else None
            return type(version) is int and version >= 1
    raise AssertionError(f"{vector.id}: nobody greets")


def methods(vector: Vector, side: str) -> dict[str, str]:
    """The methods of one side's requests, by their ids."""
    frames = [step[side] for step in vector.steps if side in step]
    return {
        repr(frame["id"]): frame["method"] for frame in frames if {"id", "method"} <= frame.keys()
    }


def is_excepted(vector: Vector, frame: dict[str, Any]) -> bool:
    """Version 1 has no place for what only consent or configuration allows."""
    result = frame.get("result")
    by_result = isinstance(result, dict) and result.get("stopReason") == "error"
    configured = vector.options.get("fallback") == "result"
    consented = by_result and (configured or negotiated(vector))
    update = frame.get("params", {}).get("update", {}) if "params" in frame else {}
    return consented or (update.get("sessionUpdate") in OWN_KINDS and negotiated(vector))


def check(official: dict[int, OfficialSchema], vector: Vector, side: Side, frame: Any) -> bool:
    """Hold one frame against the schema that is in force."""
    version = version_of(vector)
    if version == 1 and is_excepted(vector, frame):
        return False
    asked = methods(vector, "client" if side is Side.CLIENT else "agent")
    return official[version].check(frame, asked)


@pytest.mark.parametrize("version", [1, 2])
def test_the_schema_that_the_package_carries_is_the_official_one(version: int) -> None:
    made = carried(official_folder(), version)
    assert (CARRIED / f"v{version}.json").read_text() == made


@cache
def sent() -> list[tuple[Vector, Side, bytes]]:
    found: list[tuple[Vector, Side, bytes]] = []
    for vector in VECTORS.values():
        run = Run(vector)
        with suppress(AssertionError):  # told by the vectors' own test
            run.all_steps()
        found += [(vector, side, line) for side, line in run.own]
    return found


def test_frames_from_the_core_keep_the_official_schema(official: dict[int, OfficialSchema]) -> None:
    problems, checked = [], {1: 0, 2: 0}
    for vector, side, line in sent():
        try:
            checked[version_of(vector)] += check(official, vector, side, json.loads(line))
        except (AssertionError, ValidationError) as broken:
            problems.append(f"{vector.id}: {str(broken)[:300]}")
    assert problems == []
    assert checked[1] > 200
    assert checked[2] > 25


def test_only_clients_that_negotiated_get_our_own_update_kinds() -> None:
    assert [
        (vector.id, kind)
        for vector, side, line in sent()
        if side is Side.CLIENT and not negotiated(vector)
        for kind in OWN_KINDS
        if f'"sessionUpdate":"{kind}"'.encode() in line
    ] == []
