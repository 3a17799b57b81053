"""The command that installs an extra: the way in which lastword was installed, and its origin."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword import _installation
from lastword._installation import command_for
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = {"url": "file:///home/me/last%20word", "dir_info": {}}
EDITABLE = {"url": "file:///home/me/lastword", "dir_info": {"editable": True}}
WHEEL = {"url": "file:///tmp/lastword-1-py3-none-any.whl", "archive_info": {}}
GIT = {"url": "https://host/lastword", "vcs_info": {"vcs": "git", "commit_id": "0123"}}
TAG = GIT | {"vcs_info": {"vcs": "git", "commit_id": "0123", "requested_revision": "v1"}}
INDEX: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is not active, with a Python of its own."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/env/bin/python")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return tmp_path


def installed(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any], installer: str = "pip"
) -> None:
    """Let the metadata of lastword's distribution say so."""
    texts = {"direct_url.json": json.dumps(origin) if origin else "", "METADATA": "Name: lastword"}
    texts["INSTALLER"] = installer
    monkeypatch.setattr(_installation, "_text", lambda name: texts.get(name, ""))


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        (FOLDER, "'/home/me/last word[acp]'"),
        (EDITABLE, "-e '/home/me/lastword[acp]'"),
        (WHEEL, "'lastword[acp] @ file:///tmp/lastword-1-py3-none-any.whl'"),
        (GIT, "'lastword[acp] @ git+https://host/lastword@0123'"),
        (TAG, "'lastword[acp] @ git+https://host/lastword@v1'"),
        (INDEX, "'lastword[acp]'"),
    ],
)
def test_an_extra_is_installed_from_lastwords_own_source(
    origin: dict[str, Any], source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, origin)
    assert command_for("acp") == f"/env/bin/python -m pip install {source}"


def test_the_command_is_of_the_installer_and_names_this_environments_python_unless_it_is_active(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, EDITABLE, "uv")
    expected = "uv pip install --python /env/bin/python -e '/home/me/lastword[yaml]'"
    assert command_for("yaml") == expected
    monkeypatch.setenv("VIRTUAL_ENV", str(prefix))
    assert command_for("yaml") == "uv pip install -e '/home/me/lastword[yaml]'"
    installed(monkeypatch, EDITABLE)
    assert command_for("yaml") == "pip install -e '/home/me/lastword[yaml]'"
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.setattr(_installation.util, "find_spec", lambda _: None)
    assert command_for("yaml") == expected, "it has no pip"


def test_what_the_system_manages_needs_an_option_or_its_package_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, INDEX, "debian")
    said = command_for("gateway")
    assert said.startswith("the package manager that installed lastword, with ")
    assert "starlette<2,>=1" in said
    assert "uvicorn" in said
    assert "pip" not in said
    installed(monkeypatch, FOLDER)
    (tmp_path / "EXTERNALLY-MANAGED").write_text("")
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    monkeypatch.setattr(_installation.sysconfig, "get_path", lambda _: str(tmp_path))
    assert "install --break-system-packages '/home/me" in command_for("acp")


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ('[{ name = "lastword" }]', "uv tool install --force '/home/me/last word[yaml]'"),
        (
            '[{ name = "lastword", extras = ["acp", "yaml"] }]',
            "uv tool install --force '/home/me/last word[acp,yaml]'",
        ),
        (
            '[{ name = "other" }, { name = "lastword" }]',
            "uv pip install --python /env/bin/python '/home/me/last word[yaml]'",
        ),
        ('"nothing"', "/env/bin/python -m pip install '/home/me/last word[yaml]'"),
    ],
)
def test_a_tool_of_uv_keeps_the_extras_that_it_has(
    receipt: str, command: str, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, FOLDER)
    (prefix / "uv-receipt.toml").write_text(f"[tool]\nrequirements = {receipt}\n")
    assert command_for("yaml") == command


@pytest.mark.parametrize(
    ("package", "given", "command"),
    [
        ("lastword", "/x", "install --force '/home/me/last word[yaml]'"),
        ("lastword", "/x[acp, otel]", "install --force '/home/me/last word[acp,otel,yaml]'"),
        ("lastword", "lastword[a] @ file:/x", "install --force '/home/me/last word[a,yaml]'"),
        ("other", "other", "inject other '/home/me/last word[yaml]'"),
    ],
)
def test_a_package_of_pipx_keeps_the_extras_that_it_has(
    package: str, given: str, command: str, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, FOLDER)
    main = {"package": package, "package_or_url": given}
    (prefix / "pipx_metadata.json").write_text(json.dumps({"main_package": main}))
    assert command_for("yaml") == f"pipx {command}"


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_an_unreadable_installer_file_is_ignored(
    text: str, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"INSTALLER": "pip", "METADATA": "Name: lastword", "direct_url.json": text}
    monkeypatch.setattr(_installation, "_text", lambda name: known[name])
    for name in ("uv-receipt.toml", "pipx_metadata.json"):
        (prefix / name).write_text(text)
    assert command_for("acp") == "/env/bin/python -m pip install 'lastword[acp]'"


def test_a_clone_that_is_not_installed_is_installed_from_its_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_installation, "_text", lambda _: "")
    assert command_for("acp") == f"/env/bin/python -m pip install -e '{ROOT}[acp]'"
