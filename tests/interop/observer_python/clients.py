"""An agent with each HTTP library: prints each case's outcome and what the observer reported of it.

Runs in the libraries' own environment: `python -m tests.interop.observer_python.clients`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import os
import sys
import tempfile
import traceback
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.observed import provider
from tests.kit.observed.hooks import FOLDER, mutants, observed

WAIT_SECONDS = 0.5
NOWHERE = f"http://127.0.0.1:1{provider.PATH}"
CASES = (*provider.ANSWERS, "unreachable", "dropped")
DATA = b'{"model": "x"}'
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

Client = Callable[[str, "dict[str, str]", bool], Any]
"""Sends a request with headers, and reads the answer, or drops it after its first piece."""


def with_urllib(url: str, headers: dict[str, str], drop: bool) -> Any:
    request = urllib.request.Request(url, data=DATA, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=limit)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    with answer:
        return answer.read(1) if drop else (answer.status, answer.read())


def with_requests(url: str, headers: dict[str, str], drop: bool) -> Any:
    requests = importlib.import_module("requests")
    answer = requests.post(url, data=DATA, headers=headers, timeout=limit, stream=True)
    with answer:
        pieces = answer.iter_content(4)
        return next(pieces) if drop else (answer.status_code, b"".join(pieces))


def with_urllib3(url: str, headers: dict[str, str], drop: bool) -> Any:
    urllib3 = importlib.import_module("urllib3")
    with urllib3.PoolManager(retries=False, timeout=limit) as pool:
        answer = pool.request("POST", url, body=DATA, headers=headers, preload_content=False)
        if drop:
            first = next(answer.stream(4))
            answer.close()
            return first
        return answer.status, answer.read()


def with_httpx(name: str) -> Client:
    def client(url: str, headers: dict[str, str], drop: bool) -> Any:
        httpx = importlib.import_module(name)
        with httpx.Client(timeout=limit, trust_env=False, verify=False) as session:  # noqa: SIM117
            with session.stream("POST", url, content=DATA, headers=headers) as answer:
                return next(answer.iter_raw()) if drop else (answer.status_code, answer.read())

    return client


def with_async_httpx(name: str) -> Client:
    def client(url: str, headers: dict[str, str], drop: bool) -> Any:
        httpx = importlib.import_module(name)

        async def run() -> Any:
            async with (
                httpx.AsyncClient(timeout=limit, trust_env=False, verify=False) as session,
                session.stream("POST", url, content=DATA, headers=headers) as answer,
            ):
                if drop:
                    return await answer.aiter_raw().__anext__()
                return answer.status_code, await answer.aread()

        return asyncio.run(_cancelled(run()))

    return client


def with_aiohttp(url: str, headers: dict[str, str], drop: bool) -> Any:
    aiohttp = importlib.import_module("aiohttp")

    async def run() -> Any:
        timeout = aiohttp.ClientTimeout(total=limit)
        async with aiohttp.ClientSession(timeout=timeout) as session:  # noqa: SIM117
            async with session.post(url, data=DATA, headers=headers) as answer:
                if drop:
                    return await answer.content.readany()
                return answer.status, await answer.read()

    return asyncio.run(_cancelled(run()))


cancels = False
"""Whether what waits is cancelled, instead of waiting for its timeout."""

limit = 60.0
"""A request's timeout; shorter where the provider does not answer."""


async def _cancelled(work: Any) -> Any:
    if not cancels:
        return await work
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().call_later(WAIT_SECONDS, task.cancel)
    return await task


CLIENTS: dict[str, tuple[str, Client]] = {
    "urllib": ("urllib.request", with_urllib),
    "urllib3": ("urllib3", with_urllib3),
    "requests": ("requests", with_requests),
    "httpx": ("httpx", with_httpx("httpx")),
    "httpx, async": ("httpx", with_async_httpx("httpx")),
    "httpx2": ("httpx2", with_httpx("httpx2")),
    "httpx2, async": ("httpx2", with_async_httpx("httpx2")),
    "aiohttp": ("aiohttp", with_aiohttp),
}
"""Each client, and the module that it needs."""


def outcome(client: Client, url: str, case: str) -> tuple[str, int]:
    """Return what the agent gets, and how many frames of ours its error shows."""
    global cancels, limit  # noqa: PLW0603
    name, _, cancelled = case.partition(", ")
    cancels, limit = bool(cancelled), 60.0
    if name in {"silent", "stalled"} and not cancels:
        limit = WAIT_SECONDS
    headers = {"x-answer": "stream" if name == "dropped" else name}
    try:
        got = client(NOWHERE if name == "unreachable" else url, headers, name == "dropped")
    except BaseException as error:  # noqa: BLE001 - also what cancels
        frames = traceback.extract_tb(error.__traceback__)
        ours = sum(os.path.dirname(frame.filename) == str(FOLDER) for frame in frames)
        return _without_ports(f"{type(error).__name__}: {error}"), ours
    return repr(got), 0


def _without_ports(text: str) -> str:
    return "".join("0" if char.isdigit() else char for char in text.partition(" at 0x")[0])


def main() -> None:
    """Print a line for each case, or for each mutant that an agent notices."""
    for name in _PROXIES:
        os.environ.pop(name, None)
    sys.dont_write_bytecode = True
    present = {}
    for name, (module, client) in CLIENTS.items():
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
            present[name] = client
    server, url = provider.start()
    url += "?key=secret"
    if "--mutants" in sys.argv:
        show_mutants(present, url)
    else:
        show_cases(present, url)
    sys.stdout.flush()
    server.shutdown()
    server.server_close()


def show_cases(present: dict[str, Client], url: str) -> None:
    """Print each case's outcome without and with the observer, and its events."""
    for name, client in present.items():
        cancelled = ("stalled, cancelled", "silent, cancelled")
        for case in (*CASES, *(cancelled if "async" in name or name == "aiohttp" else ())):
            plain, _ = outcome(client, url, case)
            events: list[dict[str, Any]] = []
            with observed(events.append):
                with_observer, frames = outcome(client, url, case)
                gc.collect()
            line = {"client": name, "case": case, "plain": plain, "outcome": with_observer}
            print(json.dumps({**line, "frames": frames, "events": events}))


def show_mutants(present: dict[str, Client], url: str) -> None:
    """Print each mutant of the observer that changes what an agent gets."""
    plain = {
        (name, case): outcome(client, url, case)[0]
        for name, client in present.items()
        for case in ("stream", "refused", "cut", "unreachable", "dropped")
    }
    with tempfile.TemporaryDirectory() as folder:
        for mutant, place in mutants(Path(folder)):
            with observed(lambda _: None, place):
                for (name, case), expected in plain.items():
                    got, _ = outcome(present[name], url, case)
                    if got != expected:
                        print(json.dumps([mutant, name, case, expected, got]))
    print(json.dumps("done"))


if __name__ == "__main__":
    main()
