"""The next version of lastword, as far as a fleet sees it: what it sends has members unknown here.

Owns the variables of an environment whose processes are of it: the next version of the line
protocol, and a member more in every control line and every record.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.kit.places import ROOT, SOURCE

if TYPE_CHECKING:
    from pathlib import Path

_SITE = """
import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.records import Records

_control = wire.control

def control(word, **facts):
    return _control(word, **facts, of_the_next_version={"more": 1})

def encode(self, bucket, name, record):
    members = msgspec.to_builtins(record) | {"of_the_next_version": [1]}
    content = msgspec.json.encode(members)
    code = self._code(bucket, name, content)
    return msgspec.json.encode({"code": code, "record": msgspec.Raw(content)})

wire.VERSION += 1
wire.control = control
Records.encode = encode
"""


def with_newer_version(folder: Path) -> dict[str, str]:
    """Return the variables of an environment whose processes are of the next version."""
    site = folder / "newer"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join((str(site), str(SOURCE), str(ROOT)))}
