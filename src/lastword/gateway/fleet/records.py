"""The records of a fleet: nodes, owners and sessions, as its buckets have them.

Owns their members and their form on the wire: JSON with a code that only a node can make, since it
needs the fleet's key. The code also covers the record's bucket and name, so that no record passes
for another. A record of a newer version may have more members, which are skipped.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lastword.core.protocol import jsonrpc
from lastword.gateway.api.shapes import SessionView  # noqa: TC001 - msgspec reads annotations
from lastword.gateway.fleet.key import RECORDS, FleetKey

if TYPE_CHECKING:
    from collections.abc import Mapping

NODES = "lw_nodes"
SESSIONS = "lw_sessions"
OPENINGS = "lw_open"
PAGE_LINKS = "lw_links"
SUBSCRIPTIONS = "lw_push"
FLEET = "lw_fleet"
"""The buckets: nodes by name, which expire; sessions by `wire.name_of(session)`, which last;
answered `session/new` requests, used page links, push subscriptions, and the fleet's format."""

LEASE_SECONDS = 15.0
"""How long the record of a node lives without being renewed, and with it what the node owns."""

RENEW_SECONDS = 2.0
"""How often it is renewed: NATS servers take up to 9 s to elect another leader for its stream."""

RecordT = TypeVar("RecordT", bound=msgspec.Struct)


class InvalidRecordError(Exception):
    """A record's code is wrong, or it is not of its bucket's type."""


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A node.

    Attributes:
        node: its name.
        instance: a random id of its process, which tells two nodes with one name apart.
        host: the name of its machine; empty while it is not running.
        roots: the folders in or below which its sessions work.
        workspace: its `--workspace-id`; empty if its files are its own.
        slots: the maximum number of its agents.
        used: how many are running.
        version: the version of lastword.
        wire: the version of its messages to other nodes (`gateway.wire`).
        started_epoch_ms: when it was started or reloaded.
    """

    node: str
    instance: str
    host: str = ""
    roots: list[str]
    workspace: str
    slots: int
    used: int
    version: str
    wire: int
    started_epoch_ms: int


class OwnerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a session: the node, and the holder on it that has the session's agent.

    It counts while its node has a record with this instance.

    Attributes:
        node: the owner's node.
        instance: that node's instance.
        holder: the holder's name there.
        view: the session as the API shows it.
        not_replicated: the number of entries that the fleet's log does not have yet.
    """

    node: str
    instance: str
    holder: str = ""
    view: SessionView
    not_replicated: int = 0


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session of the fleet, which lasts beyond its owner.

    Attributes:
        session: its id.
        node: the node that has its files.
        term: the number of its latest ownership, which rises with each owner.
        cwd: its working directory.
        workspace: the `--workspace-id` of the node that has its files.
        owner: its owner; `None` if it has none.
        ended: how the API shows it if it has ended.
    """

    session: str
    node: str
    term: int
    cwd: str
    workspace: str
    owner: OwnerRecord | None = None
    ended: SessionView | None = None


def living_owner(record: SessionRecord | None, instances: Mapping[str, str]) -> OwnerRecord | None:
    """Return a session's owner, if its node is one of these, with this instance."""
    owner = record.owner if record is not None else None
    return owner if owner is not None and instances.get(owner.node) == owner.instance else None


def place_of(owner: OwnerRecord) -> str:
    """Return the place of a session's holder, as in a directory of sessions."""
    return node_place(owner.node, owner.holder)


def node_place(node: str, holder: str) -> str:
    """Return the place of a holder at another node."""
    return f"node:{node}/{holder}"


def parts_of(place: str) -> tuple[str, str] | None:
    """Return the node and holder that a place stands for; `None` if it is on this machine."""
    if not place.startswith("node:"):
        return None
    node, _, holder = place.removeprefix("node:").partition("/")
    return node, holder


class FormatRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The format of a fleet's data, which shows a node that a fleet has another key or version.

    Attributes:
        format: its number.
        fleet: a random id.
        version: the version of lastword that began it.
    """

    format: int
    fleet: str
    version: str


def storable(record: RecordT) -> RecordT:
    """Return a record with a question mark for each lone surrogate, as of a title that was cut."""
    try:
        msgspec.json.encode(record)
    except UnicodeEncodeError:
        content = jsonrpc.without_surrogates(msgspec.to_builtins(record))
        return msgspec.convert(content, type(record))
    return record


class _Signed(msgspec.Struct, frozen=True):
    code: str
    record: msgspec.Raw


class Records:
    """Writes and reads records with the fleet's key.

    Attributes:
        invalid: how many records were refused.
    """

    def __init__(self, key: FleetKey) -> None:
        self._key = key.derived(RECORDS)
        self.invalid: int = 0

    def encode(self, bucket: str, name: str, record: msgspec.Struct) -> bytes:
        """Return a record encoded for a bucket and a name."""
        content = msgspec.json.encode(storable(record))
        return msgspec.json.encode(_Signed(self._code(bucket, name, content), msgspec.Raw(content)))

    def decode(self, bucket: str, name: str, data: bytes, form: type[RecordT]) -> RecordT:
        """Return the record from a bucket's content under a name.

        Raises:
            InvalidRecordError: Its code is wrong, or it is of another type.
        """
        try:
            signed = msgspec.json.decode(data, type=_Signed)
            content = bytes(signed.record)
            if hmac.compare_digest(signed.code, self._code(bucket, name, content)):
                return msgspec.json.decode(content, type=form)
        except (msgspec.DecodeError, TypeError):  # TypeError: the code is not ASCII
            pass
        self.invalid += 1
        raise InvalidRecordError(f"{bucket}/{name}")

    def _code(self, bucket: str, name: str, content: bytes) -> str:
        return hmac.digest(self._key, f"{bucket}/{name}\0".encode() + content, "sha256").hex()
