"""A bug in lastword's own link, which a client's word sets off, in every process of a gateway."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.kit.places import ROOT, SOURCE

if TYPE_CHECKING:
    from pathlib import Path

WORD = "set-off-the-bug"

_SITE = f"""
from lastword.sidecar.loop import Relay

_from_client = Relay.from_client

def from_client(self, block, now):
    if b"{WORD}" in block:
        raise RuntimeError("a bug")
    _from_client(self, block, now)

Relay.from_client = from_client
"""


def with_link_bug(folder: Path) -> dict[str, str]:
    """Return the variables of an environment in which a prompt with `WORD` is too much."""
    return with_site(folder, _SITE)


def with_site(folder: Path, code: str) -> dict[str, str]:
    """Return the variables by which every Python begins with this code."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join((str(site), str(SOURCE), str(ROOT)))}
