"""The page's scripts as one, and the door before the record."""

from __future__ import annotations

import re

from lastword.cli.web import Door
from lastword.web.files import RECORD, gateway_files, record_files, record_script

WHOLE = record_script("record_file.js")


def test_every_module_is_in_the_file_once_before_its_users_and_no_import_is_left() -> None:
    modules = re.findall(r"^const module_(\w+) = ", WHOLE, re.MULTILINE)
    assert sorted(modules) == ["cards", "dom", "record", "session_events", "timeline", "words"]
    assert re.findall(r"^\s*(?:import|export)\b.*", WHOLE, re.MULTILINE) == []
    for name in modules:
        assert WHOLE.index(f"const module_{name} =") + len("const ") == WHOLE.index(
            f"module_{name}"
        )


def test_every_imported_name_is_exported() -> None:
    end = r"^return \{ ([^\n]*) \};\n\}\)\(\);$"
    each = re.compile(rf"^const module_(\w+) = .*?{end}", re.MULTILINE | re.DOTALL)
    given = dict(each.findall(WHOLE))
    taken = re.findall(r"^const \{([^}]*)\} = module_(\w+);", WHOLE, re.MULTILINE)
    assert len(taken) > 5
    for names, module in taken:
        assert {name.strip() for name in names.split(",")} <= set(given[module].split(", "))


def test_no_text_could_end_the_script_or_the_style_that_it_is_in() -> None:
    assert not re.search(r"</script|<!--|<script", WHOLE, re.IGNORECASE)
    assert "</" not in record_files()["style.css"].body.decode()


def test_the_records_own_scripts_are_not_files_of_the_gateways_page() -> None:
    own = {path.name for path in RECORD.iterdir()}
    assert own == {"frames.js", "record.html", "record.js", "record_file.js", "record_live.js"}
    assert record_files().keys() == {"icon.svg", "record.html", "style.css"} | {"record_live.js"}
    assert "class RecordLog" in record_files()["record_live.js"].body.decode()
    assert "class RecordLog" not in gateway_files()["main.js"].body.decode()


def test_a_door_lets_in_by_its_own_link_and_cookie_alone() -> None:
    door, other = Door(8000), Door(8001)
    code = door.link("#/x").removeprefix("http://127.0.0.1:8000/?code=").removesuffix("#/x")
    assert other.follow(code) is None
    assert door.follow(f"{code}x") is None
    cookie = door.follow(code)
    assert cookie is not None
    assert door.follow(code) is None
    pair = cookie.partition(";")[0]
    assert pair.startswith("lastword_log_8000=")
    assert door.admits(f"a=b; {pair}; c")
    assert not other.admits(pair)
    for cookies in (None, "", "=", ";", pair[:-1], pair.partition("=")[0], "é=é"):
        assert not door.admits(cookies)


def test_a_door_accepts_only_its_own_names_for_this_machine() -> None:
    door = Door(8000)
    assert door.knows("127.0.0.1:8000")
    assert door.knows("localhost:8000")
    for host in (None, "", "127.0.0.1", "127.0.0.1:80", "evil.example:8000", "localhost.:8000"):
        assert not door.knows(host)
