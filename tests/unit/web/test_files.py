"""The pages' files: whole, small, and the same as what `protocol/` has."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

import pytest

from lastword.web.files import (
    ANSWER,
    GATEWAY,
    LATER,
    LIBRARY,
    RECORD,
    SHARED,
    gateway_files,
    record_files,
    without_comments,
)
from tests.kit.places import PROTOCOL, ROOT

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 40_000
MAX_LATER_BYTES = 6_000
FOLDERS = (ANSWER, GATEWAY, RECORD, SHARED)
ALL = [path for folder in FOLDERS for path in folder.iterdir() if path.suffix != ".png"]
SCRIPTS = [path for path in ALL if path.suffix == ".js"]
PAGE_TESTS = ROOT / "tests" / "interop" / "page"


def test_all_page_files_are_under_40_kb_packed() -> None:
    library = {path.name for path in LIBRARY.iterdir()}
    sizes = {n: len(kept.packed) for n, kept in gateway_files().items() if n not in library}
    first = {name: size for name, size in sizes.items() if name not in {*LATER, "icon.png"}}
    assert sum(first.values()) < MAX_BYTES, sizes
    assert sum(sizes.values()) < MAX_BYTES + MAX_LATER_BYTES, sizes


def test_a_later_script_imports_its_modules_from_the_first() -> None:
    first = gateway_files()["main.js"].body.decode()
    (shared,) = re.findall(r"^export \{ (.+) \};$", first, re.MULTILINE)
    for name in LATER:
        text = gateway_files()[name].body.decode()
        wanted = re.findall(r'^import \{ (\w+) \} from "\./main\.js";', text, re.MULTILINE)
        assert {*wanted} <= {*shared.split(", ")}
        assert len(wanted) == len(re.findall(r"^import ", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("served", "name"),
    [(GATEWAY / "reconnect.js", "reconnect/reconnect.js"), (SHARED / "words.js", "words.js")],
    ids=["reconnect.js", "words.js"],
)
def test_the_policy_and_the_words_are_those_of_protocol(served: Path, name: str) -> None:
    assert served.read_bytes() == (PROTOCOL / name).read_bytes()


def test_a_page_imports_only_its_own_files_and_the_shared_ones() -> None:
    for path in SCRIPTS:
        for source in re.findall(r'from "\./([^"]+)"', path.read_text(encoding="utf-8")):
            homes = {folder for folder in (GATEWAY, RECORD, SHARED) if (folder / source).exists()}
            assert homes in ({path.parent}, {SHARED}), (path, source)


def test_both_pages_need_every_shared_script() -> None:
    scripts = {path.stem for path in SHARED.glob("*.js")}
    for files, script in ((gateway_files(), "main.js"), (record_files(), "record_live.js")):
        modules = re.findall(r"^const module_(\w+) =", files[script].body.decode(), re.MULTILINE)
        assert scripts <= set(modules), script


def test_the_library_has_its_stated_hash_and_its_licences() -> None:
    about = json.loads((LIBRARY / "library.json").read_text())
    assert {path.name for path in LIBRARY.iterdir()} == {
        *(about["file"], "library.json", "licenses.txt")
    }
    script = (LIBRARY / about["file"]).read_bytes()
    assert hashlib.sha256(script).hexdigest() == about["sha256"]
    assert gateway_files()[about["file"]].body == script
    licenses = (LIBRARY / "licenses.txt").read_text(encoding="utf-8")
    locked = json.loads((PAGE_TESTS / "package-lock.json").read_text())["packages"]
    for package in about["packages"]:
        assert f"{package['name']} {package['version']} ({package['license']})" in licenses
        known = locked[f"node_modules/{package['name']}"]
        assert {key: known[key] for key in package if key != "name"} | {
            "name": package["name"]
        } == package
    assert f'"/page/{about["file"]}"' in (GATEWAY / "markdown.js").read_text()


def test_the_page_loads_one_script_that_has_every_module() -> None:
    home = gateway_files()["index.html"].body.decode()
    assert re.findall(r'="/page/(\w+\.js)"', home) == ["main.js"]
    script = gateway_files()["main.js"].body.decode()
    modules = re.findall(r"^const module_(\w+) =", script, re.MULTILINE)
    assert {f"{name}.js" for name in modules} | {"main.js", *LATER} == {
        path.name for folder in (GATEWAY, SHARED) for path in folder.glob("*.js")
    }
    assert len(modules) == len(set(modules))


def test_no_script_can_turn_text_into_markup_or_code_or_load_it_from_elsewhere() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style="
    )
    for path in ALL:
        text = path.read_text(encoding="utf-8")
        assert not forbidden.search(text), path
        assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}, path


def test_comments_and_types_stay_here_and_every_other_line_keeps_its_number() -> None:
    script = b"/** a\n * b\n */\n  let a; // c\n  // d\n  /* e */\nlet b = /** @type {x} */ (c);\n"
    assert without_comments(script) == b"\n\n\nlet a; // c\n\n\nlet b = (c);\n"


def test_a_script_is_written_so_that_its_comments_can_be_left_out() -> None:
    for path in SCRIPTS:
        for line in path.read_text(encoding="utf-8").splitlines():
            is_whole = line.count("`") % 2 == 0  # a template literal spans no lines
            assert is_whole or re.search(r"\(/\S*`\S*/\w*,", line), (path, line)
            begins, closes, rest = line.partition("*/")
            if closes and begins.lstrip().startswith(("/*", "*")):
                assert not rest.strip(), (path, line)
