"""A settings file: JSON with comments, in which one entry changes and nothing else is lost."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.setup.settings import (
    JsoncError,
    JsonText,
    SettingsError,
    SettingsFile,
    load,
    put,
    read,
    remove_entry,
    rewrite,
    save,
)
from lastword.platform.files import lock, open_folder_lock
from tests.kit.rows import every
from tests.unit.cli.setup import meaning

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_any_json_is_read_as_the_json_module_reads_it(value: Any, indent: Any, plain: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    assert meaning(text) == json.loads(text)


def problem_of(text: str) -> str:
    """What is wrong with a text; nothing where it is read, and its comments are where they say."""
    try:
        document = JsonText(text)
    except JsoncError as error:
        return str(error)
    assert all(text[each.start :].startswith(each.text) for each in document.comments)
    return ""


@given(st.text() | st.text(alphabet='{}[],:"\\/* \n\r1a', max_size=40))
def test_any_text_is_read_or_refused_with_the_place(text: str) -> None:
    assert re.match(r"$|line \d+, column \d+: ", problem_of(text))


@every(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2, ]", [1, 2]),
        ('// first\n{"a": /* in */ 1 // end\n}// last', {"a": 1}),
        ('{"a": "// no comment, /* neither */ {"}', {"a": "// no comment, /* neither */ {"}),
        ('{"a\\"}": "\\\\"}', {'a"}': "\\"}),
        ('\r\n{\r\n\t"a": [ ],\r\n}\r\n', {"a": []}),
        ("/* a * b ** c */ 1", 1),
        ('"\\ud83d\\ude00 \\u00e4"', "😀 ä"),
        ("-1.5e+3", -1500.0),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_comments_and_trailing_commas_are_read_past(text: str, value: Any) -> None:
    assert meaning(text) == value


@pytest.mark.parametrize("text", ["", "  \n", "// nothing\n", "/* nothing */"])
def test_a_text_without_a_value_has_no_root(text: str) -> None:
    assert JsonText(text).root is None


@every(
    ("text", "problem"),
    [
        ("{", "line 1, column 2: "),
        ('{"a" 1}', "line 1, column 6: "),
        ('{"a": 1\n "b": 2}', "line 2, column 2: "),
        ("[,]", "line 1, column 2: "),
        ("[1,,]", "line 1, column 4: "),
        ("{,}", "line 1, column 2: "),
        ('{"a": 1} {}', "line 1, column 10: "),
        ("01", "line 1, column 2: "),
        ('["NaN", NaN]', "line 1, column 9: 'NaN' is not a value"),
        ('{"a": "b\nc"}', "line 1, column 9: "),
        ('"\\x"', "line 1, column 2: "),
        ("{'a': 1}", "line 1, column 2: "),
        ("/* for ever", "line 1, column 1: "),
        ("[1, /* 2", "line 1, column 5: "),
        ("[" * 200_000, "it is nested too deeply"),
    ],
)
def test_invalid_json_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(JsoncError) as caught:
        JsonText(text)
    assert str(caught.value).startswith(problem)


def test_members_have_their_positions() -> None:
    text = '{ "a": 1, /* c */ "b": {"x": 2},\n}'
    root = JsonText(text).root
    assert root is not None
    assert root.members is not None
    a, b = root.members
    assert text[a.start :].startswith('"a"')
    assert a.comma == text.index(",")
    assert text[b.value.start : b.value.end] == '{"x": 2}'
    assert b.comma == text.rindex(",")


def test_numbers_are_compared_as_they_are_written() -> None:
    one, other = JsonText("1.0").root, JsonText("1").root
    assert one is not None
    assert other is not None
    assert one.plain != other.plain
    huge = JsonText("9" * 10_000).root
    assert huge is not None
    assert huge.plain == ("9" * 10_000,)


def test_a_long_broken_text_takes_no_longer_than_its_length() -> None:
    with pytest.raises(JsoncError):
        JsonText('"' + "\\a" * 200_000)
    for broken in ("/*" + "*" * 200_000, "/* " * 200_000, '"' + '\\"' * 200_000):
        with pytest.raises(JsoncError):
            JsonText(broken)


SECTION, NAME = "agent_servers", "claude-lastword"
ENTRY = {"type": "custom", "command": "lastword", "args": ["run", "--", "claude"]}


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
def test_writing_and_removing_an_entry_restores_every_byte(text: str) -> None:
    once = written(text)
    assert meaning(once)[SECTION][NAME] == ENTRY
    assert (written(once), taken(once)) == (once, text)


@pytest.mark.parametrize(
    "text", ["{}", "{ }", "{\n}\n", '{"agent_servers": {}}', "{\n  // none\n}"]
)
def test_an_empty_object_is_opened_into_lines(text: str) -> None:
    once = written(text)
    assert meaning(once) == {SECTION: {NAME: ENTRY}}
    assert meaning(taken(once)) == {}
    assert [c.text for c in JsonText(taken(once)).comments] == [
        c.text for c in JsonText(text).comments
    ]


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
def test_only_the_entry_is_removed_and_the_comments_of_others_stay(text: str, after: str) -> None:
    assert taken(text) == after


def test_only_the_changed_values_of_an_entry_are_rewritten() -> None:
    text = '{"agent_servers": {"Mine": {"command": "x", // c\n "n": 1.0}}}'
    once = rewrite(read(text, SECTION), "Mine", {"command": "lastword", "args": ["run", "--", "x"]})
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
        ("{", "it is not valid JSON (line 1, column 2: "),
    ],
)
def test_settings_without_room_for_an_entry_are_refused(text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(problem)):
        read(text, SECTION)


def test_a_name_that_occurs_twice_is_refused() -> None:
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
    assert (new.pop(SECTION), new) == (old.pop(SECTION, {}) | {NAME: ENTRY}, old)
    assert [c.text for c in JsonText(once).comments] == [c.text for c in JsonText(text).comments]
    back = taken(once)
    told = meaning(text)
    assert meaning(back) in (told, {key: told[key] for key in told if key != SECTION})
    if told.get(SECTION) or (SECTION not in told and told):
        assert back == text


@given(objects(keys=("a", NAME, "b")), SPACE)
def test_an_entry_is_removed_from_any_place_and_the_others_stay(text: str, gap: str) -> None:
    whole = f'{{"x": 1,{gap}"agent_servers":{gap}{text}{gap}}}'
    old = meaning(whole)
    new = meaning(taken(whole))
    others = {key: value for key, value in old[SECTION].items() if key != NAME}
    assert (new.get(SECTION, {}), new["x"]) == (others, 1)


def test_the_text_that_is_written_is_the_one_that_json_would_read() -> None:
    assert json.loads(written(""))[SECTION][NAME] == ENTRY


@pytest.fixture
def file(tmp_path: Path) -> SettingsFile:
    (tmp_path / "settings.json").write_text("old")
    return load(str(tmp_path / "settings.json"))


def is_as_it_was(file: SettingsFile) -> bool:
    path = Path(file.path)
    return [*path.parent.iterdir()] == [path] and path.read_text() == file.text


def denied(*_: object, **__: object) -> Any:
    raise PermissionError(13, "Permission denied")


def test_a_file_is_replaced_and_its_old_text_kept(file: SettingsFile) -> None:
    first = save(file, "new")
    second = save(load(file.path), "newer")
    assert Path(file.path).read_text() == "newer"
    assert (Path(first).read_text(), Path(second).read_text()) == ("old", "new")


def test_a_missing_file_is_empty_and_its_folder_is_created_only_if_allowed(
    tmp_path: Path,
) -> None:
    file = load(str(tmp_path / "a/b/settings.json"))
    assert (file.text, file.status) == ("", None)
    with pytest.raises(SettingsError, match=r"there is no folder .*/a/b"):
        save(file, "new")
    assert list(tmp_path.iterdir()) == []
    assert save(file, "new", may_create=True) == ""
    assert Path(file.path).read_text() == "new"


def test_a_read_only_file_is_left_alone(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SettingsError, match="it is read-only"):
        save(file, "new")
    assert is_as_it_was(file)


@pytest.mark.parametrize("call", ["replace", "open", "fchmod", "fsync", "makedirs"])
def test_a_refused_write_leaves_the_file_as_it_was(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, call, denied)
        with pytest.raises(SettingsError, match="it cannot be written: permission denied"):
            save(file, "new", may_create=True)
    assert is_as_it_was(file)


def test_the_target_of_a_link_is_named_where_it_cannot_be_written(
    file: SettingsFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(file.path)
    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(SettingsError, match=r"it leads to .*/settings\.json, which cannot be"):
        save(load(str(tmp_path / "link")), "new")


@pytest.mark.parametrize("change", ["written", "removed"])
def test_a_file_that_another_program_changed_in_the_meantime_is_not_written(
    file: SettingsFile, change: str
) -> None:
    Path(file.path).unlink()
    if change == "written":
        Path(file.path).write_text("theirs")
    with pytest.raises(SettingsError, match="changed by another program"):
        save(file, "new")
    assert not Path(file.path).exists() or Path(file.path).read_text() == "theirs"


def test_two_setups_at_one_moment_do_not_undo_each_other(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replaced(new: str, path: str) -> None:
        number = open_folder_lock(os.path.dirname(path))
        with pytest.raises(BlockingIOError):
            lock(number, wait=False)
        os.close(number)
        os.rename(new, path)

    monkeypatch.setattr(os, "replace", replaced)
    save(file, "first")
    with pytest.raises(SettingsError, match="changed by another program"):
        save(file, "second")
    assert Path(file.path).read_text() == "first"


def test_a_file_that_another_program_created_in_the_meantime_is_not_written(tmp_path: Path) -> None:
    file = load(str(tmp_path / "settings.json"))
    Path(file.path).write_text("theirs")
    with pytest.raises(SettingsError, match="changed by another program"):
        save(file, "new")
    assert Path(file.path).read_text() == "theirs"


def test_an_unreadable_file_is_reported(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "stat", denied)
    with pytest.raises(SettingsError, match="it cannot be read: permission denied"):
        load(file.path)


def test_text_that_json_cannot_represent_is_not_written(file: SettingsFile) -> None:
    with pytest.raises(SettingsError, match="JSON cannot represent"):
        save(file, "\udcff")
    assert is_as_it_was(file)


def test_the_number_of_backups_is_bounded(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda _: "now")
    for _ in range(100):
        save(load(file.path), "new")
    with pytest.raises(SettingsError, match="too many backups"):
        save(load(file.path), "newer")
    assert Path(file.path).read_text() == "new"
