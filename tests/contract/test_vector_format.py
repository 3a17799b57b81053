"""The vectors' own tools: a check that cannot fail proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kit import vector_format
from tests.kit.rows import every
from tests.kit.vector_format import BadVectorError, Matching, MismatchError, example


def fits(expected: Any, *frames: Any) -> bool:
    try:
        Matching().check(expected, [json.dumps(frame).encode() for frame in frames], "here")
    except MismatchError:
        return False
    return True


SAME = [{"$same": "x"}, {"$same": "x"}]


@every(
    ("expected", "fitting", "strange"),
    [
        (1, [1], [True, 1.0, "1"]),
        ({"b": 1, "a": None}, [{"a": None, "b": 1}], [{"b": 1}, {"a": None, "b": 1, "c": 2}]),
        ([1], [[1]], [[1, 1]]),
        ({"$any": "integer"}, [3], [True, 1.5]),
        ({"$any": "number"}, [3.5], [True]),
        ({"$any": "boolean"}, [False], [0]),
        ({"$any": "object"}, [{}], [[]]),
        ({"$any": "value"}, [False], [None]),
        ({"$sentence": True}, ["Try again."], ["  ", "a [b]", "x" * 501]),
        ({"$contains": {"a": {"$any": "string"}}}, [{"a": "x", "b": None}], [{"b": 1}, "a"]),
        ({"$contains": {"a": 1}, "$without": ["b"]}, [{"a": 1}], [{"a": 1, "b": None}]),
        ({"$lacks": "secret"}, [{"a": ["open"]}], [{"a": ["a secret"]}]),
        ({"$max_bytes": 7}, [{"a": 1}], [{"a": 10}]),
        (SAME, [[{"y": 1}, {"y": 1}]], [[1, 2]]),
        ({"$any": "string", "$same": "x", "$sentence": True}, ["Yes."], ["[no]"]),
        ({"$line": '{"a": 1}'}, [{"a": 1}], [{"a": 2}]),
        ({"$line": '{"a":1}'}, [], [{"a": 1}]),
    ],
)
def test_an_expectation_takes_what_fits_and_refuses_what_does_not(
    expected: Any, fitting: list[Any], strange: list[Any]
) -> None:
    assert all(fits([expected], actual) for actual in fitting)
    assert not any(fits([expected], actual) for actual in strange)


def test_frames_are_compared_in_order_unless_marked_unordered() -> None:
    assert fits([1, {"$unordered": [3, 2]}, 4], 1, 2, 3, 4)
    assert fits([{"$frame": 7, "$times": 3}], 7, 7, 7)
    assert not fits([1, 2], 2, 1)
    assert not fits([1])
    assert not fits([], 1)
    assert not fits([{"$unordered": [2, 2]}], 2, 3)
    assert not fits([{"$frame": 7, "$times": 3}], 7, 7)
    forbidden = {"$none": [{"$contains": {"id": 3}}]}
    assert fits(forbidden, {"id": 4}, 3)
    assert not fits(forbidden, {"id": 4}, {"id": 3, "result": {}})


def test_an_unordered_attempt_that_fails_binds_no_name() -> None:
    one, two = {"n": 1, "id": "a"}, {"n": 2, "id": "b"}
    wanted = [{"n": 2, "id": {"$same": "two"}}, {"n": 1, "id": {"$same": "one"}}]
    assert fits([{"$unordered": wanted}, {"$same": "two"}], one, two, "b")


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
    assert fits([expected], example(expected))


GOOD = {"id": "x", "requirements": ["G1"], "note": "n", "steps": [{"to_client": []}]}


@every(
    "change",
    [
        {},
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
    monkeypatch.setattr(vector_format, "PROTOCOL", tmp_path)
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "good.json").write_text(json.dumps([GOOD | change]))
    if not change:
        assert set(vector_format.load_vectors.__wrapped__()) == {"x"}
        return
    with pytest.raises((BadVectorError, IndexError)):
        vector_format.load_vectors.__wrapped__()
