"""Writers: whether a line of a log or of stderr reports a failed model call, or something else.

Owns the one gate over such text: its form, the program that wrote it and the hosts that it names.
An agent's stderr and logs also have the output of tools, of MCP servers and of update checks, and a
`429` there says nothing about the model. Where and when a line was written is not considered here
(`core.link.evidence`, `sidecar.own_logs`); what each level may do is in `core.failure.taxonomy`.

The patterns are below the functions, and the names in them in `data/writers.txt`. The foreign
writers are the programs that a coding agent commonly starts, and the services beside its model; the
forms are those of the SDKs and providers, as their documentation has them and as they were
recorded. Each pattern is linear or runs on a few thousand characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lastword.core.classify import read_lines
from lastword.core.classify.data import read_tables
from lastword.core.classify.prose import is_of_call
from lastword.core.failure.taxonomy import Attribution
from lastword.core.redact.truncate import informative_lines, looks_like_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.classify.evidence import Verdict

MAX_TEXT_CHARS = 16 * 1024
"""Only the end of a longer text is read."""

MAX_RECORDS = 64
_HEAD_CHARS = 240
"""The part of a record's first line that names its writer; the rest may quote anything."""

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
    if is_others(record):
        return True
    if MODEL_PATH.search(record) or _names_sdk_error(record):
        return False
    others = [host for host in _hosts(record) if not LOOPBACK.match(host)]
    return bool(others) and not any(MODEL_HOST.match(host) for host in others)


@lru_cache(4)  # an answer is checked twice
def is_others(record: str) -> bool:
    """Return whether another program wrote this record, or a word of it names another subject.

    An unknown host does not count, since it may be the user's own gateway.
    """
    first = record[:_HEAD_CHARS].split("\n", 1)[0]
    if PROGRAM_PREFIX.match(first) or SERVICE_PREFIX.match(first):
        return True
    if TEST_REPORT.match(record):
        return True
    if SERVED.search(first) or OTHER_CALL.search(record):
        return True
    if first[:1] == "{":
        matches = (*LOGGER.finditer(first), *LOGGED.finditer(first))
        about = " ".join(filter(None, (part for match in matches for part in match.groups())))
    else:
        # The rest is not the writer's own: a body, a URL, or the words of a provider.
        about = DETAIL.split(first, maxsplit=1)[0]
    named = " ".join([about, *(host.rpartition(".")[0] for host in _hosts(record))])
    return BESIDE.search(re.sub(r"[._/]", " ", named)) is not None


def _hosts(record: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in HOST.finditer(record)]


def _names_sdk_error(record: str) -> bool:
    """Return whether a record has the name of a model SDK's error, or a frame of its stack.

    Another package may have an error of the same name: `stripe.error.APIConnectionError`.
    """
    for match in SDK_ERROR.finditer(record):
        before = record[max(match.start() - _MODULE_CHARS, 0) : match.start()]
        module = re.split(r"[^\w.]", before)[-1]
        if not BESIDE.search(module.replace(".", " ")):
            return True
    return False


def quotes_program(words: str) -> bool:
    """Return whether an error quotes a command that failed, rather than a failed model call.

    An agent may raise what its tool printed, and that tool may be another agent.
    """
    match = COMMAND_FAILED.search(words[:_RECORD_CHARS])
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
    if CRASH.search(record):
        return False
    if _names_sdk_error(record) or BODY.search(record):
        return True
    if GOOGLE_STATUS.search(record) and GOOGLE_MODEL.search(record):
        return True
    if FAILED.search(record) is None:
        return False
    if MODEL_PATH.search(record) or OWN_SENTENCES.search(record):
        return True
    hosts = _hosts(record)
    if any(MODEL_HOST.match(host) and not BESIDE_HOST.match(host) for host in hosts):
        return True
    head = record[:_HEAD_CHARS]
    if MODEL_WRITER.search(head) or MODEL_FRAME.search(record):
        return True
    return MODEL_CALL.search(head) is not None or API_CALL.search(head) is not None


def _is_agents(record: str, agent: str) -> bool:
    """Return whether the agent itself reports a failed call, by its writer's name or its package.

    Such a call goes to its model if the record names no server and nothing else that agents use.
    """
    names = _words_of(agent.rpartition("/")[2]) - ANY_AGENTS
    head = record[:_HEAD_CHARS]
    if not names or CALL_FAILED.search(head) is None or CRASH.search(record):
        return False
    frames = PACKAGE.findall(record)
    within = re.sub(r"[./_-]", " ", " ".join(path for _, path in frames))
    if COMMAND_FAILED.search(head) or BESIDE.search(within) or _hosts(record):
        return False
    writer = (LOGGER.search if head[:1] == "{" else WRITER.match)(head)
    own = [name for name, _ in frames]
    if writer is not None:
        own.append(re.split("[.:/]", writer[1], maxsplit=1)[0])
    return any(_words_of(name) & names for name in own)


def _words_of(name: str) -> set[str]:
    """Return a name's words, in lower case, and all of them joined."""
    words = re.findall(r"[a-z\d]+", name.lower())
    return {*words, "".join(words)}


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
    # A stack with a frame in the user's own files is their program's. A hidden folder there holds
    # what was installed, since the session may be in the user's home.
    below = re.escape(folder.replace("\\", "/").rstrip("/")) + r"/(?!\.(?!venv/))"
    frame = rf"^[ \t]+[^\n]{{0,200}}?(?<![\w.-]){below}"
    for record in reversed(list(records(text))):
        if attribution_of(record, agent) is not Attribution.STRONG:
            continue
        beginning = record[:_RECORD_CHARS].replace("\\", "/")
        if folder.strip("/") and re.search(frame, beginning, re.MULTILINE):
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
    """Return whether a record calls its failure a warning, or announces a retry."""
    return MAY_GO_ON.search(record[:_HEAD_CHARS]) is not None


def names_call(verdict: Verdict) -> bool:
    """Return whether it is an error of a model call, by a rule that does not guess."""
    rule = verdict.rule.removeprefix("log:").removeprefix("stderr:")
    return is_of_call(verdict.type, rule) and not rule.startswith(_GUESSES)


def without_foreign(text: str) -> str:
    """Return the end of a log without the records that other programs wrote."""
    return "\n".join(record for record in records(text) if not is_foreign(record))


def quotation(text: str) -> str:
    """Return the last line of a failure whose author is not known; empty if there is none."""
    for whole in reversed(list(records(text))):
        # Whatever continues a line of information was meant to be printed, such as a prompt.
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
    for line in COLOUR.sub("", text[-MAX_TEXT_CHARS:]).splitlines():
        continues = not line.strip() or CONTINUES.match(line) is not None
        continues = continues or HEADS.match(before) is not None
        if record and record[-1].strip() and not in_traceback:
            # A line continues in mid-sentence if its first word had no room in the one before.
            word = MID_SENTENCE.match(line)
            room = LINE_WIDTH - len(before.rstrip())
            if word is not None and 0 <= room <= len(word[1]):
                record[-1] = f"{record[-1].rstrip()} {line.lstrip()}"
                before = line
                continue
        before = line if line.strip() else before
        begins_traceback = TRACEBACK in line
        chained = begins_traceback and any(piece.startswith(CHAINS) for piece in record)
        if record and not (continues or in_traceback or chained):
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


_TABLES = dict(read_tables("writers"))


def _any(name: str) -> str:
    """Return the entries of a table as the alternatives of a pattern."""
    return "|".join(re.split(r"(?<!\[)\s+", " ".join(_TABLES[name]))).replace("[ ]", " ")


# --- other programs ------------------------------------------------------------------------------

_PROGRAMS = _any("programs")
PROGRAM_PREFIX = re.compile(
    rf"^\W{{0,4}}(?:(?i:error|warn(?:ing)?|fatal|info|err!?)\W{{1,3}})?(?:\w+/)*"
    rf"(?:{_PROGRAMS})(?:\.(?:exe|cmd|sh))?(?:\[\d+\]|\(\d+\))?"
    r"(?::|\s+(?i:error|err!|warn(?:ing)?|fatal|failed|http|notice)\b|>\s|\]\s?)"
)
"""A line that begins with the name of a program: `npm error 404`, `curl: (22)`."""

_SERVICES = "web|www|api|app|server|service|backend|frontend|worker|ui|site|db"
SERVICE_PREFIX = re.compile(
    r"(?:\d?\d:\d\d:\d\d (?:[AP]M )?)?(?:\d{1,3}\|)?"
    r"(?!(?:error|err|warn(?:ing)?|info|debug|fatal|critical|trace|notice)\b)"
    r"[a-z][\w-]{0,60}(?:\.\d{1,4})*(?:\.\w+@[\w.-]+)?\s*\| "
    r"|(?:@[\w-]+/)?[\w./-]{1,60}[: ](?:dev|start|serve|build|test): "
    r"|\[(?:\d{1,2}|(?:[\w-]{1,60}:)?(?:dev|start|serve|build|watch)(?::[\w:-]{1,60})?"
    rf"|(?:(?!acp|agent|ai|llm|model|provider)[\w-]{{1,40}}-)?(?:{_SERVICES})"
    r"(?:[-_.]?\d{1,3})?) *\] "
    r"|\S{10,40} app\[[\w.-]{1,60}\]: |\[?pods?/",
    re.IGNORECASE,
)
"""A line that a runner of several programs passes on: `web-1  | ...`, `web:dev: ...`, `[0] ...`."""

CRASH = re.compile(
    r"^(?:\S{8,10} \S{8,15} )?(?:http: )?panic(?: serving [\w.:\[\]]{1,60})?: "
    r"|^thread '[^'\n]{1,60}'(?: \(\d+\))? panicked at |^Exception in thread \""
    r"|^Uncaught |^Unhandled exception[.:] |^PHP Fatal error: |^\*\* \(\w"
    r"|^[^\s:]{1,200}\.rb:\d+:in "
    r"|^[ \t]+File \"[^\"\n]{1,300}\", line \d+, in <module>|^[ \t]*\^+\n[ \t]*$",
    re.MULTILINE,
)
"""A program's last words, such as an uncaught stack: an agent that continues writes none."""

_BESIDE = _any("beside")
BESIDE = re.compile(rf"\b(?:{_BESIDE})\b", re.IGNORECASE)
"""Words at a line's beginning about something other than the turn's model call."""

DETAIL = re.compile(r"[{<]|https?://|(?<=\bprovider )(?:failure|error):", re.IGNORECASE)
"""Where a line's beginning ends, which names its subject."""

MAY_GO_ON = re.compile(
    r"\b(?:warn(?:ing)?|re-?trying|will retry|retry(?: attempt)? #?\d|reconnecting|trying again)\b",
    re.IGNORECASE,
)
"""Words of a line about a failure that the agent may get over."""

COMMAND_FAILED = re.compile(
    r"\b(?:command|script|hook)\b[^\n]{0,80}?"
    r"\b(?:fail(?:ed|ure)|exited|returned|non-?zero)\b"
    r"(?: with)?(?: (?:exit )?(?:code|status) \d{1,3}\b)?"
    r"|\b(?:exit|return)(?:ed with)? (?:code|status) \d{1,3}[:\n]",
    re.IGNORECASE,
)
"""The beginning of an error that repeats a command's output."""

LOGGER = re.compile(
    r"[\"'](?:name|logger|target|module|scope|component|service|source|category|server)[\"']\s*:\s*"
    r"[\"']([^\"']{1,80})[\"']"
)
"""The writer that a JSON log line names."""

LOGGED = re.compile(
    r"[\"'](?:msg|message|event|text|error|err)[\"']\s*:\s*"
    r"(?:\"((?:[^\"{<\\]|\\.){1,200})|'([^'{<]{1,200}))"
)
"""The message of a JSON log line."""

TEST_REPORT = re.compile(
    r"^\s*(?:E  |>  |FAILED|FAIL:?|ERROR:? test|not ok|[\u2715\u2717\u00d7\u25cf]|--- FAIL"
    r"|std(?:err|out) \||Expected|Received|AssertionError|panicked at tests|thread '\w*test)"
)

SERVED = re.compile(
    r"\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /\S{0,200}"
    r"(?: HTTP/\d(?:\.\d)?\\?[\"'] \d{3}\b| [1-5]\d\d\b[^\n]{0,40}?\b\d+(?:\.\d+)? ?ms\b)"
)
"""The line of a server about a request that it has answered, such as a test's mock provider."""

WRITER = re.compile(
    r"\s*(?:[\[(]?(?:\d[\d:.,TZ/+-]{3,40}|[A-Z]\d{4}|[a-z]{3} \d\d?|err(?:or?)?|warn(?:ing)?|info"
    r"|fatal|critical)[\])]?[\s|:-]{1,8}|\w{1,40}\{[^}\n]{0,120}\}:? ?){0,5}"
    r"[\[(]?(?:@[\w.-]{1,40}/)?([\w-]{1,60})(?:[./:][\w./:@-]{0,60})?"
    r"(?:[:\])|]|\s[-|]\s|\s(?:error|warn))",
    re.IGNORECASE,
)
"""The writer at a line's beginning: `ERROR codex_core::client: ...`, `[kimi/api] ...`."""

PACKAGE = re.compile(
    r"^[ \t]+(?:at |File \")[^\n]{0,200}?/(?:node_modules|(?:site|dist)-packages)/"
    r"(?:@[\w.-]{1,40}/)?([\w.-]{1,60})/([^\n]{0,200})",
    re.MULTILINE,
)
"""A frame of a stack in an installed package: its name, and where in it."""

CALL_FAILED = re.compile(
    r"(?<![\w.:/-])[45]\d\d(?![\w-]|\.\d)|\b(?:rate.?limit\w*|too many requests|overloaded"
    r"|unauthori[sz]ed|(?:invalid|missing|expired) api key|quota exceeded|bad gateway"
    r"|service unavailable)\b",
    re.IGNORECASE,
)
"""Words of failed HTTP calls."""

ANY_AGENTS = frozenset({
    *("acp", "agent", "agents", "ai", "api", "app", "assistant", "bot", "bridge", "cli", "client"),
    *("code", "coding", "core", "dev", "kit", "llm", "my", "new", "node", "oh", "open"),
    *("our", "python", "server", "the", "tool", "tools", "web"),
})  # fmt: skip
"""Words of agents' names that other programs have as well."""

OTHER_CALL = re.compile(r"\btext-embedding-\w|/embeddings\b|/rerank\b|/images/generations\b")
"""Signs of a model call outside any turn, such as one for an index."""

# --- the form of a failed model call -------------------------------------------------------------

_SDKS = _any("sdks")
_AI_SDK_ERRORS = _any("ai_sdk_errors")
_OF_MODELS = _any("of_models")
_WITH_STATUS = _any("with_status")
SDK_ERROR = re.compile(
    rf"\b(?:{_SDKS})(?:\.|::)(?:\w{{1,40}}(?:\.|::)){{0,6}}\w{{0,60}}?"
    r"(?:Error|Exception|Exhausted|Timeout)\b"
    rf"|\bAI_(?:{_AI_SDK_ERRORS})\b|\b(?:{_OF_MODELS})Error\b"
    rf"|\b(?:{_WITH_STATUS})Error[\"']?: (?:Error code: )?[45]\d\d\b"
    r"|\bError code: \d{3} - [{\[\"'<]"
    r"|/node_modules/(?:openai|ai|@anthropic-ai|@google/gen\w*|@ai-sdk|@mistralai|groq-sdk|ollama)/"
    r"|/(?:site|dist)-packages/(?:openai|anthropic|litellm|groq|mistralai|google/genai|ollama)/"
)
"""The name of a model SDK's error, or a frame of its stack."""

_BODY_TYPES = _any("body_types")
BODY = re.compile(
    rf"[\"']type[\"']\s*:\s*[\"']error[\"']\s*,\s*[\"']error[\"']\s*:\s*\{{"
    rf"|[\"']error[\"']\s*:\s*\{{(?=[^{{}}]{{0,2000}}?[\"']message[\"'])"
    rf"(?=[^{{}}]{{0,2000}}?[\"'](?:type|code)[\"']\s*:\s*[\"'](?:{_BODY_TYPES})[\"'])"
    r"|[\"']stopReason[\"']\s*:\s*[\"']error[\"']"
    rf"|\\\"error\\\"\s*:\s*\{{[^{{}}]{{0,2000}}?\\\"(?:type|code)\\\"\s*:\s*\\\"(?:{_BODY_TYPES})"
)
"""The body of a model provider's error, also within a string; or an answer that ended with one."""

GOOGLE_STATUS = re.compile(
    r"\b(?:RESOURCE_EXHAUSTED|UNAVAILABLE|UNAUTHENTICATED|PERMISSION_DENIED|INVALID_ARGUMENT"
    r"|DEADLINE_EXCEEDED|API_KEY_INVALID|NOT_FOUND|ResourceExhausted|ServiceUnavailable"
    r"|DeadlineExceeded|Unauthenticated|PermissionDenied|InvalidArgument)\b"
)
GOOGLE_MODEL = re.compile(
    r"generativelanguage|aiplatform|\bmodels?/|\bgemini|generate_?content", re.IGNORECASE
)
"""Signs of a model: all of Google's services have the same statuses."""

HOST = re.compile(
    r"https?://(?:[^\s/@\"']{1,200}@)?([\w.-]{1,200}|\[[\da-fA-F:]+\])(?::\d+)?"
    r"|\bhost=[\"']([\w.-]+)[\"']"
    r"|\b(?:ENOTFOUND|EAI_AGAIN|lookup|resolve host:?|resolve) ([\w-]+(?:\.[\w-]+)+)"
)
_MODEL_HOSTS = _any("model_hosts")
BESIDE_HOST = re.compile(
    r"^(?:docs?|status|help|support|blog|community|cdn|assets|cookbook|learn)\.", re.IGNORECASE
)
"""A provider's hosts that serve no model: errors name them, but so do tools."""

MODEL_HOST = re.compile(rf"^(?:.*\.)?(?:{_MODEL_HOSTS})$", re.IGNORECASE)
LOOPBACK = re.compile(
    r"^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)$"
)
MODEL_PATH = re.compile(
    r"/chat/completions\b|/v\d+(?:beta)?/(?:messages|responses|completions|models/[\w.:-]+)\b"
    r"|/openai/deployments/|:(?:stream)?[gG]enerateContent\b|/api/(?:chat|generate)\b"
    r"|/model/[\w.:%-]+/(?:converse|invoke)|/backend-api/(?:codex|conversation)|/anthropic/v1\b"
    r"|calling the (?:InvokeModel|Converse)\w* operation"
)
FAILED = re.compile(
    r"\b(?:4\d\d|5\d\d)\b|\b(?:error|fail(?:ed|ure|s)?|retry\w*|refused|timed? ?out|timeout|reset"
    r"|terminated|exceeded|exhausted|unauthori[sz]ed|overloaded|unavailable|disconnected|invalid"
    r"|denied|missing|not set|ECONN\w+|ETIMEDOUT|ENOTFOUND)\b",
    re.IGNORECASE,
)

_BRANDS = (
    "openai|anthropic|claude|gemini|mistral|deepseek|groq|bedrock|openrouter|ollama|azure openai"
    "|vertex(?: ai)?|moonshot|kimi|qwen|glm|zhipu|grok|copilot|codex|cohere|fireworks|cerebras|xai"
)
_CALLS = (
    "providers?|requests?|calls?|api|errors?|failures?|stream(?:ing|s)?|responses?|completions?"
)
_BEFORE = (
    r"(?:^|[^\w\s]\s*|\b(?:the|a|an|your|this|to|of|from|by|with|calling|retrying|failed|during"
    r"|in|for|ai|llm|language|chat|agent|warn|warning|error|info|debug|fatal|trace)\s+)"
)
"""Words before a model or a provider that needs no name: not "DNS" and not "User"."""

MODEL_CALL = re.compile(
    rf"{_BEFORE}(?:models? (?:{_CALLS}|inference|endpoint|turns?|returned|backend|is overloaded"
    rf"|overloaded|invocation)"
    rf"|(?:provider|inference) (?:api )?(?:{_CALLS}|returned|responded|rate[ -]limit(?:ed)?"
    r"|overloaded|unavailable|timed? ?out|failed))\b"
    rf"|\b(?:(?:llm|language model|chat model|ai)(?: api| model)? (?:{_CALLS}|turns?|query|returned"
    r"|failed|backend|endpoint)"
    r"|sampling requests?|(?:chat|text|message)[ -]completions?"
    r"|completions? (?:request|call|api|failed|error|stream)"
    r"|generate[_ ]?content|model_?error|model_?provider|provider_?error|llm_?error|api_?error"
    rf"|(?:{_BRANDS}) (?:{_CALLS}|model|messages|returned|failed|rate|quota|usage|overloaded|is)"
    r"|(?:call(?:ing| to)|contacting|reaching|querying|connecting to|request to|response from"
    r"|error from|access(?: to)?) (?:the |your )?"
    rf"(?:llm|language model|model|provider|ai provider|ai model|{_BRANDS}))\b",
    re.IGNORECASE,
)
"""Words that make a failure the model call's."""

_NAME = r"[\w-]{1,40}"
_OF_CALL = (
    rf"(?:llms?|llm[_-]\w{{1,30}}|model[_-]?(?:client|provider|api)"
    rf"|providers?(?:::{_NAME}|[./:](?:{_BRANDS})\w{{0,20}}))"
)
MODEL_WRITER = re.compile(
    rf"(?<![\w./:@-])(?:(?:{_NAME}(?:::|\.)){{1,6}}{_OF_CALL}|{_OF_CALL}(?:::|\.){_NAME})"
    rf"(?:(?:::|\.){_NAME}){{0,4}}(?![\w/(-])"
    rf"|[\[(](?:{_OF_CALL}|model|provider)(?::{_NAME})?[\])]"
    r"|\b(?:service|component|logger|module|scope|target|name)[\"']?\s?[=:]\s?[\"']?"
    r"(?:llm|model|provider)s?(?![\w-])"
    rf"|\bprovider(?:_?id|_?name)?[\"']?\s?[=:]\s?[\"']?(?:{_BRANDS})",
    re.IGNORECASE,
)
"""A logger, a module or a key whose name says that its code calls the model."""

MODEL_FRAME = re.compile(
    rf"^[ \t]+(?:at |File \")[^\n]{{0,300}}[/\\](?:llms?|providers?(?=[/\\](?:{_BRANDS})))[/\\]",
    re.IGNORECASE | re.MULTILINE,
)
"""A frame of a stack in such a module."""

API_CALL = re.compile(
    r"(?:^|[\]:|\-\u2013(\[])\s*(?:the )?api (?:error(?: \(|: | \d)|status: ?\d"
    r"|(?:call|request|connection)s? (?:failed|error|lost|timed out)[ :,(]{1,3}"
    r"(?:attempt|after|retry|status|with status)|retry)",
    re.IGNORECASE,
)
"""`API Error: ...` where a message begins: an agent has one API that needs no name."""

OWN_SENTENCES = re.compile(
    r"context (?:window|length)|maximum context|prompt is too long|\btokens? per (?:min|day)"
    r"|\b[RT]P[MD]\b|credit balance is too low|exceeded your current quota|invalid x-api-key"
    r"|incorrect api key provided|usage limit reached|hit your (?:usage )?limit|insufficient_quota"
    r"|model [`'\"][\w./:@-]+[`'\"] (?:does not exist|not found|is not)|model_not_found"
    r"|overloaded_error|stream disconnected before completion"
    r"|\bResponse(?:Stream(?:Disconnected|ConnectionFailed)|TooManyFailedAttempts)\b"
    rf"|\b(?:{_BRANDS})_(?:api_key|auth_token)\b[^\n]{{0,60}}\b(?:not|missing|invalid|required)\b"
    rf"|\b(?:missing|invalid)\b[^\n]{{0,40}}\b(?:{_BRANDS})_(?:api_key|auth_token)\b",
    re.IGNORECASE,
)
"""Sentences that only a model provider writes, or its client where a key is missing or a stream
breaks."""

# --- lines that belong together ------------------------------------------------------------------

COLOUR = re.compile(r"\x1b\[[\d;]{0,32}m")

CONTINUES = re.compile(
    r"[ \t}\])]|Caused by\b|\[cause\]|The above exception|During handling|\.\.\. \d+ more|\+-|\|"
)
LINE_WIDTH = 80
MID_SENTENCE = re.compile(r"(?: {12,40})?([a-z][a-z'-]*)(?=[ ,.;)]|$)")
"""How a line begins where a longer one was wrapped at that width."""

HEADS = re.compile(
    r"\s*(?:stderr|stdout) \||thread '[^'\n]{1,60}'(?: \(\d+\))? panicked at |[ \t]*\^+\s*$"
)
"""A line that introduces the words of a test runner, or of a program that crashed."""

TRACEBACK = "Traceback (most recent call last)"
CHAINS = ("The above exception", "During handling")
