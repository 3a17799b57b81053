"""The client of a test: it sends requests, keeps what it receives, and answers the agent.

Owns the answers. Frames are decoded JSON; `testing.turn_result` interprets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from lastword.core.protocol import acp
from lastword.errors import MisuseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.testing.doors import AgentDoor

Json = dict[str, Any]

PERMISSIONS = {"allow": ("allow_once", "allow_always"), "reject": ("reject_once", "reject_always")}
"""The kinds of options that answer a question so, the preferred one first."""


class ClientOfTest:
    """One client, for one connection.

    Attributes:
        frames: What the agent sent, in order.
        failure: What a test author's own answer raised.
        on_update: Called with each update as it arrives; may be replaced.
    """

    def __init__(self, door: AgentDoor, answers: Mapping[str, Callable[[Json], Any]]) -> None:
        self._door = door
        self._answers = answers
        self._requests: dict[int, anyio.Event] = {}
        self._answered: dict[int, Json] = {}
        self._count = 0
        self.frames: list[Json] = []
        self.failure: Exception | None = None
        self.on_update: Callable[[Json], None] = _ignore

    async def request(self, method: str, params: Json) -> Json:
        """Send the agent a request; return its whole response, which may be an error."""
        self._count += 1
        number = self._count
        self._requests[number] = anyio.Event()
        self._door.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        await self._requests[number].wait()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return self._answered.pop(number)

    def notify(self, method: str, params: Json) -> None:
        """Send the agent a notification."""
        self._door.send({"jsonrpc": "2.0", "method": method, "params": params})

    def receive(self, frame: Json) -> None:
        """Take in a message from the agent."""
        self.frames.append(frame)
        method, number = frame.get("method"), frame.get("id")
        if method is None:
            request_ended = self._requests.pop(number, None) if isinstance(number, int) else None
            if request_ended is not None and isinstance(number, int):
                self._answered[number] = frame
                request_ended.set()
        elif "id" in frame:
            self._door.send({"jsonrpc": "2.0", "id": number, **self._answer(method, frame)})
        elif method == acp.UPDATE:
            self._own(lambda: self.on_update(frame["params"]["update"]))

    def _answer(self, method: str, frame: Json) -> Json:
        answer = self._answers.get(method)
        if answer is None:
            text = f'The client of this test has no "{method}": give it to open_session(answers=…).'
            return {"error": {"code": acp.METHOD_NOT_FOUND, "message": text}}
        given: list[Any] = []
        if self._own(lambda: given.append(answer(frame.get("params") or {}))):
            return {"result": given[0]}
        return {"error": {"code": acp.INTERNAL_ERROR, "message": "The answer in the test failed."}}

    def _own(self, call: Callable[[], object]) -> bool:
        """Call the test author's code; an exception there is the test's, not the agent's."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - kept, and raised in the test
            self.failure = self.failure or error
            return False
        return True


def permission_answer(choice: str | Callable[[Json], str | None]) -> Callable[[Json], Json]:
    """Return a function that answers `session/request_permission`.

    Raises:
        MisuseError: There is no such word.
    """
    if not callable(choice) and choice not in {*PERMISSIONS, "cancel"}:
        raise MisuseError(
            'answer_permission takes "allow", "reject", "cancel" or a function that gives an '
            f"option's id, not {choice!r}"
        )

    def answer(params: Json) -> Json:
        option = choice(params) if callable(choice) else _option_of(params, choice)
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return answer


def _option_of(params: Json, choice: str) -> str | None:
    """Return the id of the option that a word means, or `None` if there is no such option."""
    options = params.get("options") or []
    for kind in PERMISSIONS.get(choice, ()):
        for option in options:
            if option.get("kind") == kind:
                return str(option["optionId"])
    return None


def _ignore(_: Json) -> None:
    """Ignore an update that nobody waits for."""
