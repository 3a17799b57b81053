"""Limits: a pace of so many at once and so many a second; slots that guests share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.gateway.front.tokens import Grant, Shares, Slot, Slots
from lastword.gateway.holder.effects import PER_HOUR, PresenceBounds
from lastword.gateway.viewing.access import MAX_KEYS, LastMinute, Rate, RateLimiter
from lastword.gateway.viewing.reader import Role

OWNER = Grant(Role.CONTROLLER)
SHARES = Shares(of_all=16, of_guests=8, of_address=6, of_token=3)


def guest(number: int) -> Grant:
    return Grant(Role.OBSERVER, "", number)


def test_a_burst_is_allowed_and_then_a_steady_rate() -> None:
    now = 100.0
    pace = RateLimiter(Rate(per_second=2, burst=3), lambda: now)
    assert [pace.wait_seconds("a") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert pace.wait_seconds("b") == 0
    now += 0.5
    assert [pace.wait_seconds("a") for _ in range(2)] == [0, 1]
    now += 60
    assert [pace.wait_seconds("a") for _ in range(4)] == [0, 0, 0, 1]
    slow = RateLimiter(Rate(per_second=0.1, burst=1), lambda: now)
    assert [slow.wait_seconds("a") for _ in range(2)] == [0, 10]
    for key in range(MAX_KEYS):  # those that are idle for long are forgotten
        slow.wait_seconds(key)
    assert slow.wait_seconds("a") == 0


def test_whoever_has_used_up_its_minute_waits_alone_until_the_first_is_past() -> None:
    now = 100.0
    pace = LastMinute(10, lambda: now)
    for _ in range(9):
        pace.note("a")
    assert pace.wait_seconds("a") == 0
    now = 130.0
    pace.note("a")
    assert (pace.wait_seconds("a"), pace.wait_seconds("b")) == (31, 0)
    now = 159.5
    assert pace.wait_seconds("a") == 1
    now = 160.0
    assert pace.wait_seconds("a") == 0
    for key in range(MAX_KEYS + 10):
        pace.note(key)
    assert len(pace._times) == MAX_KEYS


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(-5, 5)), max_size=60))
def test_any_schedule_stays_within_the_burst_and_the_rate(steps: list[tuple[str, float]]) -> None:
    now = 100.0
    pace = RateLimiter(Rate(per_second=1, burst=4), lambda: now)
    passed, forwards = {"a": 0, "b": 0}, 0.0
    for key, seconds in steps:
        now += seconds  # a clock may even go back
        forwards += max(seconds, 0)
        passed[key] += pace.wait_seconds(key) == 0
    assert all(count <= 4 + forwards for count in passed.values())


def test_each_guest_each_address_and_all_guests_have_a_share() -> None:
    slots = Slots(SHARES)
    assert [bool(slots.acquire(guest(1), "a")) for _ in range(4)] == [True] * 3 + [False]
    taken = [slots.acquire(guest(2), "a") for _ in range(3)]
    assert all(taken)
    assert slots.acquire(guest(3), "a") is None  # the address has its six
    assert [bool(slots.acquire(guest(4), f"b{n}")) for n in range(3)] == [True, True, False]
    assert slots.acquire(OWNER, "a")
    assert taken[0] is not None
    slots.release(taken[0])  # which frees one slot, however often it is said
    slots.release(taken[0])
    assert slots.acquire(guest(2), "a")
    assert slots.acquire(guest(2), "a") is None


def test_an_owner_gets_a_place_from_guests_first_and_then_from_the_token_with_the_most() -> None:
    slots, gone = Slots(SHARES), list[str]()

    def take(grant: Grant, name: str) -> Slot | None:
        return slots.acquire(grant, name, lambda: gone.append(name))

    take(guest(1), "guest 1")
    take(guest(2), "guest 2")
    other = Grant(Role.CONTROLLER, "", 900)
    for number in range(13):
        assert take(OWNER, f"owner {number}")
    assert take(other, "other 1")
    assert gone == []
    assert all(take(other, f"other {number}") for number in (2, 3, 4))
    assert gone == ["guest 1", "guest 2", "owner 0"]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=120))
def test_an_owner_always_gets_in_and_guests_stay_within_their_bounds(
    steps: list[tuple[int, bool]],
) -> None:
    slots = Slots(SHARES)
    taken: list[Slot] = []
    for number, leaves in steps:
        if leaves and taken:
            slots.release(taken.pop(0))
        elif (slot := slots.acquire(guest(number), str(number % 2), lambda: None)) is not None:
            taken.append(slot)
        assert len(taken) <= SHARES.of_guests
        for key in range(6):
            assert sum(slot.grant == guest(key) for slot in taken) <= SHARES.of_token
    for _ in range(2 * SHARES.of_all):
        assert slots.acquire(OWNER, "") is not None


def test_entries_about_viewers_are_bounded_by_role_and_those_left_out_are_counted() -> None:
    bounds = PresenceBounds()
    at = 1_000_000
    assert [bounds.allow("observer", at) for _ in range(PER_HOUR)] == [0] * PER_HOUR
    assert [bounds.allow("observer", at) for _ in range(7)] == [None] * 7
    assert bounds.allow("controller", at) == 0  # of whom an observer hides nothing
    assert bounds.allow("observer", at - 500_000) is None  # a clock that is set back
    assert bounds.allow("observer", at + 60_000) == 8
    assert bounds.allow("observer", at + 60_000) == 0
