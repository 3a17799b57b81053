"""Options and methods as an author or the environment gives them, and what cannot be used."""

from __future__ import annotations

import copy
import functools
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
import pytest

import lastword
from lastword import Options
from lastword.core.link.options import LinkOptions
from lastword.errors import MisuseError
from lastword.inprocess.serve import connection as handlers
from lastword.inprocess.settings import complete, from_environment, passthrough
from lastword.testing import take_turn


def test_the_variables_of_lastword_run_set_the_same_here() -> None:
    options = from_environment(
        {"LASTWORD_IDLE_TIMEOUT": "5s", "LASTWORD_FALLBACK": "text", "LASTWORD_RECORD_TEXT": "yes"}
    )
    assert options == Options(idle_timeout_seconds=5.0, fallback="text", record_text=True)


def test_the_sidecars_own_variables_and_unusable_values_are_ignored_here(
    caplog: pytest.LogCaptureFixture,
) -> None:
    environment = {"LASTWORD_STDERR_LIMIT": "1KiB", "LASTWORD_RESTART": "on-crash"}
    environment |= {"LASTWORD_EVIDENCE": "wire", "LASTWORD_RETRY": "2"}
    assert from_environment(environment) == Options()
    assert caplog.messages == []
    assert from_environment({"LASTWORD_IDLE_TIMEOUT": "soon"}) == Options()
    (said,) = caplog.messages
    assert said.startswith("Ignoring LASTWORD_IDLE_TIMEOUT: it takes a duration")
    assert said.endswith("not 'soon'.")


@pytest.mark.parametrize(
    ("options", "named", "instead"),
    [
        (Options(retry=2), "retry=2", r"lastword\.retry"),
        (Options(retry_wait_limit_seconds=5), "retry_wait_limit_seconds=5", "max_wait_seconds"),
        (Options(fallback_model="a"), "fallback_model='a'", "call another model"),
        (Options(fallback_stays=True), "fallback_stays=True", "call another model"),
        (Options(restart="on-crash"), "restart='on-crash'", "lastword run"),
        (Options(stderr_limit_bytes=1024), "stderr_limit_bytes=1024", "leave it out"),
        (Options(evidence="wire"), "evidence='wire'", "leave it out"),
    ],
)
def test_a_setting_without_a_meaning_here_is_refused_with_what_to_do(
    options: Options, named: str, instead: str
) -> None:
    with pytest.raises(MisuseError, match=rf"^{named} has no effect on an agent .*{instead}"):
        lastword.guard(object(), options=options)
    with pytest.raises(MisuseError, match=named):
        anyio.run(partial(lastword.run_agent, object(), options=options))
    methods = {"session/new": handler, "session/prompt": handler}
    with pytest.raises(MisuseError, match=named):
        anyio.run(partial(lastword.serve, methods, options=options))
    with pytest.raises(MisuseError, match=named):
        anyio.run(partial(take_turn, methods, options=options))


def test_a_guarded_agent_is_set_and_copied_as_the_agent_itself() -> None:
    class Agent:
        model = "small"

        async def prompt(self) -> str:
            return self.model

    agent = Agent()
    guarded = lastword.guard(agent)
    guarded.model = "large"
    assert (agent.model, anyio.run(guarded.prompt)) == ("large", "large")
    copied = copy.deepcopy(guarded)
    copied.model = "its own"
    assert (agent.model, anyio.run(copied.prompt)) == ("large", "its own")


def test_internal_settings_are_not_the_users() -> None:
    own = {*LinkOptions.__struct_fields__} - {*Options.__struct_fields__}
    assert own - {"notify_content", "zone_of"} == {
        "answers_questions",
        "in_process",
        "implementation",
        "retry_bucket",
        "roll",
    }
    for name in own:
        with pytest.raises(TypeError, match=name):
            Options(**{name: None})  # type: ignore[arg-type]


def test_a_prefix_a_clock_and_secrets_of_the_authors_are_used() -> None:
    settled = complete(Options(incident_prefix="mine-", wall_clock=noon, secrets=("s3cret",)))
    assert (settled.incident_prefix, settled.wall_clock) == ("mine-", noon)
    assert settled.secrets[0] == "s3cret"
    assert settled.in_process
    assert settled.implementation.startswith("lastword/")


def noon() -> datetime:
    return datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_passthrough_is_a_flag() -> None:
    assert passthrough({"LASTWORD_PASSTHROUGH": "TRUE"})
    assert not passthrough({"LASTWORD_PASSTHROUGH": "0"})
    assert not passthrough({})


# --- methods of `serve`


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
        ({"session/load": handler, "session/prompt": handler}, "cannot take a turn$"),
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
