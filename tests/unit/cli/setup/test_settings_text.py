"""A settings file's text: one entry goes in and out, and nothing else changes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.setup.settings import (
    SettingsError,
    as_json,
    parse,
    put,
    read,
    remove_entry,
    rewrite,
)
from tests.kit.rows import every

SECTION, NAME = "agent_servers", "claude-lastword"
ENTRY = {"type": "custom", "command": "lastword", "args": ["run", "--", "claude"]}


def meaning(text: str) -> Any:
    root = parse(text).root
    assert root is not None
    return as_json(root.plain)


def written(text: str) -> str:
    return put(read(text, SECTION), NAME, ENTRY)


def taken(text: str) -> str:
    return remove_entry(read(text, SECTION), NAME)


COMMENTED = """\
// Zed
{
  "theme": "One", // dark
  "agent_servers": {
    // mine
    "Mine": { "type": "custom", "command": "x{", "args": [] } // last
    // "Old": {}
  }
}
"""


def test_an_entry_goes_behind_the_last_one_and_its_comments() -> None:
    assert written(COMMENTED) == COMMENTED.replace(
        '"args": [] } // last\n    // "Old": {}\n',
        '"args": [] }, // last\n    // "Old": {}\n'
        '    "claude-lastword": {\n'
        '      "type": "custom",\n'
        '      "command": "lastword",\n'
        '      "args": ["run", "--", "claude"]\n'
        "    }\n",
    )


@every(
    "text",
    [
        COMMENTED,
        COMMENTED.replace("\n", "\r\n"),
        COMMENTED.replace("  ", "\t"),
        COMMENTED.replace("} // last", "}, // last"),
        COMMENTED.replace("One", "{\\\"}], // /*"),
        '{\n  "theme": "One"\n}\n',
        '{\n  "theme": "One",\n}',
        '{"theme": "One"}',
        '{"agent_servers": {"Mine": {"command": "x"}}}',
        '{"agent_servers": {"Mine": {"command": "x"}, }, "b": 1}',
        '{\n\t"a": [\n\t\t1, // one\n\t],\n\t"agent_servers": { "Mine": {} }, "c": {}\n}',
        '/* a */ {"a": 1 /* b */} // c',
    ],
)  # fmt: skip
def test_what_went_in_comes_out_and_leaves_every_byte_as_it_was(text: str) -> None:
    once = written(text)
    assert meaning(once)[SECTION][NAME] == ENTRY
    assert written(once) == once
    assert taken(once) == text


@pytest.mark.parametrize(
    "text", ["{}", "{ }", "{\n}\n", '{"agent_servers": {}}', "{\n  // none\n}"]
)
def test_an_empty_object_gets_lines_of_its_own(text: str) -> None:
    once = written(text)
    assert meaning(once) == {SECTION: {NAME: ENTRY}}
    assert meaning(taken(once)) == {}
    assert [c.text for c in parse(taken(once)).comments] == [c.text for c in parse(text).comments]


@pytest.mark.parametrize("text", ["", "\n", "// mine", "/* mine */\n"])
def test_a_file_without_a_value_gets_one(text: str) -> None:
    once = written(text)
    assert once.startswith(text)
    assert once.endswith("}\n")
    assert meaning(once) == {SECTION: {NAME: ENTRY}}


def test_indentation_and_line_ends_are_those_of_the_file() -> None:
    assert written('{\r\n\t"a": 1\r\n}\r\n') == (
        '{\r\n\t"a": 1,\r\n\t"agent_servers": {\r\n\t\t"claude-lastword": {\r\n'
        '\t\t\t"type": "custom",\r\n\t\t\t"command": "lastword",\r\n'
        '\t\t\t"args": ["run", "--", "claude"]\r\n\t\t}\r\n\t}\r\n}\r\n'
    )


def test_an_entry_of_that_name_is_replaced_in_its_place() -> None:
    text = '{"agent_servers": {\n  "claude-lastword": {"command": "old"}, // c\n  "b": {}\n}}'
    once = written(text)
    assert meaning(once) == {SECTION: {NAME: ENTRY, "b": {}}}
    assert list(meaning(once)[SECTION]) == [NAME, "b"]
    assert "// c" in once


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"agent_servers": {"claude-lastword": {}, "b": 1}}', '{"agent_servers": { "b": 1}}'),
        (
            '{"agent_servers": {"a": 1, // a\n"claude-lastword": {}, // ours\n"b": 1}}',
            '{"agent_servers": {"a": 1, // a\n // ours\n"b": 1}}',
        ),
        (
            '{"agent_servers": { // c\n "claude-lastword": {} }}',
            '{"agent_servers": { // c\n }}',
        ),
        ('{"a": 1, // c\n"agent_servers": {"claude-lastword": {}}}', '{"a": 1 // c\n}'),
        ('{"agent_servers": {"b": 1}}', '{"agent_servers": {"b": 1}}'),
        ('{"b": 1}', '{"b": 1}'),
    ],
)  # fmt: skip
def test_only_the_entry_goes_and_the_comments_of_others_stay(text: str, after: str) -> None:
    assert taken(text) == after


def test_only_the_values_that_change_in_an_entry_are_rewritten() -> None:
    text = '{"agent_servers": {"Mine": {"command": "x", // c\n "n": 1.0}}}'
    settings = read(text, SECTION)
    once = rewrite(settings, "Mine", {"command": "lastword", "args": ["run", "--", "x"]})
    assert once.startswith('{"agent_servers": {"Mine": {"command": "lastword", // c\n "n": 1.0')
    assert meaning(once)[SECTION]["Mine"]["args"] == ["run", "--", "x"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "it does not contain a JSON object"),
        ('"text"', "it does not contain a JSON object"),
        ('{"agent_servers": []}', "its 'agent_servers' is not an object"),
        ('{"agent_servers": null}', "its 'agent_servers' is not an object"),
        (
            '{"agent_servers": {}, "agent_servers": {}}',
            "it has the key 'agent_servers' twice: merge them",
        ),
        ("{", "it is not valid JSON (line 1, column 2: it ends too early)"),
    ],
)
def test_settings_without_room_for_an_entry_are_refused(text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(problem)):
        read(text, SECTION)


def test_a_name_that_stands_twice_is_refused() -> None:
    settings = read('{"agent_servers": {"a": {}, "a": {}}}', SECTION)
    with pytest.raises(SettingsError, match="twice"):
        settings.entry("a")


# Settings as people write them: any values, any spacing, comments in any gap.
SPACE = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", " /* { */ ", " // } , [\n"])
SCALAR = st.sampled_from(["1", "-2.50", "null", "true", '"x"', '"{\\"//"', '"\\u00e4"', "[ ]"])


@st.composite
def objects(draw: st.DrawFn, depth: int = 2, keys: tuple[str, ...] = ("a", "b", "c")) -> str:
    members = []
    for key in draw(st.lists(st.sampled_from(keys), unique=True, max_size=3)):
        value = draw(objects(depth - 1)) if depth and draw(st.booleans()) else draw(SCALAR)
        if key == SECTION:
            value = draw(objects(1))
        gaps = [draw(SPACE) for _ in range(4)]
        members.append(f'{gaps[0]}"{key}"{gaps[1]}:{gaps[2]}{value}{gaps[3]}')
    trailing = draw(SPACE) if not members or draw(st.booleans()) else "," + draw(SPACE)
    return "{" + ",".join(members) + trailing + "}"


@given(objects(keys=("a", "b", SECTION)), SPACE, SPACE)
def test_settings_of_any_shape_keep_all_that_they_say(text: str, before: str, after: str) -> None:
    text = before + text + after
    once = written(text)
    old, new = meaning(text), meaning(once)
    assert new.pop(SECTION) == old.pop(SECTION, {}) | {NAME: ENTRY}
    assert new == old
    assert [c.text for c in parse(once).comments] == [c.text for c in parse(text).comments]
    back = taken(once)
    told = meaning(text)
    assert meaning(back) in (told, {key: told[key] for key in told if key != SECTION})
    if told.get(SECTION) or (SECTION not in told and told):
        assert back == text


@given(objects(keys=("a", NAME, "b")), SPACE)
def test_an_entry_is_taken_out_of_any_place_and_the_others_stay(text: str, gap: str) -> None:
    whole = f'{{"x": 1,{gap}"agent_servers":{gap}{text}{gap}}}'
    old = meaning(whole)
    new = meaning(taken(whole))
    others = {key: value for key, value in old[SECTION].items() if key != NAME}
    assert new.get(SECTION, {}) == others
    assert new["x"] == 1


def test_the_text_that_is_written_is_the_one_that_json_would_read() -> None:
    assert json.loads(written(""))[SECTION][NAME] == ENTRY
