"""The run folder where TMPDIR is long, as macOS has it."""

from __future__ import annotations

import os
import sys
import tempfile

import pytest

from lastword.errors import StoreError
from lastword.gateway.front.folders import run_folder_of

TMPDIR = "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T"
LONG = "/Users/" + "n" * 60 + "/.local/state/lastword"


def test_a_long_state_folder_and_macos_tmpdir_leave_a_folder_in_tmp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: TMPDIR)
    monkeypatch.setattr(sys, "platform", "darwin")
    folder = run_folder_of(LONG, 7780)
    assert folder.startswith(f"/tmp/lastword-{os.getuid()}/7780-")
    assert len(f"{folder}/") + 37 <= 103


def test_the_refusal_on_other_systems_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: TMPDIR)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(StoreError, match="set XDG_RUNTIME_DIR to a shorter folder"):
        run_folder_of(LONG, 7780)
