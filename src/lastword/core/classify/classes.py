"""Exception classes whose name alone says something.

Transport classes are in `transport`, and classes that name a cause (`ContextWindowExceededError`)
are in `tokens`, as words. This module has the rest: classes that an SDK derives from the status,
and those that mean a cancel, a child process, or a plain bug.
"""

from __future__ import annotations

from lastword.core.classify.text import names, normalise
from lastword.core.failure.taxonomy import ErrorType

CANCELLED = names("""
    CancelledError Cancelled KeyboardInterrupt AbortError APIUserAbortError MessageAbortedError
    TurnAborted RequestAborted UserAbortError TurnInterrupted CanceledError RequestAbortedError""")
"""Only as the outermost exception: a deadline cancels too, further down its chain."""

PROCESS = {
    "clinotfound": ("spawn_failed", False),
    "process": ("exit_status", False),
    "calledprocess": ("exit_status", False),
    "cliconnection": ("connection_closed", False),
    "systemexit": ("exit_status", False),
    "brokenprocesspool": ("killed", True),
}
"""Normalised class name -> reason and whether a retry can help."""

MISUSE = names("ResponseNotRead RequestNotRead StreamConsumed InvalidStateError CookieConflict")
"""A library used wrongly: a bug of the agent."""

BUILTINS = names("""
    ArithmeticError AssertionError AttributeError BufferError EOFError FileExistsError
    FileNotFoundError FloatingPointError ImportError IndexError IndentationError InterruptedError
    IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError NameError
    NotADirectoryError NotImplementedError OSError OverflowError PermissionError RangeError
    RecursionError ReferenceError RuntimeError StopAsyncIteration StopIteration SyntaxError
    SystemError TabError TypeError UnboundLocalError UnicodeError UnicodeEncodeError
    UnicodeTranslateError ValueError ZeroDivisionError BlockingIOError ChildProcessError EvalError
    QueueFull QueueEmpty URIError NullPointerException IllegalStateException
    IllegalArgumentException IndexOutOfBoundsException ClassCastException""")
"""The languages' own errors: a bug, where nothing in the chain says otherwise."""

BUGS = names("""
    KeyError AttributeError NameError IndexError TypeError UnboundLocalError ImportError
    ModuleNotFoundError NotImplementedError ZeroDivisionError RecursionError SyntaxError
    IndentationError NullPointerException IndexOutOfBoundsException ClassCastException""")
"""Those of them whose text consists of names and never states a cause."""

OWN_BUGS = names("MisuseError Misused NotInTurnError")
"""What this package raises where it is called wrongly: its text names types and limits."""

PROVIDER_PACKAGES = frozenset({
    *("ai21", "aiohttp", "anthropic", "azure", "boto3", "botocore", "cerebras", "cohere", "groq"),
    *("claude_agent_sdk", "dashscope", "fireworks", "google", "grpc", "h11", "h2", "http", "httpx"),
    *("httpcore", "huggingface_hub", "instructor", "langchain", "langchain_anthropic", "litellm"),
    *("langchain_aws", "langchain_core", "langchain_google_genai", "langchain_openai", "mistralai"),
    *("llama_index", "ollama", "openai", "openrouter", "pydantic_ai", "replicate", "requests"),
    *("smolagents", "ssl", "together", "transformers", "urllib", "urllib3", "vertexai", "zhipuai"),
    *("websockets",),
})  # fmt: skip
"""Packages whose ValueError may be a provider's refusal, first component of the module."""

_BUILTIN_MODULES = frozenset({"builtins", "", "asyncio.queues", "java.lang"})

BY_STATUS = {
    name: kind
    for kind, block in {
        ErrorType.RATE_LIMIT: "RateLimitError TooManyRequests ResourceExhausted QuotaError",
        ErrorType.AUTH: """AuthenticationError PermissionDeniedError PermissionDenied Forbidden
            Unauthorized PermissionError ForbiddenError Unauthenticated""",
        ErrorType.INVALID_REQUEST: """BadRequestError UnprocessableEntityError InvalidRequestError
            InvalidArgument FailedPrecondition ConflictError BadRequest UnsupportedParamsError
            MethodNotAllowed InvalidPromptError""",
        ErrorType.MODEL_NOT_FOUND: "NotFoundError NotFound",
        ErrorType.PROVIDER_UNAVAILABLE: """InternalServerError ServiceUnavailableError
            ServiceUnavailable BadGateway BadGatewayError ServerError StreamFailedError""",
        ErrorType.TIMEOUT: "GatewayTimeout GatewayTimeoutError",
        ErrorType.PROTOCOL_ERROR: "ValidationError",
    }.items()
    for name in names(block)
}
"""Classes that an SDK derives from the status alone: used where the status itself is gone."""


def is_builtin(module: str, name: str) -> bool:
    """Return whether a class is one of a language's own errors."""
    return module in _BUILTIN_MODULES and normalise(name) in BUILTINS
