"""The records of a fleet: who can write them, and for what they pass."""

from __future__ import annotations

import msgspec
import pytest

from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.records import (
    NODES,
    OWNERS,
    FormatRecord,
    InvalidRecordError,
    NodeRecord,
    Records,
)

RECORD = NodeRecord(
    node="box",
    instance="1f",
    host="box",
    roots=["/srv"],
    workspace="",
    slots=4,
    used=1,
    version="0.2.0",
    wire=2,
    started_epoch_ms=1,
)


def test_a_record_is_read_by_every_node() -> None:
    data = Records(FleetKey(b"k" * 32)).encode(NODES, "box", RECORD)
    assert Records(FleetKey(b"k" * 32)).decode(NODES, "box", data, NodeRecord) == RECORD


@pytest.mark.parametrize(
    ("key", "bucket", "name"),
    [(b"other" * 8, NODES, "box"), (b"k" * 32, OWNERS, "box"), (b"k" * 32, NODES, "box2")],
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


OTHER = FormatRecord(format=1, fleet="f", version="1")


def test_a_record_of_another_form_is_refused_and_further_members_are_skipped() -> None:
    records = Records(FleetKey(b"k" * 32))
    with pytest.raises(InvalidRecordError):
        records.decode(NODES, "box", records.encode(NODES, "box", OTHER), NodeRecord)
    newer = msgspec.defstruct("Newer", [("more", int)], bases=(NodeRecord,), kw_only=True)
    data = records.encode(NODES, "box", newer(more=1, **msgspec.structs.asdict(RECORD)))
    assert records.decode(NODES, "box", data, NodeRecord) == RECORD
