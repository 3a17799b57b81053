"""The one runner of handlers, on asyncio and on trio: whatever a handler does, it is answered."""

from __future__ import annotations

import io
import json
import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, cast

import anyio
import pytest

from lastword import current_turn
from lastword.core.link.connection import LinkOptions
from lastword.core.protocol import jsonrpc
from lastword.errors import TurnFailedError
from lastword.inprocess import handling
from lastword.inprocess import link as link_module
from lastword.inprocess.link import HandlerLink
from lastword.inprocess.request import CURRENT, Request
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
SECRET = "s3cr3t-0123456789-abcdef"
OWN: Json = {"code": -32001, "message": f"Nothing by {SECRET}", "data": None}


class OddError(BaseException):
    """What no handler should raise."""


class OwnError(Exception):
    """Stands for a JSON-RPC error by its author's will."""


class Door:
    """A link with two prompts and another request open."""

    def __init__(self, **options: Any) -> None:
        self.answers: dict[int, list[Json]] = {}
        self.requests: list[Request] = []
        self.link = HandlerLink(
            LinkOptions(incident_prefix="t-", in_process=True, secrets=(SECRET,), **options),
            to_client=self._to_client,
            to_handler=lambda _frame, request: self.requests.append(request) if request else None,
            on_cancel=lambda requests: [request.cancel() for request in requests],
            rearm=lambda: None,
        )
        self._ask("initialize", protocolVersion=1, clientCapabilities={})
        self.link.from_handler(jsonrpc.result(b"0", {"protocolVersion": 1}), self.requests[0])
        for session in ("s1", "s2"):
            self._ask("session/prompt", sessionId=session, prompt=[])
        self._ask("_other", sessionId="s1")
        self.answers.clear()
        _, self.prompt, self.beside, self.other = self.requests

    def _ask(self, method: str, **params: Any) -> None:
        self.link.from_client(jsonrpc.request(str(len(self.requests)).encode(), method, params))

    def _to_client(self, line: bytes) -> None:
        frame = json.loads(line)
        if "method" not in frame:
            self.answers.setdefault(frame["id"], []).append(frame)

    async def run(self, request: Request, handler: Callable[[], Awaitable[Any]]) -> Any:
        """Run a handler of this request."""
        CURRENT.set(request)
        return await handling.run(
            request, handler, lambda error: OWN if isinstance(error, OwnError) else None
        )

    def error(self, request_id: int) -> Json:
        """The one answer to this request, which is an error."""
        (answer,) = self.answers[request_id]
        error: Json = answer["error"]
        return error

    def typed(self, request_id: int) -> Json:
        """What of it is ours."""
        typed: Json = self.error(request_id)["data"]["agent_error"]
        return typed


def raising(error: BaseException) -> Callable[[], Awaitable[NoReturn]]:
    async def handler() -> NoReturn:
        await anyio.lowlevel.checkpoint()
        raise error

    return handler


@pytest.mark.parametrize("which", ["prompt", "other"])
async def test_the_request_is_answered_at_the_raise_and_the_exception_propagates(
    which: str,
) -> None:
    door = Door()
    request: Request = getattr(door, which)
    error = TimeoutError("the provider took too long")
    with pytest.raises(TimeoutError) as raised:
        await door.run(request, raising(error))
    assert raised.value is error
    assert door.typed(int(request.request_id))["type"] == "timeout"
    assert request.settled
    assert request.over


class UnreadableError(Exception):
    """An exception that cannot even be asked for its class."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


async def test_an_unreadable_exception_ends_only_its_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = Door()
    with pytest.raises(handling.HandlerFailedError, match="raised UnreadableError"):
        await door.run(door.prompt, raising(UnreadableError()))
    assert door.typed(1)["type"] == "internal"
    await handling.run_notification(door.link, raising(UnreadableError()))
    assert "The handler of a notification raised UnreadableError" in caplog.text


class FailingHandler(logging.Handler):
    """Of an author whose log cannot be written."""

    def emit(self, _: logging.LogRecord) -> NoReturn:
        raise OSError("the log's disk is full")


async def test_a_failing_log_of_the_author_prevents_no_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    door, failing = Door(), FailingHandler()
    logging.getLogger("lastword").addHandler(failing)
    try:
        await handling.run_notification(door.link, raising(ValueError("the note's own failure")))
        with pytest.raises(handling.HandlerFailedError):
            await door.run(door.prompt, raising(OddError()))
    finally:
        logging.getLogger("lastword").removeHandler(failing)
    assert door.typed(1)["type"] == "unknown"
    assert "the log's disk is full" in capsys.readouterr().err


async def test_a_base_exception_is_answered_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = Door()
    error = OddError()
    with pytest.raises(handling.HandlerFailedError, match="session/prompt raised OddError") as odd:
        await door.run(door.prompt, raising(error))
    assert odd.value.__cause__ is error
    assert door.typed(1)["type"] == "unknown"
    assert "raised OddError, which is not an Exception" in caplog.text


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), BaseExceptionGroup("", [ValueError(), SystemExit(3)])],
    ids=repr,
)
async def test_a_handler_that_ends_the_process_first_answers_every_request(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    door = Door()
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        await door.run(door.prompt, raising(error))
    for request_id in (1, 2, 3):
        assert door.typed(request_id)["reason"] == "premature_exit"
    # Who pressed ctrl-C has nothing to mend.
    assert bool(caplog.records) is not isinstance(error, KeyboardInterrupt)


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("the note's own failure")], ids=repr)
async def test_a_notifications_failure_is_only_logged_unless_it_ends_the_process(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    door = Door()
    ends = isinstance(error, SystemExit)
    try:
        await handling.run_notification(door.link, raising(error))
    except SystemExit:
        assert ends
    assert set(door.answers) == ({1, 2, 3} if ends else set())
    assert "The handler of a notification failed." in caplog.text


@pytest.mark.parametrize("name", [None, "lastword"])
@pytest.mark.parametrize("notes", [0, 300])
async def test_a_handlers_traceback_is_logged_whole_without_its_secrets(
    caplog: pytest.LogCaptureFixture, name: str | None, notes: int
) -> None:
    door = Door()
    error = ValueError(f"Incorrect API key provided: {SECRET}")
    for number in range(notes):
        error.add_note(f"Note {number} of a provider's package that explains much.")
    try:
        await door.run(door.prompt, raising(error))
    except ValueError:
        logging.getLogger(name).exception("Unhandled error")
    assert SECRET not in caplog.text
    assert "ValueError: Incorrect API key provided: (redacted)" in caplog.text
    assert all(f"Note {number} of" in caplog.text for number in range(notes))
    assert "(cut)" not in caplog.text


@pytest.mark.parametrize("name", [None, "lastword"])
async def test_a_failure_that_the_author_meant_is_no_accident_in_the_log(
    caplog: pytest.LogCaptureFixture, name: str | None
) -> None:
    async def failing() -> None:
        current_turn().fail("budget", "Your team's budget is used up.")

    door = Door()
    try:
        await door.run(door.prompt, failing)
    except TurnFailedError:
        logging.getLogger(name).exception("Unhandled error")
    assert door.typed(1)["message"] == "Your team's budget is used up."
    assert "Unhandled error" not in caplog.text


async def test_only_the_traceback_of_a_handler_is_redacted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = Door()
    with pytest.raises(ValueError, match="shard"):
        await door.run(door.prompt, raising(ValueError("shard 3")))
    try:
        raise ValueError(SECRET)  # noqa: TRY301 - the program's own, outside any handler
    except ValueError:
        logging.getLogger().exception("Elsewhere")
    assert SECRET in caplog.text


async def test_a_traceback_without_a_secret_is_left_to_the_authors_formatter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Short(logging.Formatter):
        def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's own name
            return f"short: {ei[1]}"

    told = io.StringIO()
    handler = logging.StreamHandler(told)
    handler.setFormatter(Short())
    logger = logging.getLogger("lastword")
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "propagate", False)
    door = Door()
    try:
        await door.run(door.prompt, raising(ValueError("shard 3")))
    except ValueError:
        logger.exception("Unhandled error")
    assert told.getvalue().endswith("short: shard 3\n")


async def test_the_cancellation_of_the_door_itself_passes_and_answers_nothing() -> None:
    door = Door()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await door.run(door.prompt, anyio.sleep_forever)
    assert scope.cancelled_caught
    assert door.answers == {}


async def test_an_authors_own_error_keeps_its_code_and_loses_its_secrets() -> None:
    door = Door()
    with pytest.raises(OwnError):
        await door.run(door.other, raising(OwnError()))
    error = door.error(3)
    assert error["code"] == -32001
    assert SECRET not in error["message"]
    with pytest.raises(OwnError):
        await door.run(door.prompt, raising(OwnError()))
    assert (door.error(1)["code"], door.typed(1)["type"]) == (-32001, "invalid_request")


def test_an_unsendable_result_is_a_failure_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = Door()
    handling.answer(door.prompt, {"jsonrpc": "2.0", "id": 1, "result": object()})
    assert door.typed(1)["type"] == "internal"
    assert "returned a value that cannot be sent as JSON" in caplog.text


async def test_a_core_out_of_order_is_stood_in_for_without_the_exceptions_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> NoReturn:
        raise ZeroDivisionError

    caplog.set_level(logging.CRITICAL)
    # Asked for the time of day, which a failure's sentence may hold.
    door = Door(wall_clock=broken)
    with pytest.raises(ValueError, match="shard 3"):
        await door.run(door.prompt, raising(ValueError("shard 3")))
    assert door.error(1) == handling.PLAIN_ERROR
    with pytest.raises(OwnError):
        await door.run(door.beside, raising(OwnError()))
    assert door.error(2)["code"] == -32001
    assert SECRET not in door.error(2)["message"]
    handling.answer(door.other, {"jsonrpc": "2.0", "id": 3, "result": object()})
    assert door.error(3) == handling.PLAIN_ERROR
    # What is raised after the end is not answered again.
    with pytest.raises(ValueError, match="late"):
        await door.run(door.prompt, raising(ValueError("late")))
    door.link.from_client(b'{"jsonrpc":"2.0","id":4,"meth')
    assert [len(answers) for answers in door.answers.values()] == [1, 1, 1]


def test_a_late_timer_lets_ready_work_run_first_and_then_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(link_module.time, "monotonic", lambda: now)
    door = Door(first_update_timeout_seconds=10.0)
    for _ in range(4):  # the limit, and the grace after the cancel
        due = door.link.next_timeout()
        assert due is not None
        assert door.answers == {}
        now = max(due, now) + 3.0  # each time, on a machine that is always busy
        door.link.ring(due)
    stopped = [number for number in door.answers if "error" in door.answers[number][0]]
    assert stopped == [1, 2]


def test_a_suspended_process_leaves_its_handlers_their_remaining_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(link_module.time, "monotonic", lambda: now)
    door = Door(first_update_timeout_seconds=10.0)
    due = door.link.next_timeout()
    assert due is not None
    now += 3600.0
    door.link.stand_still(3598.0)
    door.link.ring(due)
    assert (door.answers, door.link.next_timeout()) == ({}, due + 3598.0)


class BusyLink:
    """A link with an open turn and no timer."""

    in_turn = True

    def next_timeout(self) -> None:
        """No timer is set."""

    def stand_still(self, seconds: float) -> None:
        """The clocks are not looked at."""


class Work:
    """What a handler holds."""


def test_what_a_handler_holds_that_blocks_the_loop_is_freed_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported = threading.Event()
    monkeypatch.setattr(handling, "BLOCKED_SECONDS", 0.01)
    monkeypatch.setattr(handling.logger, "error", lambda *_: reported.set())
    calls: list[Callable[[], object]] = []
    watchdog = handling.LoopWatchdog(cast("HandlerLink", BusyLink()), calls.append)

    def block() -> weakref.ref[Work]:
        work = Work()
        watchdog.look()
        assert reported.wait(FUSE_SECONDS)
        return weakref.ref(work)

    try:
        assert block()() is None
    finally:
        watchdog.close()
