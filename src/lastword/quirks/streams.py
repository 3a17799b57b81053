"""Provider streams: the items that begin, end or fail an answer, for each way of streaming.

`inprocess.streams` reads streams by these rows; it also owns what depends on an item's shape rather
than on a word.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class StreamDialect(Quirk, frozen=True, kw_only=True):
    """One way of streaming an answer.

    Attributes:
        packages: packages whose streams always have an item: an empty one was truncated.
        generators: those whose streams are plain generators. For other packages, an empty generator
            proves nothing: Anthropic's `text_stream` is empty if the answer is a tool call alone.
        first_events: prefixes of the names of its first events.
        beginnings: the events that begin an answer.
        endings: the events after which an answer is complete.
        failures: the events that are failures.
        first_keys: keys, one of which is the only key of a first item.
        unset_reasons: finish reasons which mean that nothing is finished.
    """

    packages: tuple[str, ...] = ()
    generators: bool = False
    first_events: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    first_keys: tuple[str, ...] = ()
    unset_reasons: tuple[str, ...] = ()


ROWS = (
    StreamDialect(
        name="openai",
        packages=("openai", "groq"),
        first_events=("response.",),
        beginnings=("response.created",),
        endings=("response.completed", "response.incomplete", "response.done"),
        failures=("error", "response.failed"),
        unset_reasons=("", "null"),
        evidence=(
            "the packages themselves on a server that cuts and fails (their streams are played in "
            "the tests); DashScope, which speaks like it, writes `null` in quotes"
        ),
        version="openai 2.54.0, groq 1.7.0",
    ),
    StreamDialect(
        name="anthropic",
        packages=("anthropic",),
        first_events=("message_start", "content_block_"),
        beginnings=("message_start",),
        endings=("message_stop",),
        failures=("error",),
        evidence="the package itself on a server that cuts and fails",
        version="anthropic 2.11.0",
    ),
    StreamDialect(
        name="mistral",
        packages=("mistralai",),
        first_events=("conversation.response.",),
        beginnings=("conversation.response.started",),
        endings=("conversation.response.done",),
        failures=("conversation.response.error",),
        evidence="the package itself on a server that cuts and fails; its events for conversations",
        version="mistralai 3.7.0",
    ),
    StreamDialect(
        name="gemini",
        packages=("google.genai",),
        generators=True,
        first_events=("interaction.",),
        beginnings=("interaction.created",),
        endings=("interaction.completed",),
        failures=("error",),
        unset_reasons=("FINISH_REASON_UNSPECIFIED",),
        evidence="the package itself on a server that cuts and fails; its events for interactions",
        version="google-genai 3.4.0",
    ),
    StreamDialect(
        name="ollama",
        packages=("ollama",),
        generators=True,
        evidence="the package itself on a server that cuts and fails",
        version="ollama 0.6.3",
    ),
    StreamDialect(
        name="bedrock",
        first_keys=("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop"),
        evidence="botocore's description of ConverseStream: one key an item, which is its event",
        version="botocore 1.44.5",
    ),
)

PACKAGES = tuple(package for row in ROWS for package in row.packages)
GENERATORS = tuple(package for row in ROWS if row.generators for package in row.packages)
FIRST_EVENTS = tuple((event, row.name) for row in ROWS for event in row.first_events)
"""The dialect of a stream, by the beginning of its first event's name."""
BEGINNINGS = frozenset(event for row in ROWS for event in row.beginnings)
ENDINGS = frozenset(event for row in ROWS for event in row.endings)
FAILURES = frozenset(event for row in ROWS for event in row.failures)
FIRST_KEYS = frozenset(key for row in ROWS for key in row.first_keys)
UNSET_REASONS = frozenset(reason for row in ROWS for reason in row.unset_reasons)
