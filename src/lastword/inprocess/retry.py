"""Retries of a model call: only if one would help, only if it can do no harm, and not forever.

Owns the loop of attempts, built on tenacity, and its limits. `core.failure.retry_policy` decides
whether there is another attempt and after what wait, `core.link.limits` how long a limit lasts,
`core.classify` what a failure is, and `inprocess.request` has what happened before it. All loops of
a process share one bucket of retries.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import random
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import (
    TYPE_CHECKING,
    Any,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

import msgspec
from tenacity import AsyncRetrying, AttemptManager, RetryCallState, retry_if_exception

from lastword.core.failure import retry_policy
from lastword.core.failure.retry_policy import FailedAttempt
from lastword.core.failure.taxonomy import MAX_AUTO_WAIT_SECONDS, RetrySafety
from lastword.core.link import late
from lastword.core.link.agent_side import Note
from lastword.core.link.evidence import Retrying
from lastword.core.link.facts import Facts
from lastword.errors import MisuseError, TurnFailedError
from lastword.inprocess import settings, waits
from lastword.inprocess.exceptions import causes, tried_before, verdict_of
from lastword.inprocess.request import CURRENT, CallAttempt
from lastword.inprocess.streams import SpentStreamError
from lastword.platform.identity import local_time

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from types import TracebackType

    from lastword.core.classify import Verdict
    from lastword.inprocess.request import Request

Params = ParamSpec("Params")
Result = TypeVar("Result")

MAX_WAIT_SECONDS = float(MAX_AUTO_WAIT_SECONDS)
"""Nobody waits longer than this in front of an editor; a longer wait is reported instead."""


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how long a model call is tried.

    ```python
    async for attempt in turn.attempts(lastword.Retry(attempts=3, max_wait_seconds=30)):
        with attempt:
            answer = await model(...)
    ```

    Attributes:
        attempts: The maximum number of requests, including the first and the retries of the
            provider's own package: OpenAI's and Anthropic's packages retry twice. No attempt begins
            that could exceed it, judging by earlier ones. Give such a package `max_retries=0`:
            nobody sees its own waits, and Anthropic's last as long as the server asks. 6 by
            default.
        budget_seconds: The time for all attempts, from the start of the first: no wait begins that
            would end later. 600 by default.
        max_wait_seconds: The longest single wait; if the server asks for more, there is no retry.
            At most 300, the default.
        first_wait_seconds: The wait after the first failure if the server gave none. It doubles
            after each further failure, and the actual wait is a random part of it.
            1 by default.
        until_reset_seconds: The longest total wait for limits to reset, such as a plan's five-hour
            window, if the limits above allow no retry. Only a reset that the server names is waited
            for, and up to a minute longer. These waits do not count towards `attempts` or
            `budget_seconds`. 0, the default, disables them.
        after_output: Try again even after the call has shown something. What it showed stays.
        after_tools: Try again even after a tool was started within the call, or something else
            was sent that is not known to be harmless.
    """

    attempts: int = 6
    budget_seconds: float = 600.0
    max_wait_seconds: float = MAX_WAIT_SECONDS
    first_wait_seconds: float = 1.0
    until_reset_seconds: float = 0.0
    after_output: bool = False
    after_tools: bool = False

    def __post_init__(self) -> None:
        """Raise MisuseError, a ValueError, for a value outside its bounds."""
        if not isinstance(self.attempts, int) or self.attempts < 1:
            raise MisuseError(f"attempts is a whole number from 1 up, not {self.attempts!r}")
        for name, most in (
            ("budget_seconds", math.inf),
            ("max_wait_seconds", MAX_WAIT_SECONDS),
            ("first_wait_seconds", MAX_WAIT_SECONDS),
            ("until_reset_seconds", math.inf),
        ):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= most:
                to = "up" if most == math.inf else f"to {most:g}"
                raise MisuseError(f"{name} is a number of seconds from 0 {to}, not {value!r}")

    def permits(self, facts: Facts) -> bool:
        """Return whether a call in which this has happened may be sent again."""
        if facts.tool_ran or facts.begun:
            return self.after_tools
        return self.after_output or facts.retry_safety(retryable=True) is RetrySafety.AUTO

    def wait_seconds(self, verdict: Verdict, failures: int) -> float:
        """Return the wait after this many failures, including the first."""
        limits, roll = self.limits, random.random()  # noqa: S311
        return retry_policy.wait_seconds(
            requested_wait_seconds(verdict), failures, limits, roll=roll
        )

    @property
    def limits(self) -> retry_policy.RetryBounds:
        """The limits, as the policy takes them."""
        return retry_policy.RetryBounds(
            tries=self.attempts,
            max_wait_seconds=self.max_wait_seconds,
            first_wait_seconds=self.first_wait_seconds,
        )


def requested_wait_seconds(verdict: Verdict) -> float | None:
    """Return the wait that the server requested in seconds, as a duration or as a reset's time."""
    return retry_policy.requested_wait_seconds(retry_policy.failed_of(verdict), time.time())


class Attempt:
    """One attempt of a model call, entered by `with attempt:` around the call."""

    __slots__ = ("_loop", "_manager", "_noted", "entered", "number")

    def __init__(self, loop: _Loop, manager: AttemptManager) -> None:
        self._loop = loop
        self._manager = manager
        self._noted = CallAttempt(loop.request)
        self.entered: bool = False
        self.number: int = manager.retry_state.attempt_number
        """1 for the first."""

    def __enter__(self) -> Self:
        self.entered = True
        self._noted.enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self._noted.leave()
        if error is not None and (earlier := self._loop.failure_before(error)) is not None:
            return self._manager.__exit__(type(earlier), earlier, earlier.__traceback__)
        if error is not None:
            self._loop.failed(error, self._noted.facts)
            if not isinstance(error, Exception):
                return None  # a cancellation, or the process's end, passes at once
        if error is None:
            waits.retry_bucket().succeed()
        # tenacity keeps the exception, and raises it if no attempt follows.
        return self._manager.__exit__(kind, error, traceback)


class _Loop:
    """The attempts of one model call."""

    def __init__(self, retry: Retry, request: Request | None) -> None:
        self.request = request
        self._retry = retry
        self._tried: list[FailedAttempt] = []
        self._remembered: tuple[FailedAttempt, ...] = ()
        self._failure: BaseException | None = None
        self._facts = Facts()
        self._ends_at = waits.current_time() + retry.budget_seconds
        self._wait_seconds: float | None = None
        """How long to wait before the next attempt; `None` if there is none."""
        self._for_reset = False
        """Whether the next attempt waits for a limit to reset."""
        self._waited_for: list[float] = []
        """The seconds of earlier waits for a reset."""

    def failure_before(self, error: BaseException) -> BaseException | None:
        """Return the failure of the attempt before, if this one made no request of its own."""
        if self._failure is None:
            return None
        is_awaited = isinstance(error, RuntimeError) and str(error) == _AWAITED_BEFORE
        if not is_awaited and not isinstance(error, SpentStreamError):
            return None
        settings.reused(error)
        self._wait_seconds = None  # another attempt would make none either
        return self._failure

    def failed(self, error: BaseException, facts: Facts) -> None:
        """Receive an attempt's failure, and decide on the wait before the next."""
        self._facts, self._failure = facts, error
        within = tried_before(self.request, error) if self.request is not None else ()
        if within and within is not self._remembered:
            self._tried += within  # a loop within this one made, and reported, these
        else:
            self._tried.append(FailedAttempt(verdict_of(error), tries_of(error)))
        failed, epoch_seconds = retry_policy.failed_of(self._tried[-1].verdict), time.time()
        requested = retry_policy.requested_wait_seconds(failed, epoch_seconds)
        roll = waits.roll(requested=requested is not None)
        self._wait_seconds = wait = retry_policy.next_wait(
            failed,
            [tried.tries for tried in self._tried],
            self._retry.limits,
            epoch_seconds=epoch_seconds,
            roll=roll,
        )
        fits = wait is not None and waits.current_time() + wait <= self._ends_at
        self._for_reset = not fits and self._retry.until_reset_seconds > 0
        if not fits:
            self._wait_seconds = None
        if self._for_reset:
            self._wait_seconds = late.limits.reset_wait_seconds(
                failed,
                left_seconds=self._retry.until_reset_seconds - sum(self._waited_for),
                waits=len(self._waited_for),
                epoch_seconds=epoch_seconds,
                roll=roll,
            )
        if self.request is not None:
            self._remembered = tuple(self._tried)
            self.request.remember(error, self._remembered)

    def worth_another(self, error: BaseException) -> bool:
        """Return whether another attempt would help, do no harm, and stay within bounds."""
        if isinstance(error, TurnFailedError):
            return False
        if self.request is not None and (self.request.cancel_requested or self.request.over):
            return False
        if self._wait_seconds is None or not self._retry.permits(self._facts):
            return False
        return waits.retry_bucket().spend(self._tried[-1].verdict.type)

    def wait(self, _: RetryCallState) -> float:
        return self._wait_seconds or 0.0

    def report(self, _: RetryCallState) -> None:
        """Report a wait to the record, and to the client if it can show one."""
        wait = self._wait_seconds or 0.0
        self._tried[-1] = msgspec.structs.replace(self._tried[-1], wait_seconds=wait)
        sentence = None
        if self._for_reset:
            self._waited_for.append(wait)
            self._ends_at += wait
            sentence = late.limits.sentence_of_wait(wait, local_time())
        if self.request is not None:
            word = Retrying(
                verdict=self._tried[-1].verdict,
                attempt=sum(tried.tries for tried in self._tried) + 1,
                max_attempts=None if self._waited_for else self._retry.attempts,
                wait_seconds=wait,
                sentence=sentence,
            )
            self.request.link.say(self.request, word)

    async def sleep(self, seconds: float) -> None:
        """Wait; the user's cancel ends the wait at once."""
        sleep = waits.sleep_by_day if self._for_reset else waits.sleep
        with contextlib.nullcontext() if self.request is None else self.request.wait():
            await sleep(seconds)
        if self._for_reset and self.request is not None:
            self.request.link.say(self.request, Note.LIMIT_ENDED)


class _Attempts(AsyncIterator[Attempt]):
    """The attempts of one model call.

    Not a generator: a `return` inside the loop would leave one open, and trio warns about that.
    """

    def __init__(self, retry: Retry, request: Request | None) -> None:
        self._retry = retry
        self._request = request
        self._loop: _Loop | None = None
        self._retrying: AsyncRetrying | None = None
        self._last: Attempt | None = None

    async def __anext__(self) -> Attempt:
        if self._last is not None and not self._last.entered:
            raise RuntimeError("Put the model call into `with attempt:`, so that it can be retried")
        if self._loop is None or self._retrying is None:
            self._loop = loop = _Loop(self._retry, self._request)
            self._retrying = aiter(
                AsyncRetrying(
                    sleep=loop.sleep,
                    wait=loop.wait,
                    retry=retry_if_exception(loop.worth_another),
                    before_sleep=loop.report,
                    reraise=True,
                )
            )
        self._last = Attempt(self._loop, await anext(self._retrying))
        return self._last


def attempts(retry: Retry, request: Request | None) -> AsyncIterator[Attempt]:
    """Return the attempts of one model call, for authors to enter; see `CurrentTurn.attempts`."""
    # A task that outlives the request in which it was started must not depend on that request.
    return _Attempts(retry, None if request is None or request.left_behind else request)


_AWAITED_BEFORE = "cannot reuse already awaited coroutine"


def tries_of(error: BaseException) -> int:
    """Return how many requests one exception is the result of: providers' packages also retry.

    The packages of OpenAI and Anthropic number their requests in a header; tenacity, which Google's
    and LangChain's use, numbers its attempts.
    """
    for cause in causes(error):
        try:
            request = getattr(cause, "request", None)
            if request is None:
                request = getattr(getattr(cause, "response", None), "request", None)
            headers = getattr(request, "headers", None)
            count = headers.get("x-stainless-retry-count") if headers is not None else None
            if count is None:
                count = getattr(getattr(cause, "last_attempt", None), "attempt_number", 1) - 1
            retries = int(count)
        except BaseException:  # noqa: BLE001, S112 - foreign: httpx raises if there was no request
            continue
        if retries > 0:
            return retries + 1
    return 1


Async = TypeVar("Async", bound="Callable[..., Awaitable[Any] | AsyncIterator[Any]]")
"""An `async def` function, or an asynchronous generator, which a decorator returns as it is."""


class RetryLimits(TypedDict, total=False):
    """The limits of `Retry`, by name."""

    attempts: int
    budget_seconds: float
    max_wait_seconds: float
    first_wait_seconds: float
    until_reset_seconds: float
    after_output: bool
    after_tools: bool


@overload
def retry(function: Async, /) -> Async: ...


@overload
def retry(limits: Retry, /) -> Callable[[Async], Async]: ...


@overload
def retry(**limits: Unpack[RetryLimits]) -> Callable[[Async], Async]: ...


def retry(what: Any = None, /, **limits: Unpack[RetryLimits]) -> Any:
    """Retry an asynchronous model call as `CurrentTurn.attempts` does, within a turn or without.

    ```python
    @lastword.retry
    async def ask(prompt): ...


    @lastword.retry(attempts=3)
    async def ask(prompt): ...
    ```

    The call is tried again if that can help (after a limit, an overload, a lost connection; never
    after a wrong key), if nothing has been shown and no tool was started since it began, and within
    the limits. All calls of a process share one limit: 100 retries without a success in between.
    Between attempts it waits as long as the server asked, or else a random part of 1, 2, 4 …
    seconds; each wait is reported to the client, and the user's cancel ends it. The last failure is
    raised unchanged. An asynchronous generator is tried again as long as it has yielded nothing.

    Args:
        what: The function, or a `Retry`.
        limits: The limits of a `Retry`, by name, such as `attempts=3`.

    Returns:
        The function with the same signature or, given a `Retry` or limits, the decorator.

    Raises:
        TypeError: The function is not asynchronous, or there is no such limit.
        MisuseError: A limit is outside its bounds.
    """
    if limits:
        if what is not None:
            raise TypeError("retry takes a Retry, or its limits by name, not both")
        what = Retry(**limits)
    if what is None or isinstance(what, Retry):
        return functools.partial(_decorated, what or Retry())
    return _decorated(Retry(), what)


def _decorated(retry: Retry, function: Any) -> Any:
    if inspect.isasyncgenfunction(function):
        return _retried_generator(retry, function)
    if not inspect.iscoroutinefunction(function):
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name} is not asynchronous: retry takes `async def` functions")
    return _retried_function(retry, function)


def _retried_function(
    retry: Retry, function: Callable[Params, Awaitable[Result]]
) -> Callable[Params, Awaitable[Result]]:
    @functools.wraps(function)
    async def tried(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        async for attempt in attempts(retry, CURRENT.get()):
            with attempt:
                return await function(*args, **kwargs)
        raise AssertionError("the last attempt raises")  # pragma: no cover

    return tried


def _retried_generator(
    retry: Retry, function: Callable[Params, AsyncGenerator[Result, None]]
) -> Callable[Params, AsyncIterator[Result]]:
    async def begin(
        *args: Params.args, **kwargs: Params.kwargs
    ) -> tuple[AsyncGenerator[Result, None], list[Result]]:
        items = function(*args, **kwargs)
        async for item in items:
            return items, [item]
        return items, []

    begun = _retried_function(retry, begin)

    @functools.wraps(function)
    async def tried(*args: Params.args, **kwargs: Params.kwargs) -> AsyncIterator[Result]:
        items, first = await begun(*args, **kwargs)
        async with aclosing(items):
            for item in first:
                yield item
            if first:
                async for item in items:
                    yield item

    return tried
