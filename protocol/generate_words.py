"""Write the words of a link, `words.json`, for Python, TypeScript and pages.

`python protocol/generate_words.py` writes them anew wherever they are used; a test holds that what
is there is what this makes. Needs nothing but Python.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "words.json"
PACKAGE = HERE.parent / "src" / "lastword"
BY = "Generated from protocol/words.json by protocol/generate_words.py."
FIELDS = ("word", "type", "loss", "sentence", "advice", "action", "codes", "statuses", "aliases")

PYTHON_HEAD = f'''# fmt: off
# ruff: noqa: E501 - one word a line
"""Words for the end of a link to a gateway, which are also reasons of failures.

{BY}
Owns the table. `lastword.client.link_words` chooses the word for an end.
"""

from __future__ import annotations

from typing import NamedTuple


class TransportWord(NamedTuple):
    """One word.

    Attributes:
        word: The word.
        type: The failure type whose `reason` it is.
        loss: What the end of a link that it names means for the next try, as
            `lastword.client.close_codes.LossKind` has it; `none`, where it names none.
        sentence: What happened, for a person.
        advice: What to do.
        action: The same as a word of `Action`.
        codes: The close codes that mean it, where no reason says more.
        statuses: The HTTP statuses that mean it at an upgrade.
        aliases: What it was or is called elsewhere.
    """

    word: str
    type: str
    loss: str
    sentence: str
    advice: str
    action: str
    codes: tuple[int, ...] = ()
    statuses: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()


TRANSPORT_WORDS = (
'''

SCRIPT_HEAD = f"""// {BY}
// What became of a link to a gateway, as words, with what to tell a person.
"""

FIND = """
  const said = reason.startsWith("{") ? named(reason) : (reason.split(" retry=")[0] ?? "");
  for (const each of TRANSPORT_WORDS) {
    if (each.word === said || each.aliases.includes(said)) return each;
  }
  const same = { 4000: 4408, 4001: 4401 }[code] ?? code;
  return TRANSPORT_WORDS.find((each) => each.codes.includes(same)) ?? null;
}
"""

NAMED = """
  try {
    const told = JSON.parse(text).reason;
    return typeof told === "string" ? told : "";
  } catch {
    return "";
  }
}
"""


def _of(row: dict[str, Any]) -> dict[str, Any]:
    return {("loss" if name == "class" else name): value for name, value in row.items()}


def python(rows: list[dict[str, Any]]) -> str:
    """The table as a Python module."""
    lines = []
    for row in map(_of, rows):
        facts = ", ".join(f"{name}={_python(row[name])}" for name in FIELDS if row[name])
        lines.append(f"    TransportWord({facts}),\n")
    return f"{PYTHON_HEAD}{''.join(lines)})\n"


def _python(value: object) -> str:
    if isinstance(value, list):
        inner = ", ".join(json.dumps(each) for each in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return json.dumps(value)


def _rows(rows: list[dict[str, Any]]) -> str:
    return "".join(f"  {json.dumps(_of(row))},\n" for row in rows)


def module(rows: list[dict[str, Any]]) -> str:
    """The table as a plain ES module, for a page."""
    return (
        f"{SCRIPT_HEAD}\n"
        "/** @typedef {{word: string, type: string, loss: string, codes: number[], "
        "statuses: number[], sentence: string, advice: string, action: string, "
        "aliases: string[]}} TransportWord */\n\n"
        f"/** @type {{readonly TransportWord[]}} */\n"
        f"export const TRANSPORT_WORDS = [\n{_rows(rows)}];\n\n"
        "/**\n * The word of a close: its reason's, else its code's; null where neither has one.\n"
        " * @param {number} code\n * @param {string} [reason]\n"
        " * @returns {TransportWord | null}\n */\n"
        f'export function wordOfClose(code, reason = "") {{{FIND}\n'
        f"/** @param {{string}} text */\nfunction named(text) {{{NAMED}"
    )


def typescript(rows: list[dict[str, Any]]) -> str:
    """The table as TypeScript."""
    return (
        f"{SCRIPT_HEAD}\n"
        "export interface TransportWord {\n  word: string;\n  type: string;\n  loss: string;\n"
        "  codes: readonly number[];\n  statuses: readonly number[];\n  sentence: string;\n"
        "  advice: string;\n  action: string;\n  aliases: readonly string[];\n}\n\n"
        f"export const TRANSPORT_WORDS: readonly TransportWord[] = [\n{_rows(rows)}];\n\n"
        "/** The word of a close: its reason's, else its code's; null where neither has one. */\n"
        'export function wordOfClose(code: number, reason = ""): TransportWord | null {'
        f"{FIND.replace('}[code]', '} as Record<number, number>)[code]').replace('= {', '= ({', 1)}"
        f"\nfunction named(text: string): string {{{NAMED}"
    )


def made() -> dict[Path, str]:
    """What each file is to hold."""
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["words"]
    return {
        PACKAGE / "core" / "failure" / "transport_words.py": python(rows),
        HERE / "typescript" / "transport_words.ts": typescript(rows),
        HERE / "words.js": module(rows),
        PACKAGE / "web" / "shared" / "words.js": module(rows),
    }


def main() -> None:
    """Write all of it."""
    for path, text in made().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
