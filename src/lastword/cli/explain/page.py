"""The page of an explained error: in 80 columns, or as JSON. Everything is redacted."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli.explain.proof import Proof, basis_of, proofs_of
from lastword.cli.page import Page
from lastword.core.classify.tokens import type_of_status
from lastword.core.failure import wording
from lastword.core.failure.durations import plain_duration, plain_moment
from lastword.core.failure.exit_status import in_words
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, Origin, RetrySafety
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.redactor import Redactor

if TYPE_CHECKING:
    from lastword.cli.explain.case import Case

MAX_QUOTED_CHARS = 600
MAX_COLUMNS = 80
_LABEL_COLUMNS = 13
_QUOTED_LINES = 12

_WHOSE = {
    Origin.PROVIDER: "the model provider's, or the account's there",
    Origin.NETWORK: "the network's, between this machine and the provider",
    Origin.AGENT: "the agent's",
    Origin.PROCESS: "the agent's process",
    Origin.CLIENT: "this side's: the client or its user",
    Origin.LASTWORD: "lastword's own",
}
_OF_OTHERS = "another program's, where it stands on stderr or in a log"
_SAFE = {
    RetrySafety.AUTO: "yes: nothing can happen twice",
    RetrySafety.OFFER_CONTINUE: "not by itself: part of an answer came, so go on from there",
    RetrySafety.ASK: "ask first: tools may have run before it failed",
    RetrySafety.NEVER: "no: the same request fails again",
}


class Explanation(msgspec.Struct, frozen=True):
    """An error with its reasons, redacted."""

    error: AgentError
    form: str
    rule: str
    proofs: list[Proof]
    now: datetime
    of_others: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the error's fields and the evidence that decided."""
        evidence = [msgspec.to_builtins(proof) for proof in self.proofs]
        reasons = {"rule": self.rule, "read_as": self.form, "evidence": evidence}
        others = {"another_program": True} if self.of_others else {}
        return self.error.payload() | reasons | others


def explain(case: Case) -> Explanation:
    """Return everything that is shown of an error."""
    redact = Redactor(secrets_of(os.environ))
    now = datetime.now().astimezone()
    error = wording.compose_from_facts(case.verdict, case.facts, redact=redact, now=now)
    if case.retry_safety is not None:
        error = msgspec.structs.replace(error, retry_safety=case.retry_safety)
    proofs = [
        Proof(_line(proof.where, 100), _line(proof.text, 160), proof.means)
        for proof in proofs_of(case, redact)
    ]
    rule = _line(redact(case.verdict.rule), 200)
    return Explanation(error, case.form, rule, proofs, now, case.of_others)


def _line(text: str, limit: int) -> str:
    """Return one line, without anything that could move a terminal's cursor."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


def shown(explanation: Explanation, *, columns: int = MAX_COLUMNS, colours: bool = False) -> str:
    """Return the explanation as text."""
    error = explanation.error
    page = Page(columns, colours=colours, most=MAX_COLUMNS)
    page.line(error.type.value, "bold")
    page.line(error.message)
    page.line()
    _row(page, "retry", _retry(explanation), "green" if error.retryable else "red")
    _row(page, "safe", _safe(error))
    _row(page, "whose fault", _OF_OTHERS if explanation.of_others else _whose(error))
    _row(page, "what to do", _advice(error.action) if error.action else "")
    _row(page, "more exactly", (error.reason or "").replace("_", " "))
    _row(page, "source", _source_of(error))
    page.line()
    page.line("why", "bold")
    page.line(f"Read as {explanation.form}. {basis_of(explanation.rule)}.")
    _row(page, "rule", explanation.rule)
    for proof in explanation.proofs:
        quote = f': "{proof.text}"' if proof.text else ""
        _row(page, "evidence", f"{proof.where}{quote} = {proof.means}")
    _row(page, "overruled", _overruled(explanation))
    _quote(page, (error.detail or {}).get("text", ""))
    return page.drain()


def _row(page: Page, label: str, text: str, style: str = "") -> None:
    if text:
        page.row(label.ljust(_LABEL_COLUMNS), text, style)


def _quote(page: Page, quote: str) -> None:
    if not quote:
        return
    page.line()
    page.line("what it said", "bold")
    cut = quote[:MAX_QUOTED_CHARS] + (" ..." if len(quote) > MAX_QUOTED_CHARS else "")
    for line in filter(str.strip, cut.splitlines()[:_QUOTED_LINES]):
        page.line(line, indent=2, hang=0)


def _advice(action: Action) -> str:
    """Return the advice for a row: the sentence that ends a client's message."""
    sentence = wording.ADVICE[action].removesuffix(".")
    return sentence[0].lower() + sentence[1:]


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
    recognised = error.type is not ErrorType.UNKNOWN
    return (
        "no, it would not help"
        if recognised
        else "not by itself: whether it would help is not known"
    )


def _whose(error: AgentError) -> str:
    """Return whose fault it was. An error that was not recognised blames nobody."""
    if error.type is ErrorType.UNKNOWN:
        named = error.reason == "tool_server"
        return "a tool server's, not the model provider's" if named else "not known"
    return _WHOSE[error.origin] if error.origin else "not known"


def _safe(error: AgentError) -> str:
    if error.type is ErrorType.UNKNOWN:
        return "not known, so nothing is sent again by itself"
    waits = error.retry_after_seconds or error.reset_at_epoch_ms
    if waits and error.retry_safety is RetrySafety.NEVER:
        return "not by itself, and not before then"
    return _SAFE[error.retry_safety or RetrySafety.ASK]


def _source_of(error: AgentError) -> str:
    parts = [error.source or ""]
    if error.http_status:
        parts.append(f"HTTP {error.http_status}")
    if error.provider_code:
        parts.append(f"code {error.provider_code}")
    if error.exit_signal:
        parts.append(error.exit_signal)
    elif error.exit_code is not None:
        parts.append(in_words(error.exit_code))
    if error.request_id:
        parts.append(f"request {error.request_id}")
    return _line(", ".join(filter(None, parts)), 200)


def _overruled(explanation: Explanation) -> str:
    """Return the status, if it alone would have meant something else."""
    error = explanation.error
    if not error.http_status or explanation.rule.startswith("status:"):
        return ""
    alone = type_of_status(error.http_status)
    return "" if alone is error.type else f"HTTP {error.http_status} alone would mean {alone.value}"
