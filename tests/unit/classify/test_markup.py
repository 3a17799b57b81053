"""A page is read as a person reads it: tags, attributes, scripts and styles are no words of it."""

from __future__ import annotations

import pytest

from lastword.core.classify import classify_text
from lastword.core.classify.gather import MAX_PAGE_CHARS, readable
from tests.kit.growth import costs_its_length
from tests.kit.rows import every

PAGE = (
    "<!DOCTYPE html><html><head><meta http-equiv='Content-Type' content='text/html'>"
    "<title>api.example | {title}</title><style>.timeout {{}}</style>"
    "<script>var reason = 'TLS timeout';</script></head><body><h1>{title}</h1></body></html>"
)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("520: Web server is returning an unknown error", "provider_unavailable"),
        ("503: Service Temporarily Unavailable", "provider_unavailable"),
        ("504: Gateway time-out", "timeout"),
        ("429: Too Many Requests", "rate_limit"),
    ],
)
def test_the_title_and_its_status_count_and_no_attribute_does(title: str, kind: str) -> None:
    verdict = classify_text(f"API Error: {PAGE.format(title=title)}")
    assert (verdict.type, verdict.retryable, verdict.http_status) == (kind, True, int(title[:3]))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a < b and <c> d", "a < b and <c> d"),
        ("Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",) * 2,
        ("<title>403</title>403 Forbidden &amp; more", "403\n403 Forbidden & more"),
        ("<html><body>cut in <a href='x", "cut in"),
        ("<html><style>never closed", ""),
        ("<html><style>x</style>y<style>z</style>", "y"),
        ("<html>\u0130<style>x</style></html>", "\u0130\nx"),
        ("<html><!-- a comment --><hr>seen</html>", "seen"),
    ],
)
def test_a_text_that_is_not_a_page_stays_and_a_page_becomes_its_text(text: str, read: str) -> None:
    assert readable(text) == read


@every("unit", ["<script>", "<a", "<!--", "&amp;", "<html><", "<meta "])
def test_a_page_of_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    page = "<html>" + unit * (1_000_000 // len(unit))
    assert len(readable(page)) <= MAX_PAGE_CHARS + 8192
    assert costs_its_length(readable, page)
