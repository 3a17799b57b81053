"""The fleet's key, and its records: who can write them, and for what they pass."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.key import LINKS, RECORDS, FleetKey
from lastword.gateway.fleet.records import (
    NODES,
    SESSIONS,
    FormatRecord,
    InvalidRecordError,
    NodeRecord,
    Records,
)
from tests.kit.fleet.connected import node

if TYPE_CHECKING:
    from pathlib import Path

SECRET = bytes(range(200, 232))


def written(folder: Path, content: bytes, mode: int = 0o600) -> str:
    path = folder / "fleet.key"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def test_a_key_is_the_same_as_bytes_and_as_base64(tmp_path: Path) -> None:
    raw = FleetKey.at(written(tmp_path, SECRET))
    text = FleetKey.at(written(tmp_path, base64.b64encode(SECRET) + b"\n"))
    assert raw.derived(LINKS) == text.derived(LINKS)
    assert len(raw.derived(LINKS)) == 32
    assert raw.derived(LINKS) != raw.derived(RECORDS)


def test_a_record_is_written_although_a_text_of_it_is_no_unicode() -> None:
    records = Records(FleetKey(SECRET))
    cut = records.encode(NODES, "box", replace(node(), roots=["/srv/\udcff"]))
    assert records.decode(NODES, "box", cut, NodeRecord) == replace(node(), roots=["/srv/?"])


@pytest.mark.parametrize("content", [b"", SECRET[:31], base64.b64encode(SECRET[:31]), b"x" * 5000])
def test_a_file_without_a_key_is_refused_with_the_line_that_makes_one(
    content: bytes, tmp_path: Path
) -> None:
    with pytest.raises(FleetError, match=r"fleet\.key does not contain .*openssl rand -base64 32"):
        FleetKey.at(written(tmp_path, content))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="chmod 600"):
        FleetKey.at(written(tmp_path, SECRET, mode))


def test_an_unreadable_key_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"absent cannot be read \(no such file"):
        FleetKey.at(str(tmp_path / "absent"))


RECORD = replace(node(), host="box")


def test_a_record_is_read_by_every_node() -> None:
    data = Records(FleetKey(b"k" * 32)).encode(NODES, "box", RECORD)
    assert Records(FleetKey(b"k" * 32)).decode(NODES, "box", data, NodeRecord) == RECORD


@pytest.mark.parametrize(
    ("key", "bucket", "name"),
    [(b"other" * 8, NODES, "box"), (b"k" * 32, SESSIONS, "box"), (b"k" * 32, NODES, "box2")],
)
def test_a_record_of_another_key_or_another_place_is_refused_and_counted(
    key: bytes, bucket: str, name: str
) -> None:
    data = Records(FleetKey(key)).encode(NODES, "box", RECORD)
    records = Records(FleetKey(b"k" * 32))
    with pytest.raises(InvalidRecordError, match=name):
        records.decode(bucket, name, data, NodeRecord)
    assert records.invalid == 1


def test_a_changed_record_is_refused() -> None:
    records = Records(FleetKey(b"k" * 32))
    data = records.encode(NODES, "box", RECORD).replace(b'"host":"box"', b'"host":"fox"')
    with pytest.raises(InvalidRecordError):
        records.decode(NODES, "box", data, NodeRecord)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\xff", b'{"code":"\xc3\xa4","record":{}}', b'{"code":1,"record":{}}']
)
def test_an_invalid_record_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRecordError):
        Records(FleetKey(b"k" * 32)).decode(NODES, "box", data, NodeRecord)


def test_a_record_of_another_form_is_refused_and_further_members_are_skipped() -> None:
    records = Records(FleetKey(b"k" * 32))
    other = FormatRecord(format=1, fleet="f", version="1")
    with pytest.raises(InvalidRecordError):
        records.decode(NODES, "box", records.encode(NODES, "box", other), NodeRecord)
    newer = msgspec.defstruct("Newer", [("more", int)], bases=(NodeRecord,), kw_only=True)
    data = records.encode(NODES, "box", newer(more=1, **msgspec.structs.asdict(RECORD)))
    assert records.decode(NODES, "box", data, NodeRecord) == RECORD
