"""`lastword export --html`: one page in one file, which needs nothing else and tells no secret."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
import zipfile
from typing import TYPE_CHECKING, Any

from lastword.cli import export
from lastword.core.timeline.entry import Kind
from lastword.record import reader
from lastword.record.present.bundle import Bundle, Scrubber
from tests.kit.canaries import CANARIES
from tests.kit.recording import Book, a_run, lastword, write
from tests.unit.cli.test_export import SECRETS, state

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

__all__ = ["state"]

EVIL = "</script ><!--<script> <b>&amp; \u2028\u202e\x1b[31m"


def exported(state: Path, *arguments: str, **environment: str) -> str:
    """The page that one export wrote."""
    target = state.parent / "out.html"
    words = ("export", "--last", "--html", "--force", "-o", str(target), *arguments)
    done = lastword(*words, state=state, **environment)
    assert (done.returncode, done.stdout) == (0, f"{target}\n"), done.stderr
    said = " ".join(done.stderr.split())
    assert said.startswith(f"Written to {target} Contents: one page with "), said
    assert said.endswith("Read it before you attach it."), said
    return target.read_bytes().decode()


def data_of(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    [data] = re.findall(
        r'<script type="application/json" id="record">(.*?)</script>', page, re.DOTALL
    )
    told: dict[str, Any] = json.loads(data)
    return told


def test_no_secret_is_in_the_exported_page(state: Path) -> None:
    page = exported(state, USER="Ada.Lovelace", MY_TOKEN="hunter2hunter2")
    plain = html.unescape(page)
    for secret in SECRETS:
        assert secret not in plain, secret
        assert base64.b64encode(secret.encode()).decode() not in plain
    assert "4242" not in json.dumps(data_of(page))


def test_the_page_has_the_entries_and_the_manifest_of_the_zip_file(state: Path) -> None:
    page = exported(state)
    bundle = state.parent / "out.zip"
    assert lastword("export", "--last", "-o", str(bundle), state=state).returncode == 0
    with zipfile.ZipFile(bundle) as members:
        lines = [json.loads(line) for line in members.read("timeline.jsonl").splitlines()]
        manifest = json.loads(members.read("manifest.json"))
        summary = members.read("summary.md").decode()
    told = data_of(page)
    assert told["summary"] == summary
    for line, event in zip(lines, told["events"], strict=True):
        sentence = event["facts"].pop("sentence", None)
        assert (event["kind"], event["facts"], event["turn"], event["run"]) == (
            *(line["kind"], line["facts"], line["turn"], line["run"]),
        )
        assert (sentence is not None) == (event["kind"] == "error")
    [shown] = re.findall(r'<div class="text">(\{.*?\})</div>', page, re.DOTALL)
    assert json.loads(html.unescape(shown)) == manifest


def test_the_same_record_gives_the_same_page(state: Path) -> None:
    pages = {exported(state, TZ=zone, PYTHONHASHSEED=seed) for zone, seed in _ZONES}
    assert len(pages) == 1


_ZONES = (("UTC", "0"), ("Asia/Tokyo", "1"))


def test_the_page_loads_nothing_and_runs_only_its_own_script_and_style(state: Path) -> None:
    page = exported(state)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    [script] = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for text, kind in ((script, "script"), (style, "style")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert re.findall(r"<(?:link|img|iframe|object|base|form)\b|\bsrc=|@import|url\(", page) == []
    assert "fetch(" not in script
    assert "import" not in re.findall(r"^\w+", script, re.MULTILINE)


def test_foreign_text_never_becomes_markup(tmp_path: Path) -> None:
    book = Book()
    book.note(Kind.AGENT_READY, name=EVIL, version="1")
    book.created(EVIL)
    book.failed(EVIL, 1, "budget", reason=EVIL, incident_id=f'"{EVIL}', detail={"text": EVIL})
    write(tmp_path / "state", book, a_run("01EVIL"))
    page = exported(tmp_path / "state")
    tags = set(
        re.findall(r"<(/?[a-z0-9]+)", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    )
    assert tags <= {
        *("html", "head", "meta", "title", "style", "body", "a", "header", "span", "main", "div"),
        *("h1", "h2", "bdi", "dl", "dt", "dd", "p", "ul", "li", "strong", "section", "small"),
        *("ol", "time", "details", "summary"),
        *("/html", "/head", "/title", "/style", "/body", "/a", "/header", "/span", "/main"),
        *("/div", "/h1", "/h2", "/bdi", "/dl", "/dt", "/dd", "/p", "/ul", "/li", "/strong"),
        *("/section", "/small", "/ol", "/time", "/details", "/summary"),
    }
    assert "\x1b" not in page
    assert "\u202e" not in page
    [error] = [event for event in data_of(page)["events"] if event["kind"] == "error"]
    assert error["facts"]["detail"]["text"].startswith("</script ><!--<script> <b>&amp; ")


def test_the_page_contains_no_canary(tmp_path: Path) -> None:
    book = Book()
    for number, canary in enumerate(CANARIES.values(), 1):
        book.note(Kind.AGENT_READY, name=f"agent {canary}", version=canary)
        book.failed("s1", number, detail={"text": f"it said {canary} to me"}, message=canary)
    write(tmp_path / "state", book, a_run("01CANARY"))
    plain = html.unescape(exported(tmp_path / "state"))
    for name, canary in CANARIES.items():
        assert canary not in plain, name


def test_the_page_of_a_long_session_has_its_latest_entries_and_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book()
    for turn in range(1, 52):
        book.failed("s1", turn, incident_id=f"01LONG-{turn}")
    path = write(tmp_path, book, a_run("01LONG"))
    monkeypatch.setattr(export, "MAX_ENTRIES", 100)
    file = io.BytesIO()
    with reader.reading(str(path)) as record:
        [part] = reader.find(record, "s1")
        manifest = export.write_page(Bundle(record, part, Scrubber((), {})), file)
    page = file.getvalue().decode()
    assert [event["turn"] for event in data_of(page)["events"]] == [2 + n // 2 for n in range(100)]
    assert manifest["counts"]["entries"] == {"error": 51, "prompt": 51}
    assert "102, of which the latest 100 are here" in page
    assert "40 earlier failures below." in page
