"""What `serve` says of methods that it cannot use, before it touches a descriptor."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import anyio
import pytest

import lastword
from lastword.inprocess.serve import connection as handlers


async def handler(client: object, **params: object) -> None:
    """As it should be."""


def plain(client: object) -> None:
    """Not asynchronous."""


async def no_client() -> None:
    """Takes nothing."""


async def only_named(*, client: object) -> None:
    """Takes the client by name alone."""


async def by_place(client: object, session_id: str, /) -> None:
    """Takes a param by place alone."""


async def generator(client: object) -> Any:
    """Yields."""
    yield client


class Callable:
    """An object that is called."""

    async def __call__(self, client: object) -> None:
        """As a handler is."""


NEEDED = {"session/new": handler, "session/prompt": handler}


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({}, '"session/new" and "session/prompt"'),
        ({"session/new": handler}, '"session/prompt"'),
        ({"session/prompt": handler, "initialize": handler}, '"session/new"'),
        ({"session/nwe": handler, "session/prompt": handler}, 'is "session/nwe" misspelled'),
        ({"session/load": handler, "session/prompt": handler}, "can be taken$"),
    ],
)
def test_a_missing_method_is_named(methods: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        anyio.run(lastword.serve, methods)


@pytest.mark.parametrize(
    "value", [plain, None, "session", 7, print, generator, lambda client: client, handler(None)]
)
def test_a_value_that_is_not_an_async_function_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match='"_my/method" is an `async def` function'):
        anyio.run(lastword.serve, {**NEEDED, "_my/method": value})
    if hasattr(value, "close"):
        value.close()


@pytest.mark.parametrize("value", [no_client, only_named, by_place])
def test_a_handler_that_cannot_be_called_with_the_client_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match='"_my/method" takes the client as its first argument'):
        anyio.run(lastword.serve, {**NEEDED, "_my/method": value})


@pytest.mark.parametrize("methods", [[("session/new", handler)], None, handler])
def test_a_value_that_is_not_a_mapping_is_refused(methods: Any) -> None:
    with pytest.raises(TypeError, match="takes a mapping of ACP method names"):
        anyio.run(lastword.serve, methods)


def test_a_name_that_is_not_text_is_refused() -> None:
    with pytest.raises(TypeError, match="the name of a method is a str, not 7"):
        anyio.run(lastword.serve, {**NEEDED, 7: handler})


@pytest.mark.parametrize("value", [Callable(), functools.partial(handler, extra=1), handler])
def test_any_async_callable_is_a_handler(value: Any) -> None:
    assert "_my/method" in handlers.read({**NEEDED, "_my/method": value})


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("sessionId", "session_id"),
        ("mcpServers", "mcp_servers"),
        ("_meta", "_meta"),
        ("cwd", "cwd"),
        ("x1Y", "x1_y"),
    ],
)
def test_names_convert_to_the_wires_case_and_back(key: str, name: str) -> None:
    assert (handlers.snake_case(key), handlers.camel_case(name)) == (name, key)


def test_only_one_module_imports_the_dispatching_library() -> None:
    source = Path(lastword.__file__).parent
    known = {f.name for f in source.rglob("*.py") if "import jsonrpcserver" in f.read_text()}
    assert known == {"server.py"}
