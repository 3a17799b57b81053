"""The vectors' own tools: a check that cannot fail proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kit import vector_format
from tests.kit.rows import every
from tests.kit.vector_format import BadVectorError, Matching, MismatchError, example


def check(expected: Any, *frames: Any) -> None:
    lines = [json.dumps(frame).encode() for frame in frames]
    Matching().check(expected, lines, "here")


@every(
    ("expected", "actual"),
    [
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ({"$any": "integer"}, 3),
        ({"$any": "number"}, 3.5),
        ({"$any": "boolean"}, False),
        ({"$any": "value"}, False),
        ({"$sentence": True}, "Try again."),
        ({"$contains": {"a": {"$any": "string"}}}, {"a": "x", "b": None}),
        ({"$contains": {"a": 1}, "$without": ["b"]}, {"a": 1}),
        ({"$lacks": "secret"}, {"a": ["open"]}),
        ({"$max_bytes": 7}, {"a": 1}),
        ([{"$same": "x"}, {"$same": "x"}], [{"y": 1}, {"y": 1}]),
    ],
)
def test_matching_values_pass(expected: Any, actual: Any) -> None:
    check([expected], actual)


@every(
    ("expected", "actual"),
    [
        (1, True),
        (1, 1.0),
        (1, "1"),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": None}, {"a": 1}),
        ([1], [1, 1]),
        ({"$any": "integer"}, True),
        ({"$any": "number"}, True),
        ({"$any": "object"}, []),
        ({"$any": "value"}, None),
        ({"$sentence": True}, "  "),
        ({"$sentence": True}, "a [b]"),
        ({"$sentence": True}, "x" * 501),
        ({"$contains": {"a": 1}}, {"b": 1}),
        ({"$contains": {"a": 1}}, "a"),
        ({"$without": ["a"]}, {"a": None}),
        ({"$lacks": "secret"}, {"a": ["a secret"]}),
        ({"$max_bytes": 6}, {"a": 1}),
        ([{"$same": "x"}, {"$same": "x"}], [1, 2]),
        ({"$any": "string", "$same": "x", "$sentence": True}, "[no]"),
    ],
)
def test_mismatched_values_are_refused(expected: Any, actual: Any) -> None:
    with pytest.raises(MismatchError):
        check([expected], actual)


def test_frames_are_compared_in_order_unless_marked_unordered() -> None:
    check([1, {"$unordered": [3, 2]}, 4], 1, 2, 3, 4)
    check([{"$frame": 7, "$times": 3}], 7, 7, 7)
    for expected, came in [
        ([1, 2], (2, 1)),
        ([1], ()),
        ([], (1,)),
        ([{"$unordered": [2, 2]}], (2, 3)),
        ([{"$unordered": [1, 2]}, 3], (1, 3, 2)),
        ([{"$frame": 7, "$times": 3}], (7, 7)),
    ]:
        with pytest.raises(MismatchError):
            check(expected, *came)


def test_an_unordered_attempt_that_fails_binds_no_name() -> None:
    one, two = {"n": 1, "id": "a"}, {"n": 2, "id": "b"}
    wanted = [{"n": 2, "id": {"$same": "two"}}, {"n": 1, "id": {"$same": "one"}}]
    check([{"$unordered": wanted}, {"$same": "two"}], one, two, "b")


def test_a_forbidden_frame_is_refused() -> None:
    check({"$none": [{"$contains": {"id": 3}}]}, {"id": 4}, 3)
    with pytest.raises(MismatchError):
        check({"$none": [{"$contains": {"id": 3}}]}, {"id": 4}, {"id": 3, "result": {}})


def test_a_line_is_compared_byte_for_byte() -> None:
    Matching().check([{"$line": '{ "a":1}'}], [b'{ "a":1}'], "here")
    with pytest.raises(MismatchError):
        Matching().check([{"$line": '{"a":1}'}], [b'{ "a":1}'], "here")


def test_a_bound_value_can_be_sent_and_a_text_repeated() -> None:
    matching = Matching()
    matching.match({"id": {"$same": "kill"}}, {"id": "own-1"}, "here")
    assert matching.fill({"id": {"$same": "kill"}, "x": [1]}) == {"id": "own-1", "x": [1]}
    assert matching.fill({"x": {"$repeat": "ab", "$times": 2}}) == {"x": "abab"}
    with pytest.raises(BadVectorError):
        matching.fill({"id": {"$same": "never bound"}})


def test_an_example_matches_its_expectation() -> None:
    expected = {
        "a": {"$any": "integer"},
        "b": {"$sentence": True, "$same": "b"},
        "c": {"$contains": {"d": {"$any": "object"}}, "$without": ["e"]},
    }
    check([expected], example(expected))


GOOD = {"id": "x", "requirements": ["G1"], "note": "n", "steps": [{"to_client": []}]}


@every(
    "change",
    [
        {"surprise": 1},
        {"steps": []},
        {"steps": [{"agent": {}}]},
        {"steps": [{"to_client": []}, {"agent": {}}]},
        {"steps": [{"to_clinet": []}]},
        {"steps": [{"to_client": [], "agent": {}}]},
        {"steps": [{"to_client": [], "times": 2}]},
        {"steps": [{"to_client": [{"$anything": 1}]}]},
        {"options": {"timeout": 1}},
        {"after": "nobody"},
    ],
)
def test_a_vector_that_breaks_the_format_fails_loudly(
    change: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vectors"
    folder.mkdir()
    monkeypatch.setattr(vector_format, "PROTOCOL", tmp_path)
    (folder / "good.json").write_text(json.dumps([GOOD]))
    assert set(vector_format.load_vectors.__wrapped__()) == {"x"}
    (folder / "good.json").write_text(json.dumps([GOOD | change]))
    with pytest.raises((BadVectorError, IndexError)):
        vector_format.load_vectors.__wrapped__()
