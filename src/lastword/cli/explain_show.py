"""How an explained error looks: for a person in 80 columns, and as JSON. All of it redacted."""

from __future__ import annotations

import os
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli.explain_case import safety_of
from lastword.cli.explain_why import Proof, basis_of, proofs_of
from lastword.core.classify.statuses import type_of_status
from lastword.core.known_secrets import secrets_of
from lastword.core.moments import plain_duration, plain_moment
from lastword.core.redact import Redactor
from lastword.core.taxonomy import Action, AgentError, ErrorType, Origin, RetrySafety
from lastword.public import compose

if TYPE_CHECKING:
    from lastword.cli.explain_case import Case

MAX_SAID_CHARS = 600
_LABEL_COLUMNS = 13

_WHOSE = {
    Origin.PROVIDER: "the model provider's, or the account's there",
    Origin.NETWORK: "the network's, between here and the provider",
    Origin.AGENT: "the agent's",
    Origin.PROCESS: "the agent's process",
    Origin.CLIENT: "this side's: the client or its user",
    Origin.LASTWORD: "lastword's own",
}
_SAFE = {
    RetrySafety.AUTO: "yes: nothing can happen twice",
    RetrySafety.OFFER_CONTINUE: "not by itself: part of an answer came, so go on from there",
    RetrySafety.ASK: "ask first: tools may have run before it failed",
    RetrySafety.NEVER: "no: the same request fails again",
}
_DO = {
    Action.WAIT: "wait, then try again",
    Action.RETRY: "try again",
    Action.CONTINUE: "ask the agent to continue",
    Action.CONFIRM_RETRY: "see what has already been done, then try again",
    Action.LOGIN: "log in again, or check the API key",
    Action.TOP_UP: "add credits, wait for the reset, or switch to another model",
    Action.SWITCH_MODEL: "choose another model",
    Action.SHORTEN: "shorten the conversation, or choose a model with more room",
    Action.REPHRASE: "rephrase the request",
    Action.FIX_CONFIGURATION: "fix the agent's configuration",
    Action.RESTART: "start the agent again",
    Action.REPORT: "read the details; report it if it happens again",
}
_COLOURS = {"title": "1", "label": "2", "yes": "32", "no": "31"}


class Explanation(msgspec.Struct, frozen=True):
    """An error with its reasons, redacted."""

    error: AgentError
    form: str
    rule: str
    proofs: list[Proof]
    now: datetime

    def as_json(self) -> dict[str, Any]:
        """The error's fields, and beside them what decided."""
        evidence = [msgspec.to_builtins(proof) for proof in self.proofs]
        told = {"rule": self.rule, "read_as": self.form, "evidence": evidence}
        return self.error.payload() | told


def explain(case: Case) -> Explanation:
    """Everything that is shown about an error."""
    redact = Redactor(secrets_of(os.environ))
    error = compose(case.verdict, facts=case.facts)
    if error.retry_safety is None:
        error = msgspec.structs.replace(error, retry_safety=safety_of(case.verdict, case.facts))
    proofs = [
        Proof(_line(redact(proof.where), 100), _line(redact(proof.said), 160), proof.means)
        for proof in proofs_of(case)
    ]
    rule = _line(redact(case.verdict.rule), 200)
    return Explanation(error, case.form, rule, proofs, datetime.now().astimezone())


def _line(text: str, limit: int) -> str:
    """One line without anything that could move a terminal's cursor."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


def shown(explanation: Explanation, *, columns: int = 80, colours: bool = False) -> str:
    """The explanation as a person reads it."""
    error = explanation.error
    page = _Page(max(40, columns), colours=colours)
    page.title(error.type.value)
    page.text(error.message)
    page.gap()
    page.row("retry", _retry(explanation), "yes" if error.retryable else "no")
    page.row("safe", _safe(error))
    page.row("whose fault", _WHOSE[error.origin] if error.origin else "not known")
    page.row("what to do", _DO[error.action] if error.action else "")
    page.row("more exactly", (error.reason or "").replace("_", " "))
    page.row("told by", _told_by(error))
    page.gap()
    page.title("why")
    page.text(f"Read as {explanation.form}. {basis_of(explanation.rule)}.")
    page.row("rule", explanation.rule)
    for proof in explanation.proofs:
        said = f': "{proof.said}"' if proof.said else ""
        page.row("evidence", f"{proof.where}{said} = {proof.means}")
    page.row("overruled", _overruled(explanation))
    said = (error.detail or {}).get("text", "")
    if said:
        page.gap()
        page.title("what it said")
        page.quote(said[:MAX_SAID_CHARS] + (" ..." if len(said) > MAX_SAID_CHARS else ""))
    return page.whole()


def _retry(explanation: Explanation) -> str:
    error = explanation.error
    when = ""
    if error.retry_after_seconds:
        when = f"in {plain_duration(error.retry_after_seconds)}"
    if error.reset_at_epoch_ms:
        moment = datetime.fromtimestamp(error.reset_at_epoch_ms / 1000, tz=explanation.now.tzinfo)
        left = plain_moment(error.reset_at_epoch_ms, explanation.now)
        resets = "resets" if left else "was to reset"
        when = f"{when or left or 'now'} (the limit {resets} {moment:%Y-%m-%d %H:%M})"
    if error.retryable:
        return f"yes, {when}" if when else "yes, in a moment"
    if when:
        return f"not by itself; at the earliest {when}"
    known = error.type is not ErrorType.UNKNOWN
    return "no, it would not help" if known else "not by itself: whether it would help is not known"


def _safe(error: AgentError) -> str:
    if error.type is ErrorType.UNKNOWN:
        return "not known, so nothing is sent again by itself"
    waits = error.retry_after_seconds or error.reset_at_epoch_ms
    if waits and error.retry_safety is RetrySafety.NEVER:
        return "not by itself, and not before then"
    return _SAFE[error.retry_safety or RetrySafety.ASK]


def _told_by(error: AgentError) -> str:
    parts = [error.source or ""]
    if error.http_status:
        parts.append(f"HTTP {error.http_status}")
    if error.provider_code:
        parts.append(f"code {error.provider_code}")
    if error.exit_signal:
        parts.append(error.exit_signal)
    elif error.exit_code is not None:
        parts.append(f"exit status {error.exit_code}")
    if error.request_id:
        parts.append(f"request {error.request_id}")
    return _line(", ".join(filter(None, parts)), 200)


def _overruled(explanation: Explanation) -> str:
    """The status, where it alone would have meant something else."""
    error = explanation.error
    if not error.http_status or explanation.rule.startswith("status:"):
        return ""
    alone = type_of_status(error.http_status)
    return "" if alone is error.type else f"HTTP {error.http_status} alone would mean {alone.value}"


class _Page:
    """Lines of at most so many columns: titles, paragraphs, and labelled rows."""

    def __init__(self, columns: int, *, colours: bool) -> None:
        self._columns = columns
        self._colours = colours
        self._lines: list[str] = []

    def title(self, text: str) -> None:
        self._lines.append(self._paint("title", text))

    def text(self, text: str) -> None:
        self._lines += textwrap.wrap(text, self._columns)

    def gap(self) -> None:
        self._lines.append("")

    def row(self, label: str, text: str, style: str = "") -> None:
        if not text:
            return
        indent = " " * _LABEL_COLUMNS
        first, *more = textwrap.wrap(text, self._columns - _LABEL_COLUMNS)
        self._lines.append(f"{self._paint('label', label.ljust(_LABEL_COLUMNS))}{first}")
        if style:
            self._lines[-1] = (
                f"{self._paint('label', label.ljust(_LABEL_COLUMNS))}{self._paint(style, first)}"
            )
        self._lines += [indent + line for line in more]

    def quote(self, text: str) -> None:
        for line in text.splitlines()[:12]:
            plain = "".join(c if c.isprintable() else " " for c in line)
            self._lines += textwrap.wrap(
                plain, self._columns, initial_indent="  ", subsequent_indent="  "
            )

    def whole(self) -> str:
        return "\n".join(self._lines) + "\n"

    def _paint(self, style: str, text: str) -> str:
        return f"\033[{_COLOURS[style]}m{text}\033[0m" if self._colours else text
