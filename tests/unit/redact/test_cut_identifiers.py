"""Codes and ids that are cut."""

from __future__ import annotations

from lastword.core.classify import Verdict
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.failure.wording import compose
from lastword.core.redact.redactor import Redactor


def test_a_secret_is_redacted_before_it_is_cut() -> None:
    secret = "correct horse battery staple " * 3
    verdict = Verdict(
        type=ErrorType.UNKNOWN, retryable=False, rule="", provider_code="x" * 100 + secret
    )
    error = compose(verdict, phase=None, retry_safety=None, redact=Redactor((secret,)))
    assert error.provider_code is not None
    assert "correct" not in error.provider_code
