"""`lastword.Retry` as a policy, and what an author gets for using it wrongly."""

from __future__ import annotations

import contextlib
import inspect
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import lastword
from lastword import ErrorType, Retry
from lastword.core.classify import Verdict
from lastword.core.link.facts import Facts
from lastword.errors import MisuseError
from lastword.inprocess import waits
from lastword.inprocess.retry import attempts, requested_wait_seconds, tries_of
from lastword.inprocess.streams import watch
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def verdict(asked: int | None = None) -> Verdict:
    return Verdict(
        type=ErrorType.RATE_LIMIT, rule="test", retryable=True, retry_after_seconds=asked
    )


@every(
    ("name", "value"),
    [
        *(("attempts", value) for value in (0, 1.5, "3")),
        *((f"{which}_seconds", -0.1) for which in ("first_wait", "budget")),
        *(("until_reset_seconds", value) for value in (math.nan, "1", None)),
        *(("max_wait_seconds", value) for value in (math.inf, 300.1)),
    ],
)
def test_a_limit_that_is_no_number_of_its_kind_is_refused(name: str, value: Any) -> None:
    kind = "whole number from 1" if name == "attempts" else "number of seconds from 0"
    with pytest.raises(MisuseError, match=f"^{name} is a {kind}.* not {value!r}"):
        Retry(**{name: value})


def test_a_budget_has_no_bound_and_a_wait_ends_at_300_seconds() -> None:
    assert Retry(budget_seconds=math.inf, until_reset_seconds=1e9).budget_seconds == math.inf
    assert Retry(first_wait_seconds=300, max_wait_seconds=300).max_wait_seconds == 300


@pytest.mark.parametrize(
    ("reset_after", "asked"), [(7200, 7200), (20, 20), (-5, None), (None, None)]
)
def test_the_moment_at_which_a_limit_ends_is_a_servers_wait(
    reset_after: int | None, asked: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "lastword.inprocess.retry.time", SimpleNamespace(time=lambda: 1_790_000_000.0)
    )
    reset = None if reset_after is None else (1_790_000_000 + reset_after) * 1000
    limited = msgspec.structs.replace(verdict(), reset_at_epoch_ms=reset)
    assert requested_wait_seconds(limited) == asked
    assert requested_wait_seconds(msgspec.structs.replace(limited, retry_after_seconds=9)) == 9
    assert asked is None or Retry().wait_seconds(limited, 1) >= asked


def test_a_wait_is_a_random_part_of_the_policys_within_the_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lastword.inprocess.retry.random", SimpleNamespace(random=lambda: 0.5))
    retry = Retry(first_wait_seconds=8, max_wait_seconds=20)
    assert [retry.wait_seconds(verdict(), failures) for failures in (1, 2, 3)] == [4, 8, 10]
    assert [retry.wait_seconds(verdict(asked), 1) for asked in (9, 30)] == [9.5, 30]


@pytest.mark.parametrize(
    ("note", "retry", "permitted"),
    [
        (None, Retry(), True),
        ("output", Retry(), False),
        ("output", Retry(after_output=True), True),
        ("safe", Retry(), False),
        ("unsafe", Retry(), False),
        ("unsafe", Retry(after_output=True), False),
        ("unsafe", Retry(after_tools=True), True),
        ("mcp/message", Retry(), False),
        ("mcp/message", Retry(after_output=True), False),
        ("_vendor/wrote", Retry(after_tools=True), True),
        ("fs/read_text_file", Retry(), True),
    ],
)
def test_retrying_a_call_depends_on_what_happened_in_it(
    note: str | None, retry: Retry, permitted: bool
) -> None:
    facts = Facts()
    if note == "output":
        facts.note_output()
    elif note is not None and "/" in note:
        facts.note_message(note)
    elif note is not None:
        facts.note_tool(safe=note == "safe")
    assert retry.permits(facts) is permitted


class AttemptedError(Exception):
    """One with what its package tells of its tries."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class NoRequestError(Exception):
    """As httpx has it: what was never given is no `None`."""

    @property
    def request(self) -> Any:
        raise RuntimeError("The .request property has not been set.")


class Message:
    def __init__(self, count: object) -> None:
        self.headers = {"x-stainless-retry-count": count}


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (ValueError(), 1),
        (NoRequestError(), 1),
        (AttemptedError(request=Message("2")), 3),
        (AttemptedError(request=Message("0")), 1),
        (AttemptedError(request=Message("many")), 1),
        (AttemptedError(response=AttemptedError(request=Message(1))), 2),
        (AttemptedError(last_attempt=AttemptedError(attempt_number=4)), 4),
        (AttemptedError(request=AttemptedError(headers=["a"])), 1),
        (ExceptionGroup("", [ValueError(), AttemptedError(request=Message("2"))]), 3),
    ],
)
def test_a_packages_own_tries_are_read_and_never_raise(error: Exception, tries: int) -> None:
    outer = ValueError()
    outer.__cause__ = error
    assert (tries_of(error), tries_of(outer)) == (tries, tries)


AT_ONCE = Retry(attempts=3, first_wait_seconds=0)


class LimitedError(Exception):
    """A refusal of a provider's, with when its limit ends."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Rate limited: try again in {seconds:g}s")


async def waited(limits: list[float], **bounds: Any) -> tuple[float, int]:
    """Return how long a call waited that fails of these limits, and how often it was made."""
    left = iter(limits)
    calls = 0

    @lastword.retry(**bounds)
    async def answer() -> None:
        nonlocal calls
        calls += 1
        if seconds := next(left, 0):
            raise LimitedError(seconds)

    with waits.skipped() as passed:
        await answer()
    return passed.seconds, calls


@pytest.mark.anyio
async def test_a_limit_with_a_known_end_is_waited_for_repeatedly() -> None:
    seconds, calls = await waited([7200, 3600], until_reset_seconds=21_600, budget_seconds=1)
    assert calls == 3
    assert round(seconds) == 10_800


@pytest.mark.anyio
@pytest.mark.parametrize(
    "bounds",
    [{}, {"until_reset_seconds": 7000}, {"until_reset_seconds": 10_000}],
    ids=["not asked for", "too long", "too long in all"],
)
async def test_a_limit_beyond_the_time_allowed_or_without_a_known_end_fails_the_call(
    bounds: dict[str, Any],
) -> None:
    with pytest.raises(LimitedError):
        await waited([7200, 3600], **bounds)

    @lastword.retry(attempts=1, **bounds)
    async def answer() -> None:
        raise RuntimeError("429: Too Many Requests")

    with pytest.raises(RuntimeError), waits.skipped() as passed:
        await answer()
    assert passed.seconds == 0


@pytest.mark.anyio
async def test_a_wait_for_a_limit_ends_by_the_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        day.append(day[-1] + 5000)  # the computer slept

    day = [1_000_000.0]
    monkeypatch.setattr(waits.time, "time", lambda: day[-1])
    monkeypatch.setattr(waits.anyio, "sleep", sleep)
    await waits.sleep_by_day(7200)
    assert slept == [waits.LOOK_SECONDS] * 2


@pytest.mark.anyio
async def test_all_calls_of_a_process_share_its_retries() -> None:
    begun: list[int] = []

    @lastword.retry(attempts=40, first_wait_seconds=0, budget_seconds=math.inf)
    async def answer(*, well: bool = False) -> None:
        begun.append(1)
        if not well:
            raise LimitedError(1)

    with waits.skipped():
        for _ in range(3):
            with pytest.raises(LimitedError):
                await answer()
        assert len(begun) == 3 + 100
        await answer(well=True)
        begun.clear()
        with pytest.raises(LimitedError):
            await answer()
        assert len(begun) == 2


@pytest.mark.anyio
async def test_a_function_is_retried_outside_of_a_turn() -> None:
    begun: list[int] = []

    @lastword.retry(AT_ONCE)
    async def answer(number: int, *, more: int) -> int:
        """What it is."""
        begun.append(number)
        if len(begun) < 3:
            raise ConnectionResetError
        return number + more

    assert await answer(1, more=2) == 3
    assert begun == [1, 1, 1]
    assert (answer.__name__, answer.__doc__) == ("answer", "What it is.")


@pytest.mark.anyio
async def test_the_decorator_accepts_the_limits_by_name_and_raises_the_last_failure() -> None:
    raised: list[Exception] = []

    @lastword.retry(attempts=3, first_wait_seconds=0)
    async def answer() -> None:
        raised.append(ConnectionResetError(str(len(raised))))
        raise raised[-1]

    with pytest.raises(ConnectionResetError) as caught:
        await answer()
    assert caught.value is raised[2]
    assert len(raised) == 3


def test_a_decorator_that_is_used_wrongly_says_how() -> None:
    def plain() -> None: ...

    with pytest.raises(ValueError, match="attempts is a whole number from 1 up"):
        lastword.retry(attempts=0)
    with pytest.raises(TypeError, match="tries"):
        lastword.retry(tries=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not both"):
        lastword.retry(Retry(), attempts=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"plain is not asynchronous: .* takes `async def`"):
        lastword.retry(plain)
    with pytest.raises(TypeError, match="is not asynchronous"):
        lastword.retry(Retry())(plain)


@pytest.mark.anyio
async def test_a_failure_that_no_retry_helps_is_raised_at_once() -> None:
    begun: list[int] = []

    @lastword.retry
    async def answer() -> None:
        begun.append(1)
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await answer()
    assert begun == [1]


@pytest.mark.anyio
@pytest.mark.parametrize("items", [[], ["one"], ["one", "two"]])
async def test_a_generator_is_retried_until_its_first_item(items: list[str]) -> None:
    begun: list[int] = []

    @lastword.retry(AT_ONCE)
    async def answer(*, cut: bool) -> AsyncIterator[str]:
        begun.append(1)
        if len(begun) < 3:
            raise ConnectionResetError
        for item in items:
            yield item
        if cut and items:
            raise ConnectionResetError

    assert [item async for item in answer(cut=False)] == items
    assert len(begun) == 3
    got: list[str] = []
    with contextlib.suppress(ConnectionResetError):
        got += [item async for item in answer(cut=True)]
        assert items == []
    assert len(begun) == 4


@pytest.mark.anyio
async def test_a_forgotten_with_raises_instead_of_looping_forever() -> None:
    loop = attempts(Retry(), None)
    assert (await anext(loop)).number == 1
    with pytest.raises(RuntimeError, match="Put the model call into `with attempt:`"):
        await anext(loop)


async def tried(given: Any) -> None:
    """Give every attempt the same."""
    async for attempt in attempts(AT_ONCE, None):
        with attempt:
            if inspect.iscoroutine(given):
                await given
            else:
                async for _ in watch(given, on_item=lambda: None):
                    pass


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["a generator", "an asynchronous generator", "a coroutine"])
async def test_a_call_whose_input_an_earlier_attempt_used_up_raises_that_failure(kind: str) -> None:
    made: list[int] = []

    async def call() -> None:
        made.append(1)
        raise ConnectionResetError

    async def texts() -> Any:
        await call()
        yield "never"

    def lines() -> Any:
        made.append(1)
        raise ConnectionResetError
        yield "never"

    given = {"a generator": lines, "an asynchronous generator": texts}.get(kind, call)()
    with pytest.raises(ConnectionResetError):
        await tried(given)
    assert made == [1]


@pytest.mark.anyio
async def test_a_generator_that_ended_before_the_first_attempt_is_refused() -> None:
    spent = (number for number in ())
    assert list(spent) == []
    with pytest.raises(MisuseError, match="make the model call"):
        await tried(spent)
