"""The shapes of services' keys: what is made of a list of rules, and what each pattern may be."""

from __future__ import annotations

import base64
import random
import re
import re._constants as sre
import re._parser as parser
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import service_keys
from lastword.core.redact import service_keys as table
from lastword.core.redact.redactor import MAX_TEXT_CHARS, redact_text
from lastword.core.redact.shapes import ASSIGNED_SHAPES, CARRIERS, KEY_SHAPES, SERVICE_KEYS, SHAPES
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = (*CARRIERS, *SHAPES, *KEY_SHAPES, *SERVICE_KEYS, *ASSIGNED_SHAPES)

FEW_HONEST = service_keys.HONEST[:10] + service_keys.HONEST[10::6]
"""Every short text that looks like a secret, and of the sixty long ones each sixth."""

CONTEXT = r"""(?i)[\w.-]{0,50}?(?:acme)(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
CONTEXT += r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(%s)(?:[\x60'"\s;]|\\[nr]|$)"""


def made_of(regex: str, **members: str) -> tuple[list[Any], list[Any], dict[str, list[str]]]:
    """What the maker gives for one rule."""
    rule = {"id": "acme", "regex": regex} | members
    lines = [f"{name} = '''{value}'''" for name, value in rule.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service_keys, "HONEST", FEW_HONEST)
        return service_keys.rows_of("[[rules]]\nkeywords = ['acme']\n" + "\n".join(lines))


@every(
    ("go", "python"),
    [
        (r"""\b(acme_[a-z0-9]{32})(?:[\x60'"\s;]|\\[nr]|$)""", r"acme_[a-z0-9]{20,}"),
        (r"acme_(?i)[a-z]{40}", r"acme_(?i:[a-z]{20,})"),
        (r"(?i)\b(acme_(?P<name>x|y)[[:alnum:]]{14})\b", r"(?i:(?:acme_(?:x|y)[A-Za-z0-9]{14,}))"),
        (r"acme-[0-9]{12}-(test|live)", r"acme-[0-9]{12}-(?:test|live)"),
        (CONTEXT % "ACME-[a-z0-9]{20}", r"(?i:ACME-[a-z0-9]{20,})"),
    ],
)
def test_a_go_pattern_becomes_a_python_pattern(go: str, python: str) -> None:
    keys, assigned, unused = made_of(go)
    assert [row.pattern for row in keys] == [python]
    assert (assigned, unused) == ([], {})
    # A value without a distinctive prefix needs the service's name.
    assert made_of(CONTEXT % "[a-z0-9]{32}") == ([], [(("acme",), "[a-z0-9]{32}")], {})


@pytest.mark.parametrize(
    ("go", "members", "reason"),
    [
        (CONTEXT % "[a-f0-9]{32}", {}, "hex"),
        (r"\b([a-f0-9]{40})\b", {}, "honest"),
        (r"\b([a-z_]{40,})\b", {}, "honest"),
        (r"ghp_[0-9a-zA-Z]{36}", {}, "rule of our own"),
        (r"\b(acme_[a-z]{3})\b", {}, "long enough"),
        (r"acme_[a-z]{40}", {"path": r"\.php$"}, "one kind of file"),
        (r"acme_[a-z]{40}\C", {}, "translated"),
        (r"\b([A-Z]{3}~[0-9]~[A-Z]{30})\b", {}, "fixed characters"),
    ],
)
def test_an_unusable_rule_is_left_out_with_its_reason(
    go: str, members: dict[str, str], reason: str
) -> None:
    keys, assigned, unused = made_of(go, **members)
    assert (keys, assigned) == ([], [])
    ((why, ids),) = unused.items()
    assert reason in why
    assert ids == ["acme"]


def test_the_table_names_its_source_and_its_licence() -> None:
    text = service_keys.TABLE.read_text(encoding="utf-8")
    for part in ("gitleaks", "commit ", "SHA-256 ", "Copyright (c) 2019", "Permission is hereby"):
        assert part in text
    assert len(table.KEYS.split("\n")) > 70


@pytest.mark.no_cover
@every("shape", SERVICE_KEYS)
def test_every_key_of_the_table_disappears_from_a_sentence(shape: Any) -> None:
    inner = shape.source[len(service_keys.key_source("").split("(?:)")[0]) :]
    if "(?=" in inner:
        return
    for text in service_keys.examples(inner.removesuffix(r"[\w~-]*+=*+"))[:6]:
        assert text not in redact_text(f"bad key '{text}', sorry")


def _pictures() -> Iterator[str]:
    """Real PNGs, small, with much of one colour."""
    for seed in range(0, 60, 3):
        dice = random.Random(seed)
        row = b"\0" + bytes(dice.choice((0, 0, 0, dice.randrange(256))) for _ in range(96))
        pixels = zlib.compress(row * 8 + dice.randbytes(seed * 40), level=seed % 10)
        parts = ((b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)), (b"IDAT", pixels))
        data = b"\x89PNG\r\n\x1a\n"
        for name, body in parts:
            data += struct.pack(">I", len(body)) + name + body
            data += struct.pack(">I", zlib.crc32(name + body))
        yield base64.b64encode(data).decode()[: MAX_TEXT_CHARS - 200]


def test_pictures_hashes_and_ids_stay() -> None:
    for picture in _pictures():
        for text in (f"data:image/png;base64,{picture}", re.sub("(.{76})", r"\1\n", picture)):
            assert redact_text(text) == text
    for text in FEW_HONEST:
        assert redact_text(text[:8000]) == text[:8000]
    for text in (
        "heroku[router]: request_id=550e8400-e29b-41d4-a716-446655440000",
        "sentry: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "dropbox: synchronization of jira: implementation",
        "keyboard_layout_settings_v2_something fallback-model-claude-sonnet-4-5",
        "npm_config_user_agent_v2_long npm_package_devDependencies_x1",
    ):
        assert redact_text(text) == text


def _nested(items: Any, *, inside: bool = False) -> bool:
    """Whether a repetition without a bound stands within another that varies."""
    for code, value in items:
        if code in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            low, high, inner = value
            if inside and high is sre.MAXREPEAT and code is not sre.POSSESSIVE_REPEAT:
                return True
            if _nested(inner, inside=inside or (low != high and high > 8)):
                return True
        elif code is sre.SUBPATTERN:
            if _nested(value[3], inside=inside):
                return True
        elif code is sre.BRANCH and any(_nested(each, inside=inside) for each in value[1]):
            return True
    return False


@every("shape", ALL)
def test_patterns_contain_no_nested_unbounded_repeats(shape: Any) -> None:
    assert not _nested(parser.parse(shape.source, shape.flags))
