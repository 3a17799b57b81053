"""What the options name: an address, a form, a secret, events; and what is refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from lastword.notify.http import HttpTarget, target_of
from lastword.notify.notification import USUAL, NotifiedEvent, NotifyError, settings_of

if TYPE_CHECKING:
    from pathlib import Path


def named(url: str, **more: object) -> HttpTarget:
    return target_of(settings_of({"notify": url} | more))


def test_an_ntfy_address_is_published_to_at_its_servers_root() -> None:
    made = named("ntfy://ntfy.example/my-topic")
    assert (made.target.url, made.topic) == ("https://ntfy.example/", "my-topic")
    local = named("http://127.0.0.1:8080/my-topic", notify_format="ntfy")
    assert (local.target.url, local.topic) == ("http://127.0.0.1:8080/", "my-topic")


@pytest.mark.parametrize("path", ["", "/", "/a/b", "/my topic", "/ü", "/" + "a" * 65])
def test_ntfy_without_one_topic_is_refused(path: str) -> None:
    with pytest.raises(NotifyError, match="takes a server and a topic"):
        named(f"ntfy://ntfy.example{path}")


def test_credentials_become_headers_and_are_never_in_the_address() -> None:
    made = named("https://me:word@hook.example/x?y=1")
    assert made.target.url == "https://hook.example/x?y=1"
    assert made.target.headers == {"authorization": "Basic bWU6d29yZA=="}
    assert "word" not in repr(made.target)


def test_ntfys_token_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tk_abc\n")
    file = str(tmp_path / "token")
    made = named("ntfy://ntfy.example/t", notify_secret_file=file)
    assert made.target.headers == {"authorization": "Bearer tk_abc"}
    hook = named("https://hook.example", notify_secret_file=file)
    assert (hook.target.secret, hook.target.headers) == (b"tk_abc", {})


@pytest.mark.parametrize("text", ["tk abc", "tök", "a\nb"])
def test_a_token_that_no_header_can_have_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(NotifyError, match="does not have a token") as refused:
        named("ntfy://ntfy.example/t", notify_secret_file=str(tmp_path / "token"))
    assert text not in str(refused.value)


@pytest.mark.parametrize("option", ["notify_secret_file", "notify_template"])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(NotifyError, match="cannot be read"):
        named("https://hook.example", **{option: str(tmp_path / "none")})


@pytest.mark.parametrize("option", ["notify_secret_file", "notify_template"])
def test_a_pipe_is_refused_rather_than_read_twice(tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotifyError, match="is not a regular file"):
        named("https://hook.example", **{option: str(tmp_path / "pipe")})


@pytest.mark.parametrize(
    ("text", "problem"), [("[" * 60_000, "nested too deeply"), ("x" * 70_000, "more than 64 KiB")]
)
def test_a_template_that_is_too_deep_or_too_long_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "template").write_text(text)
    with pytest.raises(NotifyError, match=problem):
        named("https://hook.example", notify_template=str(tmp_path / "template"))


def test_a_template_is_for_webhooks_alone(tmp_path: Path) -> None:
    (tmp_path / "template").write_text("{title}")
    with pytest.raises(NotifyError, match="has its own format"):
        named("ntfy://ntfy.example/t", notify_template=str(tmp_path / "template"))


@pytest.mark.parametrize("url", ["ftp://x", "https://", "https://[", "//x", "x"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(NotifyError, match="--notify"):
        named(url)


def test_events_are_listed_and_an_unknown_word_is_refused() -> None:
    assert settings_of({}).events == USUAL
    assert settings_of({"notify_events": "ended, ask"}).events == (
        NotifiedEvent.ENDED,
        NotifiedEvent.ASK,
    )
    with pytest.raises(NotifyError, match="has no 'asks': it takes ask, failed"):
        settings_of({"notify_events": "ask,asks"})
