"""Answers by a code: a button of a notification, and the page that a link in one opens.

Owns what is served at `/answer`. Only `POST` answers, with the code as its body, so that neither a
server's log nor a `Referer` has it; `GET` gives a page that sends it on a click, since programs
that look where a link leads must not answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from lastword.gateway import wire
from lastword.gateway.api.requests import answer, problem
from lastword.web.files import SAFE, answer_files

if TYPE_CHECKING:
    from starlette.requests import Request

    from lastword.gateway.front.doorkeeper import Doorkeeper, Requester
    from lastword.gateway.front.session_source import SessionSource

PATH = "/answer"
MAX_CODE_BYTES = 4096

_REFUSALS = {
    wire.DECIDED: (409, "decided", "This question has already been answered or withdrawn."),
    wire.GONE: (410, "gone", "The agent no longer waits for this answer. Open the session."),
    wire.UNKNOWN: (503, "no_answer", "What has this session does not answer. Try again."),
}


class AnswerDesk:
    """Answers questions by codes."""

    def __init__(self, source: SessionSource, doorkeeper: Doorkeeper) -> None:
        """Answer questions of these sessions, by the codes that the doorkeeper admits."""
        self._source = source
        self._doorkeeper = doorkeeper

    async def post(self, request: Request, requester: Requester) -> Response:
        """Answer a question.

        Raises:
            Refusal: The code is not valid.
        """
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_CODE_BYTES:
                return problem(413, "bad_request", "This is longer than any code.")
        text = body.decode(errors="replace").strip()
        outcome = await self._source.answer(self._doorkeeper.read_answer(requester, text))
        if outcome == wire.ANSWERED:
            return answer({"answered": True})
        return problem(*_REFUSALS[outcome])


def page() -> Response:
    """Return the page that sends a code on a click; it has nothing about a session."""
    headers = SAFE | {"cache-control": "no-store"}
    return Response(answer_files()["answer.html"].body, 200, headers, "text/html")
