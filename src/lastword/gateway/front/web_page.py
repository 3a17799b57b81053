"""The web page, and the page that answers a question by a code.

The web page: its login, and its files. Owns what is served at `/` and below `/page/`. The files are
the same for everybody and contain nothing about a session, so they need no token; the page itself
needs the cookie that a link sets.

Answers by a code: a button of a notification, and the page that its link opens. Owns what is served
at `/answer`. Only `POST` answers, with the code as its body, so that it appears in no server's log
and no `Referer`; `GET` gives a page that sends it on a click, since programs that follow links to
preview them must not answer.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import RedirectResponse, Response

from lastword.gateway import wire
from lastword.gateway.api.requests import answer, body_of, problem
from lastword.web.files import SAFE, TYPES, answer_files, gateway_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from lastword.gateway.front.directory import SessionSource
    from lastword.gateway.front.doorkeeper import Doorkeeper, Refusal, Requester
    from lastword.web.files import PageFile


class PageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the page knows about its gateway.

    Attributes:
        path: the path of ACP's own transport, over which a session is opened.
        root: sessions work in this folder or below it; empty if the user may open none.
        role: what the user may do.
        version: lastword's version.
    """

    path: str
    root: str
    role: str
    version: str


async def asset(request: Request) -> Response:
    """`GET /page/{name}`."""
    name = request.path_params["name"]
    kept = gateway_files().get(name) or answer_files().get(name)
    suffix = Path(name).suffix
    if kept is None or suffix not in TYPES:
        return Response("There is no such file.\n", 404, SAFE, "text/plain")
    headers = SAFE | {"cache-control": "no-cache", "etag": kept.tag, "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == kept.tag:
        return Response(status_code=304, headers=headers)
    return _packed(request, kept, headers, TYPES[suffix])


def page(request: Request) -> Response:
    """`GET /`, for an admitted user."""
    headers = SAFE | {"cache-control": "no-store", "vary": "accept-encoding"}
    return _packed(request, gateway_files()["index.html"], headers, "text/html")


async def log_in(request: Request, requester: Requester, doorkeeper: Doorkeeper) -> Response:
    """`GET /?code=…`: follow a link.

    Raises:
        Refusal: It is no longer valid.
    """
    if request.method != "GET":  # a `HEAD` does not use up the link
        return Response(status_code=204, headers=SAFE)
    # A user may paste the whole link into the refusal's field.
    code = request.query_params["code"].rpartition("code=")[2].strip()
    grant = await doorkeeper.follow(requester, code)
    answer = RedirectResponse("/", 303, SAFE | {"cache-control": "no-store"})
    answer.set_cookie(
        doorkeeper.cookies.cookie,
        doorkeeper.cookies.token(grant),
        max_age=doorkeeper.seconds_left(grant),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


def refused(request: Request, refusal: Refusal) -> Response:
    """Return a refusal as a page of text."""
    reason, how = str(refusal), ""
    if refusal.status == 401:  # noqa: PLR2004
        reason = f"{reason.partition('.')[0]}."  # the page itself says below what to do
        how = _HOW.format(address=html.escape(str(request.base_url)))
    body = _REFUSED.format(reason=html.escape(reason), how=how)
    headers = SAFE | {"cache-control": "no-store"}
    if refusal.retry_after:
        headers["retry-after"] = str(refusal.retry_after)
    return Response(body, refusal.status, headers, "text/html")


def _packed(request: Request, kept: PageFile, headers: Mapping[str, str], kind: str) -> Response:
    if "gzip" in request.headers.get("accept-encoding", ""):
        packed = dict(headers) | {"content-encoding": "gzip"}
        return Response(kept.packed, 200, packed, kind)
    return Response(kept.body, 200, headers, kind)


_HOW = """
<ol>
<li>On the machine where the gateway runs, type
<code>lastword gateway token --link {address}</code>.</li>
<li>Open the link that it prints, or paste it here. It works once, within ten minutes.
<form action="/"><p class="buttons">
<input name="code" aria-label="Link" autocomplete="off" required>
<button class="first">Log in</button></p></form></li>
</ol>
<p>Sessions continue; nothing is lost. If you have just followed a link, <a href="/">open the
page again</a>.</p>
"""

_REFUSED = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Not logged in: lastword</title>
<link rel="stylesheet" href="/page/style.css">
<link rel="icon" href="/page/icon.svg">
</head>
<body>
<main class="narrow">
<h1>This gateway does not let you in</h1>
<p>{reason}</p>{how}
</main>
</body>
</html>
"""


PATH = "/answer"
MAX_CODE_BYTES = 4096

_REFUSALS = {
    wire.DECIDED: (409, "decided", "This question has already been answered or withdrawn."),
    wire.GONE: (410, "gone", "The agent no longer waits for this answer. Open the session."),
    wire.UNKNOWN: (503, "no_answer", "What has this session does not answer. Try again."),
}


async def post_answer(
    request: Request, requester: Requester, source: SessionSource, doorkeeper: Doorkeeper
) -> Response:
    """Answer a question of one of the source's sessions.

    Raises:
        Refusal: The code is not valid.
    """
    body = await body_of(request, MAX_CODE_BYTES)
    if len(body) > MAX_CODE_BYTES:
        return problem(413, "bad_request", "This is longer than any code.")
    code = doorkeeper.read_answer(requester, body.decode(errors="replace").strip())
    outcome = await source.answer(code)
    if outcome == wire.ANSWERED:
        return answer({"answered": True})
    return problem(*_REFUSALS[outcome])
