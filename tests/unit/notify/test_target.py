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
    made = named("ntfy://me:word@ntfy.example/my-topic")
    assert (made.target.url, made.topic) == ("https://ntfy.example/", "my-topic")
    assert made.target.headers == {"authorization": "Basic bWU6d29yZA=="}
    local = named("http://127.0.0.1:8080/my-topic", notify_format="ntfy")
    assert (local.target.url, local.topic) == ("http://127.0.0.1:8080/", "my-topic")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_ntfys_token_comes_from_a_file(tmp_path: Path, encoding: str) -> None:
    # Windows' editors and shells put a mark before a text.
    (tmp_path / "token").write_text("tk_abc\n", encoding=encoding)
    file = str(tmp_path / "token")
    made = named("ntfy://ntfy.example/t", notify_secret_file=file)
    assert made.target.headers == {"authorization": "Bearer tk_abc"}
    hook = named("https://hook.example", notify_secret_file=file)
    assert (hook.target.secret, hook.target.headers) == (b"tk_abc", {})


NTFY, HOOK = "ntfy://ntfy.example/t", "https://hook.example"


@pytest.mark.parametrize(
    ("url", "option", "text", "problem"),
    [
        *((url, "", "", "--notify") for url in ("ftp://x", "https://", "https://[", "//x")),
        *(
            (f"ntfy://ntfy.example{path}", "", "", "takes a server and a topic")
            for path in ("", "/a/b", "/ü", "/" + "a" * 65)
        ),
        (NTFY, "notify_secret_file", "tk abc", "does not have a token"),
        (NTFY, "notify_secret_file", "a\nb", "does not have a token"),
        *((url, "notify_secret_file", " \n", "is empty") for url in (NTFY, HOOK)),
        (HOOK, "notify_template", "", "is empty"),
        (NTFY, "notify_template", "{title}", "has its own format"),
        (HOOK, "notify_template", "[" * 60_000, "nested too deeply"),
        (HOOK, "notify_template", "x" * 70_000, "more than 64 KiB"),
    ],
)
def test_what_cannot_be_used_is_refused_and_no_secret_repeated(
    tmp_path: Path, url: str, option: str, text: str, problem: str
) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(NotifyError, match=problem) as refused:
        named(url, **({option: str(file)} if option else {}))
    assert "tk abc" not in str(refused.value)


@pytest.mark.parametrize("option", ["notify_secret_file", "notify_template"])
def test_only_a_regular_file_is_read(tmp_path: Path, option: str) -> None:
    with pytest.raises(NotifyError, match="cannot be read"):
        named(HOOK, **{option: str(tmp_path / "none")})
    os.mkfifo(tmp_path / "pipe")  # what is read twice
    with pytest.raises(NotifyError, match="is not a regular file"):
        named(HOOK, **{option: str(tmp_path / "pipe")})


def test_events_are_listed_and_an_unknown_word_is_refused() -> None:
    assert settings_of({}).events == USUAL
    assert settings_of({"notify_events": "ended, ask"}).events == (
        NotifiedEvent.ENDED,
        NotifiedEvent.ASK,
    )
    with pytest.raises(NotifyError, match="has no 'asks': it takes ask, failed"):
        settings_of({"notify_events": "ask,asks"})
