"""ACP's JSON Schema as the package carries it: read as a whole validator reads it."""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from lastword.kit.check.schema import Weight, official
from tests.kit.vector_format import example, is_matcher, load_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE = {"type": "text", "text": "Hello."}
STRANGE: tuple[object, ...] = (None, -7, "text", [1], {"type": "nothing"})


def whole(schema: Any) -> Any:
    """The schema as JSON Schema spells it."""
    if isinstance(schema, list):
        return [whole(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    spelled = {
        key: {name: whole(each) for name, each in value.items()}
        if key == "properties"
        else whole(value)
        for key, value in schema.items()
        if key not in {"ref", "lenient"}
    }
    return spelled | ({"$ref": f"#/$defs/{schema['ref']}"} if "ref" in schema else {})


def validator(version: int, name: str) -> Draft202012Validator:
    definitions = {key: whole(value) for key, value in official(version).definitions.items()}
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})


def sent(version: int) -> Iterator[tuple[str, Any]]:
    """What agents send in the vectors: the definition's name, and the value."""
    for vector in load_vectors().values():
        asked = {}
        for step in vector.steps:
            for side in ("client", "agent"):
                frame = step.get(side)
                if not isinstance(frame, dict) or is_matcher(frame):
                    continue
                if side == "client" and {"id", "method"} <= frame.keys():
                    asked[repr(frame["id"])] = frame["method"]
                elif side == "agent" and "method" in frame:
                    name = official(version).calls.get(str(frame["method"]))
                    if name:
                        yield name, example(frame.get("params"))
                elif side == "agent" and "result" in frame:
                    name = official(version).answers.get(str(asked.get(repr(frame.get("id")))))
                    if name:
                        yield name, example(frame["result"])


def least(version: int, name: str) -> Any:
    """A value that fits a definition, for those that no vector sends."""
    definitions = {key: whole(value) for key, value in official(version).definitions.items()}
    own = definitions[name]

    def first(schema: dict[str, Any]) -> object:
        judge = Draft202012Validator(schema | {"$defs": definitions})
        return next(value for value in ("s", 1, [], {}) if judge.is_valid(value))

    return {key: first(own["properties"][key]) for key in own.get("required", ())}


def changed(value: Any) -> Iterator[Any]:
    """The value with one member gone, or made something else."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield {name: each for name, each in value.items() if name != key}
            for strange in STRANGE:
                yield value | {key: strange}
            for other in changed(member):
                yield value | {key: other}
    elif isinstance(value, list):
        for number, item in enumerate(value):
            for other in (*STRANGE, *changed(item)):
                yield [*value[:number], other, *value[number + 1 :]]


# A whole validator takes its time.
@pytest.mark.no_cover
@pytest.mark.parametrize("one_of", [11, pytest.param(3, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("version", [1, 2])
def test_the_built_in_schema_agrees_with_a_full_validator(version: int, one_of: int) -> None:
    judged: dict[str, Counter[bool]] = defaultdict(Counter)
    validators: dict[str, Draft202012Validator] = {}
    seen = set()
    schema = official(version)
    names = {*schema.calls.values(), *schema.answers.values()}
    values = [*sent(version)]
    values += [(name, least(version, name)) for name in names - {name for name, _ in values}]
    for name, value in values:
        if (shape := f"{name} {_shape(value)}") in seen:
            continue
        seen.add(shape)
        for each in (value, *STRANGE, *[*changed(copy.deepcopy(value))][::one_of]):
            if (key := f"{name} {each!r}") in seen:
                continue
            seen.add(key)
            held = validators.setdefault(name, validator(version, name))
            fits = not official(version).departures(name, each)
            assert fits is held.is_valid(each), (name, each)
            judged[name][fits] += 1
    assert sum(counts[True] for counts in judged.values()) > 100
    assert sum(counts[False] for counts in judged.values()) > 100
    for name in names:
        assert judged[name][True], f"no {name} that fits"
        assert judged[name][False], f"no {name} that does not fit"


def _shape(value: Any) -> Any:
    """What members a value has, at any depth, and of what kind an update is."""
    if isinstance(value, dict):
        kind = value.get("sessionUpdate"), value.get("type"), value.get("state")
        return kind, sorted((key, _shape(member)) for key, member in value.items())
    return [_shape(item) for item in value] if isinstance(value, list) else type(value).__name__


def update(**members: object) -> dict[str, object]:
    return {"sessionId": "s", "update": members}


@pytest.mark.parametrize(
    ("name", "value", "said", "weight"),
    [
        ("NewSessionResponse", None, "it is null, not object", Weight.WRONG),
        ("NewSessionResponse", {}, "sessionId is missing", Weight.WRONG),
        (
            "SessionNotification",
            update(sessionUpdate="agent_message_chunk", content={"type": "text"}),
            "update.content.text is missing",
            Weight.WRONG,
        ),
        (
            "SessionNotification",
            update(sessionUpdate="agent_message_chunk", content=[MESSAGE]),
            "update.content is array, not object",
            Weight.WRONG,
        ),
        (
            "SessionNotification",
            update(sessionUpdate="news"),
            'update.sessionUpdate is "news", which the schema has not',
            Weight.UNKNOWN,
        ),
        (
            "PromptResponse",
            {"stopReason": "exploded"},
            'stopReason is "exploded", which the schema has not',
            Weight.UNKNOWN,
        ),
        (
            "ListSessionsResponse",
            {"sessions": [{"sessionId": "s"}]},
            "sessions[0].cwd is missing",
            Weight.LENIENT,
        ),
        (
            "InitializeResponse",
            {"protocolVersion": 65536},
            "protocolVersion is more than 65535",
            Weight.WRONG,
        ),
    ],
)
def test_a_departure_has_its_place_its_problem_and_its_weight(
    name: str, value: object, said: str, weight: Weight
) -> None:
    found = official(1).departures(name, value)
    assert [(str(each), each.weight) for each in found][:1] == [(said, weight)]
