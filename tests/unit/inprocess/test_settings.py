"""What the environment sets about an agent in this process, and what it cannot."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import anyio
import pytest

import lastword
from lastword import Options
from lastword.core.link.options import LinkOptions
from lastword.errors import MisuseError
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


async def handler(client: object) -> None:
    """Stand for a handler that is never called."""


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
