"""The turn that a handler is at work on, as its author speaks of it.

Owns what only the handler knows and can say: tools that do not pass on the wire, output that the
user saw elsewhere, what went wrong in its own words. The rules for it are the core's.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NoReturn, TypeVar

from lastword.core.link.reports import Note
from lastword.core.protocol import acp, jsonrpc
from lastword.errors import NotInTurn
from lastword.inprocess import streams
from lastword.inprocess.request import CURRENT, Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable

    from lastword.core.failure.taxonomy import Action, ErrorType
    from lastword.core.link.facts import Facts
    from lastword.inprocess.retry import Attempt, Retry

logger: logging.Logger = logging.getLogger("lastword")

Item = TypeVar("Item")


class CurrentTurn:
    """The current prompt turn; `lastword.current_turn()` gives it.

    What it is told changes what the client is told if the turn fails: how far it had come, and
    whether trying again could do harm. After the turn's end every word is without effect.
    """

    __slots__ = ("_request",)

    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def session_id(self) -> str | None:
        """The session that the prompt came for."""
        return self._request.session_id

    @property
    def cancelled(self) -> bool:
        """Has the user, or a limit, asked for the turn's end? For work that cannot be cancelled."""
        return self._request.cancel_asked

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context that the client sent with the prompt, at the root of `_meta`."""
        meta = jsonrpc.params_of(self._request.frame).get("_meta")
        value = meta.get("traceparent") if isinstance(meta, dict) else None
        return value if isinstance(value, str) else None

    def progress(self) -> None:
        """The handler is at work though nothing is sent: the clock of silence starts anew."""
        self._say(Note.PROGRESS)

    def output(self) -> None:
        """The user saw something of this turn that did not go through the client."""
        self._say(Note.OUTPUT)

    def tool_started(self, name: str, *, side_effects: bool) -> None:
        """A tool began to run.

        Tools that are reported to the client as tool calls are seen without this; their kinds
        `read`, `search`, `think` and `fetch` count as free of side effects.

        Args:
            name: The tool, as `tool_finished` will name it.
            side_effects: Does it change anything outside of this process? A turn in which such a
                tool was started is never tried again without the user's word.
        """
        tools = self._request.tools
        tools[name] = tools.get(name, 0) + 1
        self._say(Note.UNSAFE_TOOL if side_effects else Note.SAFE_TOOL)

    def tool_finished(self, name: str) -> None:
        """The tool came to its end, well or badly."""
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
        """End the turn as failed, in the words of someone who knows best.

        The turn fails as it is said here, even if what this raises is caught on the way out.

        Args:
            type: What failed, one of `lastword.ErrorType`.
            message: One plain sentence for the user that ends with what to do; at most 500
                characters. Without it there is one for the type.
            retryable: Whether trying again may help. The type's own default without it.
            retry_after_seconds: How long to wait first.
            reset_at_epoch_ms: When a limit ends, in milliseconds since 1970 UTC.
            reason: A short, low-cardinality word of your own.
            detail: What the failing part itself said. It is redacted and cut at 4 KiB.
            action: What the user can do, one of `lastword.Action`: clients have a button for it.
                Without it what usually helps for the type.

        Raises:
            TurnFailed: Always; let it leave the handler.
            Misused: There is no such type or action, or a wait is no number from 0 up. Where that
                leaves the handler, the turn fails as `internal`.
        """
        # Loaded at the first failure, as everything is that only failures need.
        from lastword.inprocess.exceptions import Said, said_by_author  # noqa: PLC0415

        said = Said(
            retryable=retryable,
            retry_after_seconds=retry_after_seconds,
            reset_at_epoch_ms=reset_at_epoch_ms,
            reason=reason,
            detail=detail,
            action=action,
        )
        raise said_by_author(self._request, type, message, said)

    def attempts(self, retry: Retry | None = None) -> AsyncIterator[Attempt]:
        """Try a model call until it succeeds, or until another try would not help or could harm.

        ```python
        async for attempt in turn.attempts():
            with attempt:
                answer = await model(...)
        ```

        What counts is what happened since the loop began: a model call that follows a tool is
        tried again, since it alone is sent again; one that has shown something itself is not.

        Args:
            retry: How often and how long; `Retry()` without it.

        Returns:
            The attempts. The one that cannot be followed by another raises what failed.
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
        """Pass a model's stream on, note its progress, and see whether it came to its end.

        ```python
        async for chunk in turn.watch(await client.chat.completions.create(..., stream=True)):
            ...
        ```

        Providers' packages raise nothing when the connection ends in the middle of an answer: the
        loop just ends. This raises. A stream that it does not know is passed on as it is and
        **nothing of it is guarded**; the logger `lastword` says so, once for each type. Text and
        lines are such streams: give the provider's own, or say by `finished` which item is the
        last.

        Args:
            stream: What a provider's package gave: OpenAI, Anthropic, Gemini, Mistral, Ollama,
                Bedrock and their like are recognised by their items. One that is not asynchronous
                is read in a thread.
            finished: For any other stream: is this item the one that ends it?

        Returns:
            The items, unchanged.

        Raises:
            StreamTruncated: The stream ended before its terminal event.
            StreamFailed: An item told of a failure.
            TypeError: It is no stream; the message says what to do.
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
    """The turn that the code which calls this is at work on.

    ```python
    turn = lastword.current_turn()
    async for attempt in turn.attempts():
        with attempt:
            answer = await model(...)
    ```

    Found by context: in the handler of `session/prompt`, in every task that it starts, and in
    threads started by `asyncio.to_thread`.

    Raises:
        NotInTurn: There is none.
    """
    request = CURRENT.get()
    if request is None or request.method != acp.PROMPT:
        raise NotInTurn
    return CurrentTurn(request)
