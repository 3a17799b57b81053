"""The turn that a handler is working on, from its author's point of view.

Owns what only the handler can report: tools that are not on the wire, output that reached the user
elsewhere, a failure in its own words. The core has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

from lastword.core.link.agent_side import Note
from lastword.core.protocol import acp, jsonrpc
from lastword.errors import NotInTurnError
from lastword.inprocess import streams
from lastword.inprocess.request import CURRENT, Request
from lastword.inprocess.settings import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable

    from lastword.core.failure.taxonomy import Action, ErrorType
    from lastword.core.link.facts import Facts
    from lastword.inprocess.retry import Attempt, Retry


Item = TypeVar("Item")


class CurrentTurn:
    """The current prompt turn, returned by `lastword.current_turn()`.

    What you report to it changes what the client learns if the turn fails: how far it had come, and
    whether a retry could do harm. Once the turn has ended, its methods have no effect.
    """

    __slots__ = ("_request",)

    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def session_id(self) -> str | None:
        """The session of the prompt."""
        return self._request.session_id

    @property
    def cancelled(self) -> bool:
        """Whether the turn should end; for work that cannot be cancelled."""
        return self._request.cancel_requested

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context that the client sent with the prompt, at the root of `_meta`."""
        meta = jsonrpc.params_of(self._request.frame).get("_meta")
        value = meta.get("traceparent") if isinstance(meta, dict) else None
        return value if isinstance(value, str) else None

    def progress(self) -> None:
        """Report that the handler is working although it sends nothing; resets the idle timeout."""
        self._say(Note.PROGRESS)

    def output(self) -> None:
        """Report output of this turn that reached the user without the client."""
        self._say(Note.OUTPUT)

    def tool_started(self, name: str, *, side_effects: bool) -> None:
        """Report that a tool has started.

        Tools that are reported to the client as tool calls are counted without this; those of the
        kinds `read`, `search`, `think` and `fetch` count as free of side effects.

        Args:
            name: The tool, as `tool_finished` will name it.
            side_effects: Whether it changes anything outside this process. A turn in which such a
                tool was started is never retried without the user's consent.
        """
        tools = self._request.tools
        tools[name] = tools.get(name, 0) + 1
        self._say(Note.UNSAFE_TOOL if side_effects else Note.SAFE_TOOL)

    def tool_finished(self, name: str) -> None:
        """Report that a tool has finished, successfully or not."""
        tools = self._request.tools
        if not tools.get(name):
            logger.warning(
                "tool_finished(%r) without tool_started(%r): nothing is counted.", name, name
            )
            return
        tools[name] -= 1
        self._say(Note.TOOL_FINISHED)

    def fail(  # noqa: PLR0913 - six options is our own limit
        self,
        type: ErrorType | str,  # noqa: A002 - the field's own name
        message: str | None = None,
        *,
        retryable: bool | None = None,
        retry_after_seconds: float | None = None,
        reset_at_epoch_ms: int | None = None,
        reason: str | None = None,
        detail: str | None = None,
        action: Action | str | None = None,
    ) -> NoReturn:
        """End the turn as failed, in the author's own words.

        The turn fails as stated here, even if the exception that this raises is caught on the way.

        Args:
            type: What failed, one of `lastword.ErrorType`.
            message: One plain sentence for the user that ends with what to do; at most 500
                characters. By default, the sentence of the type.
            retryable: Whether trying again may help. By default, the type's own value.
            retry_after_seconds: How long to wait first.
            reset_at_epoch_ms: When a limit ends, in milliseconds since 1970 UTC.
            reason: A short, low-cardinality word of your own.
            detail: What the failing part itself said. It is redacted and cut at 4 KiB.
            action: What the user can do, one of `lastword.Action`: clients have a button for it.
                By default, what usually helps for the type.

        Raises:
            TurnFailedError: Always; let it leave the handler.
            MisuseError: There is no such type or action, or a wait is not a number from 0 up. If
                that leaves the handler, the turn fails as `internal`.
        """
        # Imported at the first failure, like everything that only failures need.
        from lastword.inprocess.exceptions import AuthorReport, author_error  # noqa: PLC0415

        report = AuthorReport(
            retryable=retryable,
            retry_after_seconds=retry_after_seconds,
            reset_at_epoch_ms=reset_at_epoch_ms,
            reason=reason,
            detail=detail,
            action=action,
        )
        raise author_error(self._request, type, message, report)

    def attempts(self, retry: Retry | None = None) -> AsyncIterator[Attempt]:
        """Try a model call until it succeeds, or until another try would not help or could harm.

        ```python
        async for attempt in turn.attempts():
            with attempt:
                answer = await model(...)
        ```

        Make the call within `with attempt:`. A stream or coroutine made before the loop serves only
        the first attempt, whose failure then ends the turn.

        Only what has happened since the loop began counts: a model call that follows a tool is
        retried, since only the call is repeated; a call that has shown something is not.

        Args:
            retry: How often and how long; `Retry()` by default.

        Returns:
            The attempts. One that may not be repeated raises the failure.
        """
        # tenacity costs 4 ms, and an agent that never retries does not need it.
        from lastword.inprocess.retry import Retry, attempts  # noqa: PLC0415

        return attempts(retry or Retry(), self._request)

    def watch(
        self,
        stream: AsyncIterable[Item] | Iterable[Item],
        *,
        finished: Callable[[Item], bool] | None = None,
    ) -> AsyncIterator[Item]:
        """Pass a model's stream on, note its progress, and check that it is complete.

        ```python
        async for chunk in turn.watch(await client.chat.completions.create(..., stream=True)):
            ...
        ```

        Providers' packages raise nothing when the connection ends in the middle of an answer: the
        loop just ends. This method raises. A stream of an unknown kind is passed on unchanged and
        is **not guarded**; the logger `lastword` says so, once for each type. Text and lines are
        such streams: pass the provider's own stream, or say with `finished` which item is the last.

        Args:
            stream: What a provider's package returned: OpenAI, Anthropic, Gemini, Mistral, Ollama,
                Bedrock and compatible ones are recognised by their items. A stream that is not
                asynchronous is read in a thread.
            finished: For any other stream: returns whether an item is the last one.

        Returns:
            The items, unchanged.

        Raises:
            StreamTruncatedError: The stream ended before its terminal event.
            StreamFailedError: An item reported a failure.
            MisuseError: The argument is a generator that has already been read, such as by an
                earlier attempt.
            TypeError: The argument is not a stream; the message says what to do.
        """
        return streams.watch(stream, on_item=self.progress, finished=finished)

    def _say(self, note: Note) -> None:
        request = self._request
        for attempt in request.attempts:
            if attempt.concerned:
                _NOTED[note](attempt.facts)
        request.link.say(request, note)


_NOTED: dict[Note, Callable[[Facts], None]] = {
    Note.PROGRESS: lambda _: None,
    Note.OUTPUT: lambda facts: facts.note_output(),
    Note.SAFE_TOOL: lambda facts: facts.note_tool(safe=True),
    Note.UNSAFE_TOOL: lambda facts: facts.note_tool(safe=False),
    Note.TOOL_FINISHED: lambda facts: facts.note_tool_finished(),
}


def current_turn() -> CurrentTurn:
    """Return the turn that the calling code is working on.

    ```python
    turn = lastword.current_turn()
    async for attempt in turn.attempts():
        with attempt:
            answer = await model(...)
    ```

    It is found by context: in the handler of `session/prompt`, in every task that it starts, and in
    threads started by `asyncio.to_thread`.

    Raises:
        NotInTurnError: There is no current turn.
    """
    request = CURRENT.get()
    if request is None or request.method != acp.PROMPT:
        raise NotInTurnError
    return CurrentTurn(request)
