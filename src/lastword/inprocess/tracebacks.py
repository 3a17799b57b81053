"""The traceback of a failed handler on its way to the author's log, without the secrets in it.

Owns the filter of log records that redacts it, and which exceptions a log can take at all. An
exception of a provider's package holds what the provider said, and some providers echo the key.
"""

from __future__ import annotations

import contextlib
import logging
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastword.inprocess.request import RequestLink

_FAILED: ContextVar[tuple[BaseException, RequestLink] | None] = ContextVar("failed", default=None)
"""What the handler of this context raised, and the link that knows the secrets."""

_FORMATTER = logging.Formatter()
_WHOLE_CHARS = 8192
"""The longest text that the redactor takes without a cut."""


class _WithoutSecrets(logging.Filter):
    """Redacts the traceback of what left a handler, and leaves every other record alone."""

    def filter(self, record: logging.LogRecord) -> bool:
        failed = _FAILED.get()
        if failed is None or not record.exc_info or record.exc_info[1] is not failed[0]:
            return True
        text = _FORMATTER.formatException(record.exc_info)
        # Redaction cuts a long text: a long traceback goes through it by the line.
        parts = [text] if len(text) <= _WHOLE_CHARS else text.split("\n")
        redacted = "\n".join(failed[1].redacted({"text": part})["text"] for part in parts)
        # Without a secret the author's own formatter has its way.
        if redacted != text:
            record.exc_text = redacted
        return True


_FILTER = _WithoutSecrets()


def readable(error: BaseException) -> BaseException:
    """Return the exception, or one of its name where it, a cause or a member cannot be looked at.

    A `__getattribute__` that raises does so wherever somebody asks for the exception's class.
    """
    waiting, looked_at = [error], set[int]()
    try:
        while waiting:
            each = waiting.pop()
            if id(each) in looked_at:
                continue
            looked_at.add(id(each))
            if isinstance(each, BaseExceptionGroup):
                waiting += each.exceptions
            linked = (each.__cause__, each.__context__)
            waiting += [other for other in linked if other is not None]
    except BaseException:  # noqa: BLE001 - foreign code
        return RuntimeError(type(error).__name__)
    return error


def is_printable(error: BaseException) -> bool:
    """Return whether a log can print the exception, with its notes, causes and members.

    One whose methods raise `SystemExit`, or a cancellation, would end whatever prints it: the SDK,
    or the event loop.
    """
    try:
        for text_of in (str, repr):
            with contextlib.suppress(Exception):  # which logs are prepared for
                text_of(error)
        traceback.format_exception(error)
    except BaseException:  # noqa: BLE001 - foreign code
        return False
    return True


def redact(error: BaseException, link: RequestLink) -> None:
    """Have the log record of what a handler raised redacted, in the context of its request.

    The official SDK logs it on the root logger, `lastword.serve` on the logger `lastword`.
    """
    _FAILED.set((error, link))
    for name in (None, "lastword"):
        logging.getLogger(name).addFilter(_FILTER)
