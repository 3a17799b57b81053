"""What `serve` says of methods that it cannot use, before it touches a descriptor."""

from __future__ import annotations

import functools
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
    ("value", "words"),
    [
        (plain, "is an `async def` function"),
        (None, "is an `async def` function"),
        (print, "is an `async def` function"),
        (generator, "is an `async def` function"),
        (lambda client: client, "is an `async def` function"),
        (no_client, "takes the client as its first argument"),
        (only_named, "takes the client as its first argument"),
        (by_place, "takes the client as its first argument"),
    ],
)
def test_a_value_that_is_no_handler_is_named(value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=f'"_my/method" {words}'):
        anyio.run(lastword.serve, {**NEEDED, "_my/method": value})


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ([("session/new", handler)], "takes a mapping of ACP method names"),
        (handler, "takes a mapping of ACP method names"),
        ({**NEEDED, 7: handler}, "the name of a method is a str, not 7"),
    ],
)
def test_what_is_not_a_mapping_of_names_is_refused(methods: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        anyio.run(lastword.serve, methods)


@pytest.mark.parametrize("value", [Callable(), functools.partial(handler, extra=1), handler])
def test_any_async_callable_is_a_handler(value: Any) -> None:
    assert "_my/method" in handlers.read({**NEEDED, "_my/method": value})


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("sessionId", "session_id"),
        ("_meta", "_meta"),
        ("x1Y", "x1_y"),
    ],
)
def test_names_convert_to_the_wires_case_and_back(key: str, name: str) -> None:
    assert (handlers.snake_case(key), handlers.camel_case(name)) == (name, key)
