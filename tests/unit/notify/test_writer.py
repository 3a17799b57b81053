"""Notifications of a run: which rows lead to one, what it says, and what it never says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.timeline.entry import Kind
from lastword.notify.notification import (
    NotificationAction,
    NotificationWriter,
    NotifiedEvent,
    Surroundings,
    Urgency,
    Withdrawal,
)
from tests.kit.recording import Book, a_run
from tests.kit.rows import every

if TYPE_CHECKING:
    from lastword.record.run import Row

WORDS = "rm -rf the secret project"


def made_of(
    rows: list[Row], *, content: bool = False, around: Surroundings | None = None
) -> list[Any]:
    writer = NotificationWriter(a_run(), content=content, surroundings=around)
    return [made for row in rows for made in writer.receive(row)]


def asked(book: Book, request_id: str = "7", *, session: str = "s", title: str = WORDS) -> None:
    book.note(Kind.ASKED, session, 1, what="permission")
    book.rows[-1] = msgspec.structs.replace(
        book.rows[-1], request_id=request_id, content={"title": title}
    )


@pytest.mark.parametrize("kind", [Kind.USER_ANSWERED, Kind.QUESTION_EXPIRED])
def test_a_question_is_notified_in_fixed_words_and_withdrawn_by_its_own_answer(kind: Kind) -> None:
    book = Book()
    book.note(Kind.AGENT_READY, name="An Agent")
    asked(book, "7")
    asked(book, "8")
    book.note(kind, "s", 1, outcome="allow_once")
    book.rows[-1] = msgspec.structs.replace(book.rows[-1], request_id="7")
    first, second, gone = made_of(book.rows)
    assert (first.event, first.title) == (NotifiedEvent.ASK, "An Agent needs an answer")
    assert first.sentence == "The agent asks for permission."
    assert first.urgency is Urgency.HIGH
    assert gone == Withdrawal(first.notification_id)
    assert second.notification_id != first.notification_id


def test_a_question_states_its_subject_only_where_content_is_sent() -> None:
    book = Book()
    asked(book, session="a\x1b[2J\r\n\u202eb\u2066c\x9b")
    (plain,) = made_of(book.rows)
    (full,) = made_of(book.rows, content=True)
    assert plain.session == "a   b c ", "nothing that a terminal obeys"
    assert made_of(book.rows) == [plain], "the same row is the same notification"
    assert WORDS not in msgspec.json.encode(plain).decode()
    assert full.sentence == f"The agent asks for permission. {WORDS}"


@pytest.mark.parametrize("end", [Kind.AGENT_EXITED, Kind.CLIENT_GONE, Kind.SHUTDOWN])
def test_the_end_of_a_turn_withdraws_its_sessions_questions_and_that_of_an_agent_all(
    end: Kind,
) -> None:
    book = Book()
    asked(book, "7")
    asked(book, "8", session="t")
    book.note(Kind.ANSWER, "s", 1, stop_reason="end_turn")
    book.note(end)
    first, second, gone, ended, last = made_of(book.rows)
    assert gone == Withdrawal(first.notification_id)
    assert last == Withdrawal(second.notification_id)
    assert (ended.event, ended.sentence) == (NotifiedEvent.ENDED, "The turn has ended.")


@every("type_", ErrorType)
def test_a_failure_is_notified_in_words_of_our_own(type_: ErrorType) -> None:
    book = Book()
    book.note(Kind.ERROR, "s", 1, type=type_.value, incident_id="01A-1", message=WORDS)
    row = msgspec.structs.replace(book.rows[0], content={"message": WORDS, "detail": "so it is"})
    (failed,) = made_of([row])
    assert (failed.event, failed.incident) == (NotifiedEvent.FAILED, "01A-1")
    assert failed.sentence
    assert WORDS not in msgspec.json.encode(failed).decode()
    (full,) = made_of([row], content=True)
    assert full.sentence == f"{WORDS} so it is"


def test_a_wait_for_a_limit_states_when_the_turn_continues() -> None:
    book = Book(began_ms=0)
    book.note(Kind.LIMIT_WAIT, "s", 1, type="budget", wait_seconds=7200.0)
    book.note(Kind.CONTINUED, "s", 1, what="new_prompt")
    limit, goes_on = made_of(book.rows)
    assert limit.event is NotifiedEvent.LIMIT
    assert limit.sentence.endswith("The turn continues in 2 hours.")
    assert goes_on.sentence == "The limit has ended, and the turn continues."
    clock = Surroundings(local_time=lambda: datetime(1970, 1, 1, tzinfo=UTC))
    (limit, _) = made_of(book.rows, around=clock)
    assert limit.sentence.endswith("The turn continues at 02:01.")


def test_a_limit_is_notified_once_for_each_wait_also_after_a_cancelled_one() -> None:
    book = Book()
    for turn, end in enumerate(("cancelled", "end_turn", "cancelled")):
        for _ in range(2):
            book.note(Kind.LIMIT_WAIT, "s", turn, type="budget", wait_seconds=60)
        book.note(Kind.ERROR, "s", type="unknown", method="session/set_mode")
        book.note(Kind.ANSWER, "s", turn, stop_reason=end)
    events = [made.event for made in made_of(book.rows)]
    limit = NotifiedEvent.LIMIT
    assert events == [limit, limit, NotifiedEvent.ENDED, limit]


def test_a_wait_that_is_over_after_a_restart_is_not_notified_again() -> None:
    book = Book()
    book.note(Kind.LIMIT_WAIT, "s", 1, type="budget", wait_seconds=0.0)
    book.note(Kind.CONTINUED, "s", 1, what="new_prompt")
    (made,) = made_of(book.rows)
    assert made.event is NotifiedEvent.CONTINUED


def test_a_request_that_fails_ends_no_question() -> None:
    book = Book()
    asked(book)
    book.note(Kind.ERROR, type="auth", method="session/new")
    book.note(Kind.ERROR, "s", type="unknown", method="session/set_mode")
    (question,) = made_of(book.rows)
    assert question.event is NotifiedEvent.ASK


def test_a_gateway_says_the_name_and_the_buttons() -> None:
    book = Book()
    asked(book)
    yes = NotificationAction("Yes", "https://gw.example/answer#code")
    around = Surroundings(
        name_of=lambda agents_id: f"{agents_id}-1",
        actions_of=lambda row: (yes,) * 9 if row.request_id == "7" else (),
    )
    (made,) = made_of(book.rows, around=around)
    assert made.session == "s-1"
    assert made.actions == (yes,) * 3


def test_a_failure_outside_of_a_turn_and_a_cancelled_turn_are_not_notified() -> None:
    book = Book()
    book.note(Kind.ERROR, type="auth", method="session/new")
    book.note(Kind.ANSWER, "s", 1, stop_reason="cancelled")
    book.note(Kind.ANSWER, "s", 2, stop_reason="end_turn", cancelled=True)
    # The user's own limit is notified, and blames no account.
    facts = {"reason": "spend_limit", "action": "fix_configuration"}
    book.note(Kind.ERROR, "s", 3, type="budget", **facts)
    (made,) = made_of(book.rows)
    words = "The spending limit that you set is reached. Raise --spend-limit to go on."
    assert made.sentence == words


def test_a_turn_that_continues_with_another_model_has_not_waited_for_a_limit() -> None:
    book = Book()
    book.note(Kind.CONTINUED, "s", 1, what="same_prompt")
    assert made_of(book.rows) == []
    book.note(Kind.LIMIT_WAIT, "s", 2, type="rate_limit", wait_seconds=60)
    book.note(Kind.ANSWER, "s", 2, stop_reason="cancelled")
    book.note(Kind.CONTINUED, "s", 3, what="same_prompt")
    (made,) = made_of(book.rows)
    assert made.event is NotifiedEvent.LIMIT
