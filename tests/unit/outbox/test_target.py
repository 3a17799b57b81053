"""Targets: which addresses and credentials are understood, and where credentials never go."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from lastword.core.link.option_table import BY_KEY
from lastword.outbox.report import (
    TargetError,
    TargetOptions,
    target_of,
    target_options,
    target_options_in,
)
from tests.kit.reports_made import a_target
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

OPTION = BY_KEY["report_to"]


@pytest.mark.parametrize(
    ("url", "form", "whole"),
    [
        ("http://collector:4318", "otlp", "http://collector:4318/v1/logs"),
        ("https://Collector.example/", "otlp", "https://collector.example/v1/logs"),
        ("https://c.example/otlp/v1/logs", "otlp", "https://c.example/otlp/v1/logs"),
        ("https://c.example", "webhook", "https://c.example/"),
        ("https://c.example/hook?a=b", "webhook", "https://c.example/hook?a=b"),
        ("http://[::1]:4318", "otlp", "http://[::1]:4318/v1/logs"),
        ("http://u:p@c.example", "otlp", "http://c.example/v1/logs"),
    ],
)
def test_an_address_is_completed_and_has_no_credentials(url: str, form: str, whole: str) -> None:
    assert OPTION.read(url) == url
    assert a_target(url, form).url == whole


@every(
    "url",
    [
        *("collector:4318", "ftp://c", "http://", "http:///path", "https://:4318", "//c", "http:c"),
        *("http://c:0", "http://c:65536", "http://c:x", "http://c:", "http://c:²", "http://[]"),
        *("http://a b", "http://c\n", "http://c/\x00", "http://c#x", "http://::1", "http://u:p@"),
        "http://c:" + "9" * 5000,
    ],
)
def test_an_invalid_address_is_refused_before_anything_starts(url: str) -> None:
    assert OPTION.read(url) is None


def test_an_empty_address_switches_off_and_is_no_target() -> None:
    assert OPTION.read("") == ""
    assert target_options({"report_to": ""}) == TargetOptions()
    for unchecked in ("", "http://[half", "http://c:99999", "file:///etc"):
        with pytest.raises(TargetError):
            target_of(TargetOptions(unchecked), {})


def test_the_environment_has_the_variables_of_the_options() -> None:
    assert target_options_in({}) == TargetOptions()
    assert target_options_in(
        {"LASTWORD_REPORT_TO": "http://c", "LASTWORD_REPORT_FORMAT": "webhook"}
    ) == (TargetOptions("http://c", "webhook"))
    for variable in ("LASTWORD_REPORT_TO", "LASTWORD_REPORT_FORMAT"):
        with pytest.raises(TargetError, match=variable):
            target_options_in({variable: "nowhere"})


def test_a_login_in_the_address_becomes_a_header() -> None:
    target = a_target("https://ada:p%40ss@c.example")
    assert target.headers == {"authorization": "Basic " + base64.b64encode(b"ada:p@ss").decode()}
    assert "p@ss" not in repr(target)
    assert "p%40ss" not in repr(target)


def test_rotated_credentials_are_the_same_target_and_another_path_is_another() -> None:
    first, second = a_target("https://a:1@c.example"), a_target("https://a:2@c.example?key=3")
    assert first.key == second.key
    assert first.key != a_target("https://c.example/other").key
    assert first.key != a_target("https://c.example/v1/logs", "webhook").key


def test_headers_are_read_as_otlps_exporters_read_them() -> None:
    target = a_target(LASTWORD_REPORT_HEADERS="Authorization=Bearer%20t=t, x-team = a%2Cb ,")
    assert target.headers == {"authorization": "Bearer t=t", "x-team": "a,b"}


def test_headers_can_be_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text("authorization=Bearer one\n")
    target = a_target(LASTWORD_REPORT_HEADERS=f"@{tmp_path / 'headers'}")
    assert target.headers == {"authorization": "Bearer one"}
    with pytest.raises(TargetError, match="cannot be read"):
        a_target(LASTWORD_REPORT_HEADERS=f"@{tmp_path / 'none'}")
    (tmp_path / "headers").write_bytes(b"a=\xff")
    with pytest.raises(TargetError, match="not text"):
        a_target(LASTWORD_REPORT_HEADERS=f"@{tmp_path / 'headers'}")


@pytest.mark.parametrize("text", ["no-mark", "a b=c", "a=b%0d%0ax:y", "=x", "a=ü", "a%0ab=c"])
def test_invalid_headers_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        a_target(LASTWORD_REPORT_HEADERS=text)
    assert text not in str(caught.value)


def test_otlps_headers_are_sent_only_to_otlps_endpoint() -> None:
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=k"}
    there = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://Vendor.example:443/otlp"}
    assert a_target("https://c.example", **headers).headers == {"api-key": "k"}
    assert a_target("https://c.example", **headers, **there).headers == {}
    assert a_target("https://vendor.example:443", **headers, **there).headers == {"api-key": "k"}
    assert a_target("https://vendor.example:443", "webhook", **headers, **there).headers == {}
    broken = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[half"}
    assert a_target("https://c.example", **headers, **broken).headers == {}


def test_a_secret_is_read_from_its_file_or_the_environment(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine\n")
    wish = TargetOptions("https://c.example", "webhook", str(tmp_path / "secret"))
    assert target_of(wish, {"LASTWORD_REPORT_SECRET": "other"}).secret == b"mine"
    assert a_target(LASTWORD_REPORT_SECRET="other").secret == b"other"
    with pytest.raises(TargetError, match="cannot be read"):
        target_of(TargetOptions("https://c.example", "webhook", str(tmp_path)), {})
