"""What `lastword doctor` says about programs and consoles of Windows."""

from __future__ import annotations

import platform

import pytest

from lastword.kit import doctor
from lastword.kit.doctor import examine_on_windows, windows_format_of


def program_for(machine: int) -> bytes:
    head = bytearray(256)
    head[:2], head[0x3C:0x40] = b"MZ", (128).to_bytes(4, "little")
    head[128:134] = b"PE\0\0" + machine.to_bytes(2, "little")
    return bytes(head)


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (b"\x7fELF", "a program for Linux"),
        (b"\xcf\xfa\xed\xfe", "a program for macOS"),
        (b"#!/usr/bin/env node\n", "reads no #! line"),
        (b"", "is empty"),
        (b"plain text", "not a Windows program"),
        (program_for(0xAA64), "built for arm64, and this machine is amd64"),
    ],
)
def test_a_file_that_windows_cannot_run_is_described(
    head: bytes, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    (finding,) = windows_format_of("agent.exe", head)
    assert sentence in finding.sentence
    assert finding.action


def test_a_program_of_this_machine_or_an_older_one_is_not_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    assert windows_format_of("agent.exe", program_for(0x8664)) == []
    assert windows_format_of("agent.exe", program_for(0x14C)) == []


def test_scripts_of_powershell_and_the_store_s_alias_are_named() -> None:
    (script,) = examine_on_windows("C:/tools/agent.ps1", {})
    assert "powershell -NoProfile -File" in str(script.action)
    (alias,) = examine_on_windows("C:/Users/a/AppData/Local/Microsoft/WindowsApps/python3.exe", {})
    assert "App execution aliases" in str(alias.action)
    assert examine_on_windows("C:/tools/npx.cmd", {}) == []


def test_the_console_s_code_page_and_long_paths_are_findings_of_windows_alone() -> None:
    console = doctor._console
    assert console(None, allows_long=None) == []
    assert console(65001, allows_long=True) == []
    page, paths = console(1252, allows_long=False)
    assert "code page is 1252" in page.sentence
    assert "LongPathsEnabled" in str(paths.action)
