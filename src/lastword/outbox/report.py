"""A report of a failure, and the target to which it is sent.

Reports: a failure as a row of the record has it, without any text. Owns which facts leave the
machine: words of low cardinality, numbers, and lastword's own ids. There is no message, no detail
and no file name, even if the record keeps error texts, and a session's id is hashed. `core.redact`
has already removed secrets from every row.

The target of reports: where they go, in which form, and with which credentials. Owns the
environment variables for that, and the rule that no credential is stored: a target's rows have a
name that is a hash of its place. A webhook's headers, by which its receiver verifies the sender and
detects repeats, have the signature of the Standard Webhooks specification (HMAC-SHA256 over id,
time and body), for which libraries exist.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from lastword.core.failure.members import MEMBERS, ValueForm
from lastword.core.link.option_table import BY_KEY
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind
from lastword.platform.files import decoded

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
        report_id: its id, the same in each attempt to send it.
        at_epoch_ms: when it happened, in milliseconds since 1970 UTC.
        what: what failed: `turn`, `request`, `start` (a request before the agent was ready, or the
            start of a lastword process), `holder`, `client` (an error in a page or a connector) or
            `test`.
        run_id: the run's id, with which incident ids begin.
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
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if -MAX_NUMBER < value < MAX_NUMBER:
            facts[name] = value
    for name in _FLAGS:
        value = members.get(name)
        if isinstance(value, bool):
            facts[name] = value
    return facts


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
        run, reports = self._run, []
        for row in rows:
            if row.kind == Kind.ERROR:
                what = "request" if "agent" in self._names else "start"
                # The same row is the same report, even if it is received a second time.
                identity = msgspec.json.encode(
                    (run.run_id, row.at_seconds, row.request_id, row.turn)
                )
                identity += msgspec.json.encode(row.facts.get("incident_id"))
                report = FailureReport(
                    report_id=hashlib.sha256(identity).hexdigest()[:32],
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
                reports.append(report)
            elif row.kind in (Kind.AGENT_READY, Kind.CLIENT_ATTACHED):
                side = "agent" if row.kind == Kind.AGENT_READY else "client"
                self._names[side] = name_of(row.facts.get("name"))
                self._names[f"{side}_version"] = name_of(row.facts.get("version"))
            elif row.kind == Kind.PROMPT:
                traceparent = row.facts.get("traceparent")
                if isinstance(traceparent, str) and _TRACEPARENT.fullmatch(traceparent):
                    self._traced[row.session_id, row.turn] = traceparent
                    if len(self._traced) > MAX_TRACED_TURNS:
                        self._traced.popitem(last=False)
        return reports


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


SECRET_PREFIX = "whsec_"  # noqa: S105 - marks a secret in base64


def headers_of(report_id: str, body: bytes, secret: bytes, now_seconds: int) -> dict[str, str]:
    """Return the headers of one request; without a secret there is no signature.

    Args:
        report_id: The report's id.
        body: The body.
        secret: Shared with the receiver; may be empty.
        now_seconds: The time of day, in seconds since 1970 UTC.
    """
    headers = {"webhook-id": report_id, "webhook-timestamp": str(now_seconds)}
    if secret:
        signed = f"{report_id}.{now_seconds}.".encode() + body
        mac = hmac.new(secret, signed, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(mac).decode()}"
    return headers


def secret_of(text: str) -> bytes:
    """Return the secret in a text, with or without the specification's prefix."""
    text = text.strip()
    if text.startswith(SECRET_PREFIX):
        try:
            return base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error:
            pass
    return text.encode()


OTLP = "otlp"
WEBHOOK = "webhook"
LOGS_PATH = "/v1/logs"
"""The path of logs in OTLP's specification, for an address without a path."""

MAX_SECRET_BYTES = 64 * 1024
_OTEL_HEADERS = ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_OTEL_PLACES = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class TargetError(Exception):
    """A target to which nothing can be sent; the text says why, and contains no credential."""


class TargetOptions(msgspec.Struct, frozen=True):
    """The target that the options ask for.

    Attributes:
        url: where reports go; empty for nowhere.
        form: `otlp` or `webhook`.
        secret_file: a file with the webhook's secret; empty for none.
    """

    url: str = ""
    form: str = OTLP
    secret_file: str = ""


class ReportTarget(msgspec.Struct, frozen=True):
    """A collector or webhook that receives reports.

    Attributes:
        url: the whole address, without credentials.
        form: `otlp` or `webhook`.
        headers: additional headers, including credentials.
        secret: the signature's secret; empty for none.
        key: identifies the target in the outbox.
        place: scheme, host and port, which may be shown.
    """

    url: str
    form: str
    headers: dict[str, str]
    secret: bytes
    key: str
    place: str

    def __repr__(self) -> str:
        """Without credentials."""
        return f"ReportTarget({self.form} at {self.place})"


class Address(msgspec.Struct, frozen=True):
    """An address.

    Attributes:
        url: the whole address, without credentials.
        place: scheme, host and port, which may be shown.
        path: its path.
        headers: its credentials.
    """

    url: str
    place: str
    path: str
    headers: dict[str, str]


def target_options(values: Mapping[str, object]) -> TargetOptions:
    return TargetOptions(
        str(values.get("report_to") or ""),
        str(values.get("report_format") or OTLP),
        str(values.get("report_secret_file") or ""),
    )


def target_options_in(environment: Mapping[str, str]) -> TargetOptions:
    """Return the target in the environment, from the variables of `lastword run`.

    Raises:
        TargetError: The address or the form is not valid.
    """
    values: dict[str, object] = {}
    for key in ("report_to", "report_format", "report_secret_file"):
        option = BY_KEY[key]
        text = environment.get(option.variable)
        values[key] = option.read(text) if text else option.default
        if values[key] is None:
            raise TargetError(f"{option.variable} cannot be used: it takes {option.expects}")
    return target_options(values)


def target_of(options: TargetOptions, environment: Mapping[str, str]) -> ReportTarget:
    """Return the requested target.

    Raises:
        TargetError: The address is not valid, or a file cannot be read.
    """
    usual_path = LOGS_PATH if options.form == OTLP else ""
    address = address_of(options.url, "--report-to", usual_path)
    place = address.place
    headers = address.headers | _headers(options, place, environment)
    key = hashlib.sha256(f"{options.form} {place}{address.path}".encode()).hexdigest()[:16]
    secret = environment.get("LASTWORD_REPORT_SECRET", "")
    if options.secret_file:
        path = os.path.expanduser(options.secret_file)
        secret = content_of(path, "the file of --report-secret-file")
    return ReportTarget(address.url, options.form, headers, secret_of(secret), key, place)


def address_of(url: str, option: str, usual_path: str = "") -> Address:
    """Return an address without its credentials, and these as a header.

    Args:
        url: The value of an option.
        option: The option, for messages.
        usual_path: The path of an address that has none.

    Raises:
        TargetError: It is not valid.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise TargetError(f"the address of {option} is not valid") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise TargetError(f"{option} takes an http or https address")
    shown = f"[{host}]" if ":" in host else host
    authority = shown + (f":{port}" if port is not None else "")
    path = usual_path if usual_path and parts.path in {"", "/"} else parts.path
    headers = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    whole = urlunsplit((parts.scheme, authority, path or "/", parts.query, ""))
    return Address(whole, f"{parts.scheme}://{authority}", path, headers)


def _headers(options: TargetOptions, place: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of lastword's variable, or OTLP's if its variables name this place."""
    own = environment.get("LASTWORD_REPORT_HEADERS")
    if own:
        if own.startswith("@"):
            own = content_of(os.path.expanduser(own[1:]), "the file of LASTWORD_REPORT_HEADERS")
        return _pairs(own, "LASTWORD_REPORT_HEADERS")
    named = next((environment[name] for name in _OTEL_PLACES if environment.get(name)), "")
    if options.form != OTLP or (named and not _is_at(named, place)):
        return {}
    for name in _OTEL_HEADERS:
        if environment.get(name):
            return _pairs(environment[name], name)
    return {}


def _is_at(url: str, place: str) -> bool:
    try:
        parts = urlsplit(url)
        return urlsplit(place)[:2] == (parts.scheme, parts.netloc.rpartition("@")[2].lower())
    except ValueError:
        return False


def _pairs(text: str, variable: str) -> dict[str, str]:
    """Return `name=value,name=value`, percent-encoded, as in OTLP's exporters."""
    pairs: dict[str, str] = {}
    for pair in text.strip().split(","):
        name, mark, value = pair.partition("=")
        name, value = unquote(name).strip().lower(), unquote(value).strip()
        if not pair.strip():
            continue
        token = name.replace("-", "").replace("_", "")
        if not mark or not (token.isascii() and token.isalnum()) or not value.isprintable():
            raise TargetError(f"{variable} cannot be used: it takes name=value,name=value")
        if not value.isascii():
            raise TargetError(f"{variable} cannot be used: a header's value is ASCII")
        pairs[name] = value
    return pairs


def content_of(path: str, what: str, limit_bytes: int | None = None) -> str:
    """Return the text in a file, without spaces around it.

    Args:
        path: The file.
        what: What it is, for messages.
        limit_bytes: The most that is read.

    Raises:
        TargetError: It cannot be read, is empty, or is not text.
    """
    try:
        with open(path, "rb") as file:
            text = decoded(file.read(limit_bytes or MAX_SECRET_BYTES), "strict").strip()
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise TargetError(f"{what} cannot be read ({reason})") from error
    except UnicodeDecodeError:
        raise TargetError(f"{what} is not text") from None
    if not text:
        raise TargetError(f"{what} is empty")
    return text
