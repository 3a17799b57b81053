"""The library that the page reads Markdown with, as npm has it: a copy of it for the package.

Owns what is copied, and the file that says what it is. Versions and hashes are those of
`package-lock.json`. `python -m tests.interop.page.library --write` renews the copy.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from lastword.web.files import LIBRARY
from tests.kit.installs import require_node_packages

HERE = Path(__file__).resolve().parent
NAME = "markdown-it"
SCRIPT = "dist/browser/markdown-it.esm.min.mjs"
WITHIN = ("entities", "linkify-it", "mdurl", "punycode.js", "uc.micro")
"""The packages of which a part is in the script; its command line needs another."""


def library() -> dict[str, bytes]:
    packages = require_node_packages(HERE)
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    script = (packages / NAME / SCRIPT).read_bytes()
    parts = [_about(locked, name) for name in (NAME, *WITHIN)]
    about = {
        "file": f"{NAME}.js",
        "sha256": hashlib.sha256(script).hexdigest(),
        "from": f"{SCRIPT} of {NAME} {parts[0]['version']}, unchanged",
        "packages": parts,
    }
    return {
        f"{NAME}.js": script,
        "licenses.txt": _licenses(packages, parts).encode(),
        "library.json": (json.dumps(about, indent=2) + "\n").encode(),
    }


def _about(locked: dict[str, Any], name: str) -> dict[str, str]:
    known = locked[f"node_modules/{name}"]
    return {"name": name} | {key: known[key] for key in ("version", "license", "integrity")}


def _licenses(packages: Path, parts: list[dict[str, str]]) -> str:
    texts = []
    for part in parts:
        [path] = (packages / part["name"]).glob("LICENSE*")
        head = f"{part['name']} {part['version']} ({part['license']})"
        texts.append(f"{head}\n{'=' * len(head)}\n\n{path.read_text(encoding='utf-8').strip()}\n")
    return "\n\n".join(texts)


def main(arguments: list[str]) -> int:
    """Compare the copy, or renew it; gives the exit status."""
    found = library()
    if arguments == ["--write"]:
        for name, content in found.items():
            (LIBRARY / name).write_bytes(content)
        return 0
    stale = [name for name, content in found.items() if (LIBRARY / name).read_bytes() != content]
    print("\n".join(f"{name} is not what npm has" for name in stale) or "The copy is what npm has.")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
