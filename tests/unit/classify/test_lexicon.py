"""The words of a text as a whole: the last guess, and what it may and may not overrule."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify_text, gather, lexicon
from lastword.core.classify.evidence import Conclusion
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.growth import costs_its_length
from tests.kit.rows import every

TEXTS_OF_NO_FAILURE = (
    "The cat sat on the mat",
    "The build finished in 3 minutes",
    "I renamed the function and added two tests",
    "Here is the summary that you asked for",
    "The file was saved",
    "Nice weather for a walk in the park",
    "Chapter one tells of a fisherman and his boat",
    "lorem ipsum dolor sit amet consectetur",
    "Error",
    "it did not work { type: 'system', kind: 'system' }",
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no dispone de permisos suficientes para la acci\u00f3n solicitada", ErrorType.AUTH),
        ("flagged for a possible cybersecurity risk", ErrorType.CONTENT_FILTER),
        ("Traffic to upstream pods is shed because of load", ErrorType.PROVIDER_UNAVAILABLE),
        (
            "requests budget for tokens in the last minute was spent by concurrent callers",
            ErrorType.RATE_LIMIT,
        ),
    ],
)
def test_words_that_no_rule_knows_name_a_type_together(text: str, kind: ErrorType) -> None:
    verdict = classify_text(text)
    assert (verdict.type, verdict.rule.partition(":")[0]) == (kind, "guess")


@every("text", TEXTS_OF_NO_FAILURE)
def test_a_text_of_no_failure_stays_unknown(text: str) -> None:
    assert classify_text(text).type is ErrorType.UNKNOWN


def guessed(kind: ErrorType, share: float, other: ErrorType = ErrorType.INTERNAL) -> lexicon.Guess:
    return lexicon.Guess(kind, {kind: share, other: 1 - share}, ("word",))


def test_a_guess_asks_for_a_retry_only_where_it_is_nearly_sure() -> None:
    found = [lexicon.unaided(guessed(ErrorType.NETWORK, share)) for share in (0.59, 0.61, 0.86)]
    assert [each and each.retryable for each in found] == [None, False, None]
    assert found[0] is None


def test_no_guess_names_what_is_not_known_or_retries_a_crash() -> None:
    assert lexicon.unaided(guessed(ErrorType.UNKNOWN, 0.99)) is None
    crash = lexicon.unaided(guessed(ErrorType.AGENT_CRASH, 0.99))
    assert crash is not None
    assert crash.retryable is False


@pytest.mark.parametrize(
    ("told", "found", "wins"),
    [
        (guessed(ErrorType.AUTH, 0.99, ErrorType.NETWORK), ErrorType.NETWORK, True),
        (guessed(ErrorType.AUTH, 0.8, ErrorType.NETWORK), ErrorType.NETWORK, False),
        (guessed(ErrorType.AUTH, 0.55), ErrorType.NETWORK, False),
        (guessed(ErrorType.UNKNOWN, 0.99), ErrorType.NETWORK, False),
        (guessed(ErrorType.NETWORK, 0.99), ErrorType.AUTH, False),
        (guessed(ErrorType.NETWORK, 0.99), ErrorType.TIMEOUT, True),
    ],
)
def test_a_guess_goes_before_another_guess_that_it_makes_unlikely(
    told: lexicon.Guess, found: ErrorType, wins: bool
) -> None:
    assert lexicon.overrules(told, Conclusion(found, "concept:a + b"), 20) is wins


DENIED = "The key is not permitted: access to the resource is forbidden for this credential"


@pytest.mark.parametrize(
    ("finding", "rule"),
    [
        (Conclusion(ErrorType.PROVIDER_UNAVAILABLE, "status:500"), "guess"),
        (Conclusion(ErrorType.PROVIDER_UNAVAILABLE, "token:servererror"), "guess"),
        (Conclusion(ErrorType.PROVIDER_UNAVAILABLE, "token:overloaded"), "token"),
        (Conclusion(ErrorType.PROVIDER_UNAVAILABLE, "message:overloaded"), "message"),
        (Conclusion(ErrorType.CANCELLED, "text:turn aborted"), "text"),
    ],
)
def test_only_rules_that_guess_are_reconsidered(finding: Conclusion, rule: str) -> None:
    told = lexicon.reconsidered(finding, gather.from_text(DENIED))
    assert told is not None
    assert told.rule.partition(":")[0] == rule


def test_a_finding_without_a_text_stays() -> None:
    finding = Conclusion(ErrorType.TIMEOUT, "status:504")
    assert lexicon.reconsidered(finding, gather.from_record({"http_status": 504})) is finding


def test_fewer_words_than_three_say_nothing() -> None:
    assert lexicon.guess(gather.from_text("quota credits")) is None
    told = lexicon.guess(gather.from_text("quota credits billing"))
    assert told is not None
    assert told.type is ErrorType.BUDGET
    assert told.share == pytest.approx(1 - sum(told.shares.values()) + told.shares[told.type])


def test_the_weights_name_types_that_a_text_may_have() -> None:
    unsaid = {ErrorType.CANCELLED, ErrorType.AGENT_STALLED, ErrorType.STDERR_OVERFLOW}
    for stem, row in lexicon.weights().items():
        assert len(stem) <= lexicon.STEM_CHARS
        assert stem == stem.lower()
        assert not unsaid & set(row)
        assert all(row.values())


@every("unit", ["quota credit ", "https://", "a", "4", "\u9650", "401 "])
def test_weighing_a_megabyte_of_words_costs_its_length_and_not_its_square(unit: str) -> None:
    assert costs_its_length(classify_text, unit * (1_000_000 // len(unit)))
