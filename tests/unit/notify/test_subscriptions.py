"""The file of browsers' subscriptions: bounded, private, whole, and read by everybody alike."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import msgspec

from lastword.notify.web_push import (
    MAX_REMOVED,
    MAX_SUBSCRIPTIONS,
    PushSubscription,
    Subscriptions,
    id_of,
)

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1000.0


def made(
    number: int, *, session: str = "", expires: int = 0, by_guest: bool = False
) -> PushSubscription:
    endpoint = f"https://push.example/{number}"
    return PushSubscription(
        subscription_id=id_of(endpoint, session, by_guest=by_guest),
        endpoint=endpoint,
        p256dh="B",
        auth="a",
        session=session,
        expires=expires,
        by_guest=by_guest,
    )


def test_a_browser_has_one_subscription_for_each_session_until_it_is_removed(
    tmp_path: Path,
) -> None:
    kept = Subscriptions(str(tmp_path))
    for expires in (2001, 2002):
        kept.put(made(1, expires=expires), NOW)
        kept.put(made(1, session="s", expires=expires), NOW)
    found = Subscriptions(str(tmp_path)).all()
    assert [(each.session, each.expires) for each in found] == [("", 2002), ("s", 2002)]
    assert [each.covers("t", NOW) for each in found] == [True, False]
    assert [each.covers("s", 2002) for each in found] == [False, False], "they have ended"
    assert os.stat(tmp_path / "push.json").st_mode & 0o777 == 0o600
    kept.remove(found[0].subscription_id)
    kept.remove("unknown")
    assert kept.all() == found[1:]


def test_expired_subscriptions_are_dropped_at_the_next_one_and_the_oldest_displaced(
    tmp_path: Path,
) -> None:
    kept = Subscriptions(str(tmp_path))
    kept.put(made(0, expires=1001), NOW)
    for number in range(1, MAX_SUBSCRIPTIONS + 2):
        kept.put(made(number), NOW + 1)
    assert kept.all() == [made(number) for number in range(2, MAX_SUBSCRIPTIONS + 2)]


def test_subscriptions_to_one_session_do_not_displace_those_to_all(tmp_path: Path) -> None:
    kept = Subscriptions(str(tmp_path))
    kept.put(made(0), NOW)
    for number in range(1, 2 * MAX_SUBSCRIPTIONS):
        kept.put(made(number, session="s"), NOW)
    assert kept.all()[0] == made(0)
    assert len(kept.all()) == MAX_SUBSCRIPTIONS


def test_a_guest_displaces_first_its_own_then_the_oldest_guests_subscription(
    tmp_path: Path,
) -> None:
    kept = Subscriptions(str(tmp_path))
    owners = [made(number, session="s") for number in range(MAX_SUBSCRIPTIONS)]
    others = made(100, session="s", expires=3000, by_guest=True)
    for each in [*owners, others]:
        kept.put(each, NOW)
    for number in range(3 * MAX_SUBSCRIPTIONS):  # among them, the owner's endpoints
        kept.put(made(number, session="s", expires=4000, by_guest=True), NOW)
    assert kept.all()[: len(owners) + 1] == [*owners, others]
    kept.put(made(101, session="t", by_guest=True), NOW)
    assert others not in kept.all()
    assert len(kept.all()) == 2 * MAX_SUBSCRIPTIONS


def test_the_largest_possible_file_of_subscriptions_is_read_again(tmp_path: Path) -> None:
    kept = Subscriptions(str(tmp_path))
    for number in range(2 * MAX_SUBSCRIPTIONS):
        each = made(number, session='"' * 1024, by_guest=number % 2 > 0)
        kept.put(msgspec.structs.replace(each, endpoint='"' * 2048, origin="o" * 1000), NOW)
    removed = [PushSubscription.removed(f"{number:016x}") for number in range(MAX_REMOVED)]
    (tmp_path / "push.json").write_bytes(msgspec.json.encode([*kept.all(), *removed]))
    assert len(kept.all()) == 2 * MAX_SUBSCRIPTIONS + MAX_REMOVED
    # There is no room for more removed ones.
    last = PushSubscription.removed("f" * 16)
    kept.put(last, NOW)
    assert kept.all()[2 * MAX_SUBSCRIPTIONS :] == [*removed[1:], last]


def test_a_damaged_file_is_treated_as_empty_and_rewritten(tmp_path: Path) -> None:
    kept = Subscriptions(str(tmp_path))
    (tmp_path / "push.json").write_text('[{"endpoint": 1}]')
    assert kept.all() == []
    kept.put(made(1), NOW)
    assert kept.all() == [made(1)]


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=Subscriptions(str(tmp_path)).put, args=(made(number), NOW))
        for number in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(Subscriptions(str(tmp_path)).all(), key=lambda each: each.endpoint)
    assert found == sorted(map(made, range(12)), key=lambda each: each.endpoint)


def test_an_older_state_of_a_subscription_changes_nothing_and_a_removed_one_stays_removed(
    tmp_path: Path,
) -> None:
    def at(changed: int) -> PushSubscription:
        return msgspec.structs.replace(made(1), changed_epoch_ms=changed)

    def removed(changed: int) -> PushSubscription:
        name = made(1).subscription_id
        return msgspec.structs.replace(PushSubscription.removed(name), changed_epoch_ms=changed)

    kept = Subscriptions(str(tmp_path))
    for each in (at(1), removed(2), at(1), at(0)):
        kept.put(each, NOW)
    kept.remove(made(1).subscription_id)
    for other in range(2, 2 * MAX_SUBSCRIPTIONS):  # a removed one displaces none of these
        kept.put(made(other), NOW)
        kept.put(at(1), NOW)
    active = [each for each in kept.all() if each.covers("s", NOW)]
    assert len(active) == MAX_SUBSCRIPTIONS
    assert made(1).subscription_id not in {each.subscription_id for each in active}
    kept.put(at(3), NOW)
    kept.put(removed(2), NOW)
    assert kept.all()[-1] == at(3)


def test_the_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    key = Subscriptions(str(tmp_path)).public_key()
    assert Subscriptions(str(tmp_path)).public_key() == key
    assert len(key) == 87
    assert os.stat(tmp_path / "push.key").st_mode & 0o777 == 0o600
