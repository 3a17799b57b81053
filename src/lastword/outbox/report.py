"""Reports: a failure as a row of the record has it, without any text.

Owns which facts leave the machine: words of low cardinality, numbers, and lastword's own ids.
There is no message, no detail and no file name, even if the record keeps error texts, and a
session's id is hashed. `core.redact` has already removed secrets from every row.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import msgspec

from lastword.core.failure.members import MEMBERS, ValueForm
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.record.run import Row, Run

Value: TypeAlias = bool | int | float | str

_REPORTED = {member.name: member.form for member in MEMBERS if member.reported}
_FLAGS = tuple(name for name, form in _REPORTED.items() if form is ValueForm.FLAG)
_NUMBERS = (
    *(name for name, form in _REPORTED.items() if form in {ValueForm.COUNT, ValueForm.WHOLE}),
    "open_turns",
)
_WORDS = (*(name for name in _REPORTED if name not in (*_FLAGS, *_NUMBERS)), "method", "rule", "by")
FACTS = frozenset({*_WORDS, *_NUMBERS, *_FLAGS})
"""The facts that a report may have."""

_WORD = re.compile(r"[A-Za-z0-9_.:/+-]{1,64}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
MAX_NAME_CHARS = 64
MAX_NUMBER = 2**53
MAX_TRACED_TURNS = 256
OTHER = "other"
"""Replaces a value that is not a single word, such as a provider's code that is a sentence."""


class FailureReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One failure.

    Attributes:
        report_id: the same however often it is sent.
        at_epoch_ms: when it happened, in milliseconds since 1970 UTC.
        what: what failed: `turn`, `request`, `start` (a request before the agent was ready, or the
            start of a lastword process), `holder`, `client` (an error in a page or a connector) or
            `test`.
        run_id: incident ids begin with it.
        door: `run`, `guard`, `serve` or `gateway`.
        program: the base name of the agent's program.
        lastword_version: lastword's version.
        platform: such as `linux`.
        session: the session's id, hashed.
        turn: the turn's number in the run.
        agent: the agent's own name.
        agent_version: its version.
        client: the client's own name.
        client_version: its version.
        traceparent: the client's span, in W3C's form.
        facts: the payload's facts that `FACTS` lists.
    """

    report_id: str
    at_epoch_ms: int
    what: str
    run_id: str
    door: str
    program: str
    lastword_version: str
    platform: str
    session: str = ""
    turn: int | None = None
    agent: str = ""
    agent_version: str = ""
    client: str = ""
    client_version: str = ""
    traceparent: str = ""
    facts: dict[str, Value] = {}


def facts_of(members: Mapping[str, Any]) -> dict[str, Value]:
    """Return the facts of a payload or an entry that may be reported."""
    facts: dict[str, Value] = {}
    for name in _WORDS:
        value = members.get(name)
        if isinstance(value, str) and value:
            facts[name] = value if _WORD.fullmatch(value) else OTHER
    for name in _NUMBERS:
        value = members.get(name)
        if _is_number(value):
            facts[name] = value
    for name in _FLAGS:
        value = members.get(name)
        if isinstance(value, bool):
            facts[name] = value
    return facts


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -MAX_NUMBER < value < MAX_NUMBER


def hashed(session_id: str | None) -> str:
    """Return a session's id, hashed irreversibly."""
    if not session_id:
        return ""
    return hashlib.sha256(f"lastword {session_id}".encode(errors="replace")).hexdigest()[:16]


def name_of(text: object) -> str:
    """Return the name that a program gives itself, as one short line."""
    return one_line(text)[:MAX_NAME_CHARS] if isinstance(text, str) else ""


class ReportWriter:
    """The reports of one run, made from its rows."""

    __slots__ = ("_names", "_run", "_traced")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._names: dict[str, str] = {}
        self._traced: OrderedDict[tuple[str | None, int | None], str] = OrderedDict()

    def receive(self, rows: Sequence[Row]) -> list[FailureReport]:
        reports = []
        for row in rows:
            if row.kind == Kind.ERROR:
                reports.append(self._report(row))
            elif row.kind in (Kind.AGENT_READY, Kind.CLIENT_ATTACHED):
                side = "agent" if row.kind == Kind.AGENT_READY else "client"
                self._names[side] = name_of(row.facts.get("name"))
                self._names[f"{side}_version"] = name_of(row.facts.get("version"))
            elif row.kind == Kind.PROMPT:
                self._trace(row)
        return reports

    def _trace(self, row: Row) -> None:
        traceparent = row.facts.get("traceparent")
        if isinstance(traceparent, str) and _TRACEPARENT.fullmatch(traceparent):
            self._traced[row.session_id, row.turn] = traceparent
            if len(self._traced) > MAX_TRACED_TURNS:
                self._traced.popitem(last=False)

    def _report(self, row: Row) -> FailureReport:
        run = self._run
        what = "request" if "agent" in self._names else "start"
        # The same row is the same report, also where it is handed over a second time.
        identity = msgspec.json.encode((run.run_id, row.at_seconds, row.request_id, row.turn))
        number = hashlib.sha256(identity + msgspec.json.encode(row.facts.get("incident_id")))
        return FailureReport(
            report_id=number.hexdigest()[:32],
            at_epoch_ms=row.at_epoch_ms,
            what=what if row.turn is None else "turn",
            run_id=run.run_id,
            door=run.door,
            program=name_of(run.program),
            lastword_version=run.lastword_version,
            platform=run.platform,
            session=hashed(row.session_id),
            turn=row.turn,
            traceparent=self._traced.pop((row.session_id, row.turn), ""),
            facts=facts_of(row.facts),
            **self._names,
        )


def own_report(
    run: Run, what: str, members: Mapping[str, Any], session_id: str = ""
) -> FailureReport:
    """Return a report about a process without a record, such as a gateway that cannot start.

    Args:
        run: This process, as a run.
        what: As `FailureReport.what`.
        members: A payload.
        session_id: The session, if there is one.
    """
    return FailureReport(
        report_id=secrets.token_hex(16),
        at_epoch_ms=time.time_ns() // 1_000_000,
        what=what,
        run_id=run.run_id,
        door=run.door,
        program=name_of(run.program),
        lastword_version=run.lastword_version,
        platform=run.platform,
        session=hashed(session_id),
        facts=facts_of(members),
    )
