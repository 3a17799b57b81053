"""The site's build: what stands elsewhere in the repository becomes a page of it.

Owns which files outside `docs/` are pages, and what a link between files of the repository is on
the site. MkDocs calls these functions; `.mkdocs.yml` names this file.
"""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent

PAGES = {
    "protocol/README.md": "protocol/index.md",
    "protocol/gateway.md": "protocol/gateway.md",
    "protocol/CLIENTS.md": "protocol/clients.md",
    "protocol/AGENTS.md": "protocol/agents.md",
    "protocol/rfd/turn-failures.md": "protocol/turn-failures.md",
    "protocol/vectors/README.md": "protocol/vectors.md",
    "protocol/reading/README.md": "protocol/reading.md",
    "protocol/reconnect/README.md": "protocol/reconnect.md",
    "protocol/failures/README.md": "protocol/failures.md",
    "protocol/rust/README.md": "protocol/rust.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "tests/README.md": "project/testing.md",
    "tests/interop/README.md": "project/faults.md",
    "examples/gateway/README.md": "project/gateway-example.md",
    "examples/fleet/README.md": "project/fleet-example.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Files of the repository that are pages, and where they stand on the site."""

ORIGINS = {page: path for path, page in PAGES.items()}
OFF_THE_NAVIGATION = {
    *("project/faults.md", "project/gateway-example.md", "project/fleet-example.md"),
}
COPIES = "files"
"""The folder of the site with the files that a page links to and that are not pages."""

_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1[`~]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*\])\((?P<target>[^()\s]+)\)")
_TABLE = re.compile(r"^<!-- table: (?P<file>\S+) (?P<name>\S+) -->$", re.MULTILINE)
_REQUIREMENTS = re.compile(r"^<!-- requirements: (\S+) to (\S+) -->$", re.MULTILINE)
_FOREIGN = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc(?:set)?=[\"']?(?:https?:)?//[^>]*>"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|icon|preload))"
    r"(?=[^>]*\bhref=[\"']?(?:https?:)?//)[^>]*>"
    r"|class=[\"']?mermaid\b"  # whose drawing the theme loads from elsewhere
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every page of an editor into the navigation."""
    found = sorted((ROOT / "docs" / "editors").glob("*.md"))
    pages = sorted(found, key=lambda page: (page.name != "index.md", page.name))
    editors = [f"editors/{page.name}" for page in pages]
    nav = [{**item} for item in config.nav or []]
    for item in nav:
        if "Editors" in item:
            item["Editors"] = editors
    config.nav = [item for item in nav if item != {"Editors": []}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand elsewhere in the repository."""
    for path, page in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        file = File.generated(config, page, content=text)
        if page in OFF_THE_NAVIGATION:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Take in tables and requirements from files; turn links to files into links to pages."""
    here = page.file.src_uri
    origin = ORIGINS.get(here, f"docs/{here}")
    if re.fullmatch(r"agents/(?!index)[\w-]+\.md", here):
        markdown += measured(here.removeprefix("agents/").removesuffix(".md"))
    markdown = _TABLE.sub(lambda found: table(found["file"], found["name"]), markdown)
    markdown = _REQUIREMENTS.sub(lambda found: requirements(found[1], found[2]), markdown)

    def rewritten(link: re.Match[str]) -> str:
        target = _site_target(link["target"], origin, config, files)
        if target is None:
            return link["text"].strip("![]")
        if urlsplit(target).scheme:
            return link[0]  # a path's rules would make one slash of its two
        base, mark, anchor = target.partition("#")
        if base:
            base = posixpath.relpath(base, posixpath.dirname(here) or ".")
        return f"{link['text']}({base}{mark}{anchor})"

    return "".join(
        text if is_code else _LINK.sub(rewritten, text) for text, is_code in _parts(markdown)
    )


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001  (MkDocs')
    """Refuse a page that loads something from another host."""
    if found := _FOREIGN.search(output):
        told = f"{page.file.src_uri} loads something from another host: {found[0]}"
        raise PluginError(told)
    return output


def measured(agent: str) -> str:
    """Return the end of an agent's page: its package, and the table of its failures."""
    facts = _tables("agents.json")[agent]
    return (
        f"\n## Measured\n\n`{facts['package']}` {facts['version']}; "
        "[how to read the table](index.md#how-to-read-the-tables).\n\n"
        f"<!-- table: agents.json {agent} -->\n"
    )


def table(file: str, name: str) -> str:
    """Return a table of a file of `protocol/` as Markdown."""
    found = _tables(file)[name]
    rows = [found["columns"], ["---"] * len(found["columns"]), *found["rows"]]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def requirements(first: str, last: str) -> str:
    """Return a range of the requirements of `protocol/requirements.json` as Markdown."""
    listed = json.loads((ROOT / "protocol" / "requirements.json").read_text(encoding="utf-8"))
    ids = [one["id"] for one in listed]
    found = listed[ids.index(first) : ids.index(last) + 1]
    return "\n\n".join(f"`{one['id']}` {one['text']}" for one in found) + "\n"


@cache
def _tables(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "protocol" / file).read_text(encoding="utf-8"))
    return found


def _parts(markdown: str) -> list[tuple[str, bool]]:
    """A page's text in pieces, each with whether it is a block of code."""
    parts, at = [], 0
    for block in _FENCE.finditer(markdown):
        parts += [(markdown[at : block.start()], False), (block[0], True)]
        at = block.end()
    return [*parts, (markdown[at:], False)]


def _site_target(target: str, origin: str, config: MkDocsConfig, files: Files) -> str | None:
    """Where a link leads on the site, from its root; `None` where there is nothing to lead to."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not parts.path:
        # An address elsewhere, or an anchor of this page.
        return None if parts.scheme == "file" else target
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), parts.path))
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    for known in (path, f"{path}/README.md"):
        if known in PAGES:
            return PAGES[known] + anchor
    if path == "README.md":
        return "index.md" + anchor
    if path.startswith("docs/"):
        return path.removeprefix("docs/") + anchor
    if not (ROOT / path).is_file():
        if not (ROOT / path).exists():
            told = f"{origin} links to {target}, which is not there"
            raise PluginError(told)
        return None
    copy = f"{COPIES}/{path}"
    if files.get_file_from_path(copy) is None:
        files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
    return copy
