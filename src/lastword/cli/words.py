"""Suggestions for a word that the command line does not know.

Owns the sentences, and the form of a refusal, also as an answer to an ACP client. Loads the
redactor only for a sentence.
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import sys
import threading
from typing import TYPE_CHECKING

from lastword.core.redact.printable import one_line
from lastword.platform.terminal import arguments, command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_SHOWN_CHARS = 40
_CUTOFF = 0.6

FIRST_REQUEST_SECONDS = 2.0
"""How long a client may take to send its first request to a command that has refused to start."""


def refuse(command: str, problem: object, *, status: int = 2) -> int:
    """Write an error message to stderr; return the exit status.

    Args:
        command: The command that refuses; empty for lastword itself.
        problem: A sentence, or an error with one.
        status: The exit status.
    """
    sys.stderr.write(f"lastword{command and f' {command}'}: {problem}\n")
    return status


def answer_client(sentence: str) -> None:
    """Answer the first ACP request on stdin with the sentence of a refusal, if one comes soon.

    An editor starts the command, and may show its user nothing else of the refusal.
    """
    from lastword.core.failure import ladder  # noqa: PLC0415
    from lastword.core.failure.taxonomy import (  # noqa: PLC0415
        Action,
        AgentError,
        ErrorType,
        Origin,
        Phase,
    )
    from lastword.core.failure.wording import plain_text  # noqa: PLC0415
    from lastword.core.link.handshake import read_client  # noqa: PLC0415
    from lastword.core.protocol import jsonrpc  # noqa: PLC0415

    received: list[bytes] = []

    def read() -> None:
        try:
            # Not through sys.stdin, whose lock a thread that still reads would hold at the exit.
            while data := os.read(0, 65536):
                received.append(data)
                if b"\n" in data:
                    return
        except OSError:
            return  # stdin is closed

    if os.isatty(0) or os.isatty(1):
        return
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(FIRST_REQUEST_SECONDS)
    request = jsonrpc.decode(b"".join(received).partition(b"\n")[0])
    if not isinstance(request, jsonrpc.Frame) or request.message.method is None:
        return
    request_id = request.message.request_id
    if request_id is None:
        return
    error = AgentError(
        type=ErrorType.INTERNAL,
        message=plain_text(redacted(sentence)),
        retryable=False,
        origin=Origin.LASTWORD,
        phase=Phase.STARTUP,
        action=Action.FIX_CONFIGURATION,
    )
    # `had_output` keeps the code at -32603, as for any failed request other than a prompt.
    details = ladder.details_of(read_client(request.readable))
    members = ladder.error_object(error, had_output=True, details=details, is_prompt=False)
    try:
        os.write(1, jsonrpc.error(request_id, members) + b"\n")
    except OSError:
        return  # the client is gone


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the most similar known word, empty if none is similar."""
    by_form = {_plain(name): name for name in choices}
    form = _plain(word)
    prefixed = [name for plain, name in by_form.items() if form and plain.startswith(form)]
    if len(prefixed) == 1:
        return prefixed[0]
    like = difflib.get_close_matches(form, by_form, n=1, cutoff=_CUTOFF)
    return by_form[like[0]] if like else ""


def no_such(kind: str, word: str, choices: Iterable[str], listing: str) -> str:
    """Return the sentence for an unknown word, with the nearest one and the command that lists all.

    Args:
        kind: The expected kind of word: `option`, `command`.
        word: The word.
        choices: The known words.
        listing: The command that lists them.
    """
    named = word if word.startswith("-") and len(word) <= MAX_SHOWN_CHARS else shown(word)
    like = nearest(word, choices)
    if like:
        return f"there is no {kind} {named}. Did you mean {like}? `{listing}` lists them all"
    return f"there is no {kind} {named}; `{listing}` lists them all"


def wrong_choice(name: str, value: str, words: Sequence[str]) -> str:
    """Return the sentence for a value that is not among the choices."""
    few = f"one of {', '.join(words)}"
    like = nearest(value, words)
    if like:
        return f"{name} cannot be {shown(value)}. Did you mean {like}? It takes {few}"
    return f"{name} cannot be {shown(value)}: it takes {few}"


def shown(word: str) -> str:
    """Return a word as a sentence quotes it: short, and without a secret."""
    cut = word if len(word) <= MAX_SHOWN_CHARS else f"{word[:MAX_SHOWN_CHARS]}..."
    return repr(redacted(cut))


def redacted(text: str) -> str:
    """Return the text without secrets."""
    # The redactor compiles its patterns when it is loaded; most commands make no mistake.
    from lastword.core.redact.redactor import redact_text  # noqa: PLC0415

    return redact_text(text)


def meant_words(command: Sequence[str]) -> list[str]:
    """Return an agent's command word by word, even if it was given as one word in quotes."""
    words = list(command)
    if len(words) != 1 or " " not in words[0].strip() or shutil.which(words[0]):
        return words
    if os.path.exists(words[0]):
        return words
    try:
        split = shlex.split(words[0])
    except ValueError:
        return words
    given, meant = one_line(words[0]), one_line(command_line(split))
    note = redacted(f"lastword: '{given}' is run as: {meant}")
    sys.stderr.write(f"{note}\n")
    return split


def split_options(words: Sequence[str], flags: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Return the options at the beginning, and the words after them.

    Args:
        words: The words of a command line, without `--`.
        flags: Each option, and whether its value is the next word.
    """
    at = 0
    while at < len(words):
        flag, has_value, _ = words[at].partition("=")
        if flag not in flags:
            break
        at += 2 if flags[flag] and not has_value else 1
    return list(words[:at]), list(words[at:])


def without_dashes(prog: str, words: Sequence[str], flags: Mapping[str, bool]) -> str:
    """Return the sentence for an agent's command without `--` before it."""
    own, agent = split_options([word for word in words if word != "--"], flags)
    return f"put -- before the agent's command: {_line(prog, own, agent)}"


def behind_dashes(prog: str, own: Sequence[str], agent: Sequence[str], flags: Mapping[str, bool],
) -> str:  # fmt: skip
    """Return the sentence for options after `--`; empty if there are none."""
    late, command = split_options(agent, flags)
    if not late:
        return ""
    flag = late[0].partition("=")[0]
    line = _line(prog, [*own, *late], command or ["CMD"])
    return f"{flag} is an option of {prog} and belongs before --: {line}"


def _line(prog: str, own: Sequence[str], agent: Sequence[str]) -> str:
    return redacted(f"{prog} {arguments([*own, '--', *agent])}")


def _plain(word: str) -> str:
    return word.lower().replace("_", "-").lstrip("-")
