"""Writers: whether a line of a log or of stderr reports a failed model call, or something else.

Owns the one gate over such text: its form, the program that wrote it and the hosts that it names.
An agent's stderr and logs also have the output of tools, of MCP servers and of update checks, and a
`429` there says nothing about the model. The patterns are in `writer_forms`. Where and when a line
was written is not considered here (`core.link.stderr`, `sidecar.own_logs`); what each level may do
is in `core.failure.taxonomy`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lastword.core.classify import read_lines
from lastword.core.classify import writer_forms as forms
from lastword.core.classify.prose import is_of_call
from lastword.core.failure.taxonomy import Attribution
from lastword.core.redact.truncate import informative_lines, looks_like_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.classify.evidence import Verdict

MAX_TEXT_CHARS = 16 * 1024
"""The end of a text that is read."""

MAX_RECORDS = 64
_HEAD_CHARS = 240
"""How much of a record's first line says who wrote it; the rest may quote anything."""

_RECORD_CHARS = 4096
_MODULE_CHARS = 80
_GUESSES = ("text:", "concept:", "word:")
_INFORMS = re.compile(r"\b(?:INFO|DEBUG|TRACE)\b")


def attribution_of(record: str, agent: str = "") -> Attribution:
    """Return how certain it is that a record reports a failed model call, by its text alone.

    It is never `PROVEN`: no text proves which session it is about.

    Args:
        record: One line with the lines that continue it, such as a traceback.
        agent: The agent's name for itself.
    """
    text = record[:_RECORD_CHARS]
    if is_foreign(text):
        return Attribution.FOREIGN
    own = has_form(text) or _is_agents(text, agent)
    return Attribution.STRONG if own else Attribution.WEAK


def is_foreign(record: str) -> bool:
    """Return whether another program wrote this record, or it is about another server."""
    return is_others(record) or _names_other_host(record)


@lru_cache(4)  # it is asked twice of an answer
def is_others(record: str) -> bool:
    """Return whether another program wrote this record, or it is about something else by a word.

    An unknown host may be the user's own gateway.
    """
    first = record[:_HEAD_CHARS].split("\n", 1)[0]
    if forms.PROGRAM_PREFIX.match(first) or forms.SERVICE_PREFIX.match(first):
        return True
    if forms.TEST_REPORT.match(record):
        return True
    if forms.SERVED.search(first) or forms.OTHER_CALL.search(record):
        return True
    if first[:1] == "{":
        matches = (*forms.LOGGER.finditer(first), *forms.LOGGED.finditer(first))
        about = " ".join(filter(None, (part for match in matches for part in match.groups())))
    else:
        # What a body or a URL holds is somebody's own text, as is what a provider's failure says.
        about = forms.DETAIL.split(first, maxsplit=1)[0]
    named = " ".join([about, *(host.rpartition(".")[0] for host in _hosts(record))])
    return forms.BESIDE.search(re.sub(r"[._/]", " ", named)) is not None


def _hosts(record: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in forms.HOST.finditer(record)]


def _names_other_host(record: str) -> bool:
    """Return whether a record names hosts, none of which is a model's."""
    if forms.MODEL_PATH.search(record) or _names_sdk_error(record):
        return False
    hosts = _hosts(record)
    others = [host for host in hosts if not forms.LOOPBACK.match(host)]
    return bool(others) and not any(forms.MODEL_HOST.match(host) for host in others)


def _names_sdk_error(record: str) -> bool:
    """Return whether a record has the name of a model SDK's error, or a frame of its stack.

    Another package may have an error of the same name: `stripe.error.APIConnectionError`.
    """
    for match in forms.SDK_ERROR.finditer(record):
        before = record[max(match.start() - _MODULE_CHARS, 0) : match.start()]
        module = re.split(r"[^\w.]", before)[-1]
        if not forms.BESIDE.search(module.replace(".", " ")):
            return True
    return False


def quotes_program(words: str) -> bool:
    """Return whether an error's own words are those of a command that failed, and no model call's.

    An agent may raise what its tool has printed, and may have run another agent.
    """
    match = forms.COMMAND_FAILED.search(words[:_RECORD_CHARS])
    if match is None:
        return False
    printed = words[match.end() : _RECORD_CHARS].lstrip(" :\n")
    return all(attribution_of(each) is not Attribution.STRONG for each in records(printed))


def has_form(record: str) -> bool:
    """Return whether a record has the form of a model call's failure.

    That is the full name of a model SDK's error, the body of a provider's error, a failure beside
    a model's host or path, a writer whose name says that it calls the model, or a sentence that
    says that the failure is the model call's.
    """
    if forms.CRASH.search(record):
        return False
    if _names_sdk_error(record) or forms.BODY.search(record):
        return True
    if forms.GOOGLE_STATUS.search(record) and forms.GOOGLE_MODEL.search(record):
        return True
    if forms.FAILED.search(record) is None:
        return False
    if forms.MODEL_PATH.search(record) or forms.OWN_SENTENCES.search(record):
        return True
    hosts = _hosts(record)
    if any(forms.MODEL_HOST.match(host) and not forms.BESIDE_HOST.match(host) for host in hosts):
        return True
    head = record[:_HEAD_CHARS]
    if forms.MODEL_WRITER.search(head) or forms.MODEL_FRAME.search(record):
        return True
    return forms.MODEL_CALL.search(head) is not None or forms.API_CALL.search(head) is not None


def _is_agents(record: str, agent: str) -> bool:
    """Return whether the agent itself reports a failed call, by its writer's name or its package.

    A call of the agent's own is its model's if it names no server and nothing else that it uses.
    """
    names = _words_of(agent.rpartition("/")[2]) - forms.ANY_AGENTS
    head = record[:_HEAD_CHARS]
    if not names or forms.CALL_FAILED.search(head) is None or forms.CRASH.search(record):
        return False
    frames = forms.PACKAGE.findall(record)
    within = re.sub(r"[./_-]", " ", " ".join(path for _, path in frames))
    if forms.COMMAND_FAILED.search(head) or forms.BESIDE.search(within) or _hosts(record):
        return False
    writer = (forms.LOGGER.search if head[:1] == "{" else forms.WRITER.match)(head)
    own = [name for name, _ in frames]
    if writer is not None:
        own.append(re.split("[.:/]", writer[1], maxsplit=1)[0])
    return any(_words_of(name) & names for name in own)


def _words_of(name: str) -> set[str]:
    """Return a name's words, in lower case, and what they are without anything between them."""
    words = re.findall(r"[a-z\d]+", name.lower())
    return {*words, "".join(words)}


def has_frame_below(record: str, folder: str) -> bool:
    """Return whether a stack has a frame in the user's own files: their program failed.

    What is in a hidden folder there was installed: the session may be in the user's home.
    """
    begin = re.escape(folder.replace("\\", "/").rstrip("/")) + r"/(?!\.(?!venv/))"
    frame = rf"^[ \t]+[^\n]{{0,200}}?(?<![\w.-]){begin}"
    return re.search(frame, record.replace("\\", "/"), re.MULTILINE) is not None


class OwnFailure(NamedTuple):
    """A record that reports a failed model call, and what it means."""

    verdict: Verdict
    record: str


def last_own(text: str, *, source: str, folder: str = "", agent: str = "") -> OwnFailure | None:
    """Return the last record of a log that reports a failed model call.

    Args:
        text: What was written during the turn, while no tool ran.
        source: The prefix for the rule's name.
        folder: The session's.
        agent: The agent's name for itself.
    """
    for record in reversed(list(records(text))):
        if attribution_of(record, agent) is not Attribution.STRONG:
            continue
        if folder.strip("/") and has_frame_below(record[:_RECORD_CHARS], folder):
            continue
        verdict = read_lines(record, source=source)
        if verdict is not None and names_call(verdict):
            return OwnFailure(verdict, record)
    return None


def read_own(text: str, *, source: str, folder: str = "", agent: str = "") -> Verdict | None:
    """Classify the end of a log by the last record that reports a failed model call."""
    failed = last_own(text, source=source, folder=folder, agent=agent)
    return None if failed is None else failed.verdict


def may_go_on(record: str) -> bool:
    """Return whether a record calls its failure a warning, or says that the call is tried again."""
    return forms.MAY_GO_ON.search(record[:_HEAD_CHARS]) is not None


def names_call(verdict: Verdict) -> bool:
    """Return whether it is an error of a model call, by more than what words may mean."""
    rule = verdict.rule.removeprefix("log:").removeprefix("stderr:")
    return is_of_call(verdict.type, rule) and not rule.startswith(_GUESSES)


def without_foreign(text: str) -> str:
    """Return the end of a log without the records that other programs wrote."""
    return "\n".join(record for record in records(text) if not is_foreign(record))


def quotation(text: str) -> str:
    """Return the last line of a failure whose author is not known; empty if there is none."""
    for whole in reversed(list(records(text))):
        # What continues a line of information was printed there for its own sake, as a prompt is.
        informs = _INFORMS.search(whole[:_MODULE_CHARS]) is not None
        record = whole.partition("\n")[0] if informs else whole
        if informative_lines(record) and not is_foreign(record):
            lines = [line.strip() for line in record.splitlines() if looks_like_error(line)]
            return lines[-1][:_HEAD_CHARS] if lines else ""
    return ""


# --- lines that belong together ------------------------------------------------------------------


def records(text: str) -> Iterator[str]:
    """Yield a text's lines, each with the lines that continue it, the oldest first."""
    record: list[str] = []
    last: list[str] = []
    in_traceback = False
    before = ""
    for line in forms.COLOUR.sub("", text[-MAX_TEXT_CHARS:]).splitlines():
        continues = not line.strip() or forms.CONTINUES.match(line) is not None
        continues = continues or forms.HEADS.match(before) is not None
        begins_traceback = forms.TRACEBACK in line
        wrapped = bool(record and record[-1].strip()) and _is_wrapped(before, line)
        before = line if line.strip() else before
        if wrapped and not in_traceback:
            record[-1] = f"{record[-1].rstrip()} {line.lstrip()}"
            continue
        if record and not (continues or in_traceback or (begins_traceback and _chained(record))):
            last.append("\n".join(record))
            record = []
        if begins_traceback:
            in_traceback = True
        elif in_traceback and not continues:
            in_traceback = False
        record.append(line)
    if record:
        last.append("\n".join(record))
    yield from last[-MAX_RECORDS:]


def _is_wrapped(before: str, line: str) -> bool:
    """Return whether a line goes on in mid-sentence: its word had no room in the one before."""
    word = forms.MID_SENTENCE.match(line)
    width = len(before.rstrip())
    return word is not None and forms.LINE_WIDTH - len(word[1]) <= width <= forms.LINE_WIDTH


def _chained(record: list[str]) -> bool:
    return any(line.startswith(forms.CHAINS) for line in record)
