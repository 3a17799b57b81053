"""Exceptions as the newest packages really raise them, each with its type, retry and wait."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.kit.installs import require_packages
from tests.kit.places import ROOT, SOURCE
from tests.kit.programs import run_program

pytestmark = pytest.mark.matrix

Expected = tuple[str, bool, int | None]

EXPECTED: dict[str, Expected] = {
    "openai limit": ("rate_limit", True, 20),
    "openai quota": ("budget", False, None),
    "openai key": ("auth", False, None),
    "openai overflow": ("context_overflow", False, None),
    "openai down": ("provider_unavailable", True, 5),
    "openai model": ("model_not_found", False, None),
    "openai timeout": ("timeout", True, None),
    "openai refused": ("network", True, None),
    "openai cut": ("network", True, None),
    "anthropic limit": ("rate_limit", True, 31),
    "anthropic overloaded": ("provider_unavailable", True, None),
    "anthropic credit": ("budget", False, None),
    "anthropic in stream": ("provider_unavailable", True, None),
    "google limit": ("rate_limit", True, 18),
    "google key": ("auth", False, None),
    "mistral limit": ("rate_limit", True, 9),
    "mistral key": ("auth", False, None),
    "botocore throttled": ("rate_limit", True, None),
    "botocore overflow": ("context_overflow", False, None),
    "botocore expired": ("auth", False, None),
    "botocore refused": ("network", True, None),
    "httpx status": ("provider_unavailable", True, 5),
    "httpx refused": ("network", True, None),
    "httpx timeout": ("timeout", True, None),
    "httpx dropped": ("network", True, None),
    "httpx cut": ("network", True, None),
    "httpx no url": ("invalid_request", False, None),
    "requests status": ("rate_limit", True, 20),
    "requests refused": ("network", True, None),
    "requests timeout": ("timeout", True, None),
    "requests cut": ("network", True, None),
    "requests not json": ("protocol_error", False, None),
    "aiohttp status": ("rate_limit", True, 20),
    "aiohttp refused": ("network", True, None),
    "aiohttp timeout": ("timeout", True, None),
    "aiohttp dropped": ("network", True, None),
    "aiohttp cut": ("network", True, None),
    "litellm limit": ("rate_limit", True, 20),
    "litellm key": ("auth", False, None),
    "litellm overflow": ("context_overflow", False, None),
    "litellm quota": ("budget", False, None),
    "litellm down": ("provider_unavailable", True, 5),
    "litellm timeout": ("timeout", True, None),
    "pydantic-ai limit": ("rate_limit", True, 20),
    "pydantic-ai overflow": ("context_overflow", False, None),
    "ollama model": ("model_not_found", False, None),
    "ollama refused": ("network", True, None),
}
"""Case -> type, whether a retry can help, and the wait in seconds."""


@pytest.fixture(scope="module")
def raised() -> dict[str, dict[str, Any]]:
    python = require_packages(Path(__file__).resolve().parent)
    done = run_program(
        [str(python), "-m", f"{__package__}.raise_all"],
        check=False,
        timeout=120.0,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(SOURCE)))},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # A package may print words of its own in between.
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    return {line["case"]: line for line in lines}


def test_a_real_exception_gets_its_type_retryability_and_wait(
    raised: dict[str, dict[str, Any]],
) -> None:
    assert [case for case, line in raised.items() if "type" not in line] == []
    got = {
        case: (line["type"], line["retryable"], line.get("retry_after_seconds"))
        for case, line in raised.items()
    }
    assert got == EXPECTED
    # With nothing back yet a retry that helps is also safe.
    for case, line in raised.items():
        assert line["retry_safety"] == ("auto" if line["retryable"] else "never"), case
        assert line["phase"] == "before_output", case
