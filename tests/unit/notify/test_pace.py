"""The pace of notifications, on a clock of the test's."""

from __future__ import annotations

import msgspec

from lastword.notify.notification import Notification, NotifiedEvent
from lastword.notify.notifier import (
    MAX_WAITING,
    SESSIONS_AT_ONCE,
    WITHIN_SECONDS,
    NotificationPace,
)


def a_notification(
    number: int, event: NotifiedEvent = NotifiedEvent.FAILED, session: str = "s"
) -> Notification:
    return Notification(
        notification_id=f"{session}{number}", at_epoch_ms=number, event=event, session=session
    )


def a_pace(
    *events: NotifiedEvent, question_seconds: float = 0.0, per_minute: int = 3
) -> NotificationPace:
    return NotificationPace(
        events or tuple(NotifiedEvent), question_seconds=question_seconds, per_minute=per_minute
    )


def test_a_session_sends_a_bounded_number_a_minute_and_counts_the_rest_in_the_next() -> None:
    pace = a_pace(NotifiedEvent.FAILED)
    sent = [each for number in range(5) for each in pace.add(a_notification(number), 10.0)]
    assert [each.at_epoch_ms for each in sent] == [0, 1, 2]
    assert pace.add(a_notification(9, NotifiedEvent.ENDED, "t"), 10.0) == [], "unsubscribed"
    assert pace.add(a_notification(9, session="t"), 10.0), "another session is not held up"
    assert pace.next_due(10.0) == 10.0 + WITHIN_SECONDS
    assert pace.due(10.0 + WITHIN_SECONDS - 1) == []
    (late,) = pace.due(10.0 + WITHIN_SECONDS)
    assert (late.at_epoch_ms, late.others) == (4, 1)
    assert pace.next_due(100.0) is None


def test_many_sessions_together_are_limited_too_and_the_others_are_counted_in_one() -> None:
    pace = a_pace()
    every = [a_notification(1, session=str(number)) for number in range(200)]
    sent = [each for one in every for each in pace.add(one, 10.0)]
    limit = 3 * SESSIONS_AT_ONCE
    assert sent == every[:limit]
    assert pace.due(10.0 + WITHIN_SECONDS - 1) == []
    (late,) = pace.due(10.0 + WITHIN_SECONDS)
    assert (late.session, late.others) == ("199", 200 - limit - 1)
    assert pace.next_due(100.0) is None


def test_what_was_left_out_is_sent_within_the_common_limit_or_at_the_end() -> None:
    pace = a_pace(per_minute=1, question_seconds=10.0)
    for number in range(SESSIONS_AT_ONCE):
        assert pace.add(a_notification(1, session=str(number)), 0.0)
        pace.add(a_notification(2, session=str(number)), 0.0)
    assert pace.add(a_notification(3, session="late"), 0.0) == []
    sent = [each for second in range(300) for each in pace.due(float(second))]
    assert sum(1 + each.others for each in sent) == SESSIONS_AT_ONCE + 1
    for number in (4, 5):
        pace.add(a_notification(number), 300.0)
    pace.add(a_notification(6, NotifiedEvent.ASK, "t"), 300.0)
    # A question is moot at the end.
    assert pace.rest() == [msgspec.structs.replace(a_notification(5), others=0)]
    assert pace.next_due(300.0) is None
    # Unless its session goes on.
    question = a_notification(7, NotifiedEvent.ASK, "t")
    pace.add(question, 300.0)
    assert pace.rest(goes_on=True) == [question]


def test_a_question_that_is_answered_within_its_moment_is_not_sent() -> None:
    pace = a_pace(question_seconds=10.0)
    first, second = a_notification(1, NotifiedEvent.ASK), a_notification(2, NotifiedEvent.ASK)
    assert pace.add(first, 0.0) == pace.add(second, 1.0) == []
    assert pace.withdraw(first.notification_id)
    assert pace.next_due(1.0) == 11.0
    assert pace.due(10.5) == []
    assert pace.due(11.0) == [second]
    assert not pace.withdraw(second.notification_id)
    # Nor is one that was too many.
    pace = a_pace(per_minute=1)
    pace.add(a_notification(1), 0.0)
    assert pace.add(second, 0.0) == []
    assert pace.withdraw(second.notification_id)
    assert pace.due(1000.0) == []


def test_failures_over_the_pace_are_sent_though_a_later_question_is_answered() -> None:
    pace = a_pace(per_minute=1)
    question = a_notification(4, NotifiedEvent.ASK)
    for each in (*map(a_notification, range(3)), question, a_notification(5, session="t")):
        pace.add(each, 0.0)
    assert pace.withdraw(question.notification_id)
    (late,) = pace.due(WITHIN_SECONDS)
    assert (late.at_epoch_ms, late.others) == (2, 1)
    pace = a_pace(per_minute=1)
    for number in range(2 * MAX_WAITING):
        pace.add(a_notification(number), 0.0)
    (late,) = pace.due(WITHIN_SECONDS)
    assert (late.at_epoch_ms, late.others) == (2 * MAX_WAITING - 1, 2 * MAX_WAITING - 2)


def test_the_number_of_waiting_questions_is_bounded() -> None:
    pace = a_pace(question_seconds=10.0)
    for number in range(MAX_WAITING):
        assert pace.add(a_notification(number, NotifiedEvent.ASK, f"s{number}"), 0.0) == []
    (oldest,) = pace.add(a_notification(0, NotifiedEvent.ASK, "one more"), 0.0)
    assert oldest.session == "s0"
