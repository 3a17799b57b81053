"""Honest answers that speak of errors, each with the prompt that it answers.

Owns what must never be taken for a failed turn: explanations, documentation, commit messages,
reviews, examples, quotations, counts. `equal_answers` are the ones that are an error's text word
for word, since somebody asked for one: no form can tell those, and only the prompt does.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

_LINES = Path(__file__).with_name("honest_lines.txt")
"""Single answers, a line each; a line break in one is written as in Python."""


class Honest(NamedTuple):
    """An answer, and what was asked."""

    prompt: str
    answer: str


class _Status(NamedTuple):
    number: int
    reason: str
    gloss: str
    cure: str


_STATUSES = (
    _Status(400, "Bad Request", "the request is malformed", "check the body"),
    _Status(401, "Unauthorized", "the API key is missing or invalid", "check your API key"),
    _Status(402, "Payment Required", "the credits are used up", "top up the account"),
    _Status(403, "Forbidden", "the key may not do that", "ask for the permission"),
    _Status(404, "Not Found", "the model does not exist", "check the model's name"),
    _Status(408, "Request Timeout", "the client took too long", "send it again within 30 s"),
    _Status(413, "Payload Too Large", "the prompt is too long", "shorten it to 8000 tokens"),
    _Status(429, "Too Many Requests", "you exceeded the rate limit", "wait 20 seconds, then retry"),
    _Status(500, "Internal Server Error", "the server failed", "look at the server's log"),
    _Status(502, "Bad Gateway", "the upstream sent nonsense", "check that nginx sees port 8080"),
    _Status(503, "Service Unavailable", "the service is overloaded", "retry after 5 minutes"),
    _Status(504, "Gateway Timeout", "the upstream did not answer", "raise the limit to 60 s"),
)

_ABOUT_STATUSES = (
    "{n}",
    "{n}.",
    "`{n}`",
    "**{n}**",
    "{n} {r}",
    "{n} {r}.",
    "**{n} {r}**",
    "HTTP {n}",
    "HTTP {n} {r}",
    "HTTP/1.1 {n} {r}",
    "Status {n}",
    "Status code {n}",
    "Error {n}",
    "{n} ({r})",
    "{n} \u2013 {r}",
    "{n}: {r}",
    "{r}",
    "That is {n} {r}.",
    "It's {n}: {g}.",
    "You want {n}, not 400.",
    "{n} {r} means that {g}.",
    "HTTP {n} {r} means that {g}. Please {c}.",
    "HTTP {n} means {g}; {c}.",
    "{n} means: {g}. Please {c} and try again.",
    "{n} {r} is returned when {g}. See https://example.com/docs/errors for more.",
    "{n} {r} is an error that says: {g}.",
    "Error {n} is what you get when {g}. To fix it, {c}.",
    "A {n} indicates that {g}, so {c}.",
    "{n} {r} tells the client that {g}, for example after 3 attempts.",
    "{n} {r} bedeutet, dass der Server die Anfrage ablehnt, zum Beispiel nach 60 s.",
    "Der Status {n} bedeutet: {r}. Nach 20 s noch einmal versuchen.",
    "{n} {r} signifie que le serveur refuse la requ\u00eate, souvent pendant 60 s.",
    "{n} {r} significa que el servidor rechaza la solicitud durante 60 s.",
    "{n} {r} \u8868\u793a\u670d\u52a1\u5668\u62d2\u7edd\u4e86\u8bf7\u6c42\u3002",
    "HTTP {n} \u3068\u306f\u300c{r}\u300d\u3068\u3044\u3046\u610f\u5473\u3067\u3059\u3002",
    "## {n} {r}\n\n{g}. Please {c}.",
    "- {n} {r}: {g}\n- 418 I'm a teapot: a joke",
    "1. {n} {r}: {g}\n2. retry after 20 s",
    "| {n} | {r} | {g} |",
    "{n} {r}\n\nThe server answers so when {g}. You can {c}.",
    "{n} {r}\n\nThis comes from the provider: {g}.",
    "HTTP {n}: {r}\nThis means {g}. Please {c}.",
    "```\nHTTP/1.1 {n} {r}\nRetry-After: 20\n```",
    "```\nError: {n} {r}\n```\nThat is all the log has.",
    "fix: {n} {r} is retried after 20 s",
    "fix(client): handle {n} responses",
    "{n}: retry with backoff, 3 attempts",
    "HTTP {n}: log the request id before raising",
    "Error {n}: handle it in the client, after 3 attempts",
    "{n} responses are now retried up to 3 times, see https://example.com/pull/12.",
    "{n} errors are now logged with the request id.",
    "{n} {r} pages now point to https://example.com/help.",
    "In `client.py` a {n} is swallowed: please re-raise it after the last attempt.",
    "Error handling in the API client: {n} is retried 3 times, others are not.",
    "Error handling: the {n} branch never returns. Please add a `return`.",
    "I changed the handler: a {n} {r} is now retried 3 times.",
    "Fixed. The client waits 20 s after a {n} {r} and tries again.",
    "Your server answers {n} {r} because {g}. Please {c}.",
    "The request failed with status {n} because {g}. Please {c}.",
    "The request failed with status code {n}: {g}. Please {c} and try again.",
    "This request returned {n} after 3 attempts, so the API at http://localhost:8080 is down.",
    "Yes: the API returned {n} for request req_12, which is in the log twice.",
    "The log shows `{n} {r}` three times; {c}.",
    'It says "{n} {r}".',
    '"{n} {r}: {g}"',
    "> {n} {r}: {g}\n\nThat line is the provider's.",
    'if response.status_code == {n}:\n    raise ApiError("{r}")',
    "{n} tests passed in 12 s, none failed.",
    "{n} files changed, 500 insertions(+), 404 deletions(-)",
    "{n} lines were removed; please look at https://example.com/pull/7.",
    "{n} Python files were formatted in 3 s.",
    "The answer is {n}.",
    "{n} + 3 = ?",
    "curl -i https://example.com/v1 prints `{n} {r}`.",
    "`raise HTTPException(status_code={n}, detail=\"{r}\")`",
    "Try `assert response.status_code == {n}`.",
)  # fmt: skip


class _Name(NamedTuple):
    name: str
    package: str
    gloss: str


_NAMES = (
    _Name("RateLimitError", "openai", "the API answers 429"),
    _Name("APIConnectionError", "openai", "the client cannot connect"),
    _Name("AuthenticationError", "anthropic", "the key is wrong"),
    _Name("APITimeoutError", "anthropic", "the request takes longer than 600 s"),
    _Name("ReadTimeout", "httpx", "no byte comes within 5 s"),
    _Name("ConnectError", "httpx", "the connection is refused"),
    _Name("RemoteProtocolError", "httpx", "the peer closes the connection"),
    _Name("ClientConnectorError", "aiohttp", "the host cannot be reached"),
    _Name("ContextWindowExceededError", "litellm", "the prompt has more than 8192 tokens"),
    _Name("ServiceUnavailableError", "litellm", "the provider is overloaded"),
    _Name("ConnectionResetError", "builtins", "the peer resets the connection"),
    _Name("TimeoutError", "asyncio", "the deadline of 10 s has passed"),
)

_ABOUT_NAMES = (
    "{e}",
    "{e}.",
    "`{e}`",
    "`{p}.{e}`",
    "{p}.{e}",
    "It raises `{p}.{e}`.",
    "`{e}` is raised when {g}.",
    "{e} is raised when {g}; please see https://example.com/docs.",
    "{e}: raised when {g}.",
    "{e}: Raised if {g}, after 3 attempts.",
    "{p}.{e}: If {g}.",
    "{p}.{e}: When {g}, please retry after 20 s.",
    "{p}.{e}: thrown if {g}",
    "{e} means that {g}. Please try again after 20 s.",
    "{e}: it means that {g}, for example after 3 attempts.",
    "{p}.{e} hei\u00dft: {g}.",
    "**{e}**: {g}.",
    "- `{e}`: {g}\n- `ValueError`: anything else",
    "# {e}\n\nRaised when {g}.",
    "fix: catch {e} and retry",
    "{e}: retry with backoff, 3 attempts",
    "{e}: raise the limit to 30 s",
    "{e}: handle it where the client is made",
    "{p}.{e}: add a test for the third attempt",
    "{p}: map {e} to a retry after 20 s",
    "I added a test: it waits for {p}.{e} and passes.",
    "Let me explain: {e} comes when {g}.",
    "The last line, `{p}.{e}: ...`, says that {g}.",
    "The traceback ends with {p}.{e}, since {g}. Please check the network.",
    "Your code never catches {e}; wrap the call:\n\n```python\nexcept {p}.{e}:\n    retry()\n```",
    "except {p}.{e} as error:\n    log(error)",
    "class {e}(Exception):\n    \"\"\"Raised when {g}.\"\"\"",
    "Catch {e} first, then Exception.",
    "{e} and ValueError.",
    "{e}, if {g}.",
    "{e} (from {p}) when {g}",
    "Raises:\n    {e}: If {g}.",
    "Use `pytest.raises({p}.{e})`.",
    "No: {e} is a subclass of {p}.APIError.",
    "\"{p}.{e}: {g}\"",
)  # fmt: skip

_TOKENS = (
    ("ECONNREFUSED", "nothing listens on port 5432"),
    ("ECONNRESET", "the peer closed the connection"),
    ("ETIMEDOUT", "the host did not answer within 30 s"),
    ("ENOTFOUND", "the name cannot be resolved"),
    ("EAI_AGAIN", "the resolver does not answer"),
    ("EPIPE", "the reader has gone"),
    ("UND_ERR_SOCKET", "the other side closed the socket"),
    ("ERR_CERT_AUTHORITY_INVALID", "the certificate is self-signed"),
    ("RESOURCE_EXHAUSTED", "the quota is used up"),
    ("UNAVAILABLE", "the service is down"),
    ("rate_limit_error", "you sent too many requests"),
    ("overloaded_error", "the provider is overloaded"),
    ("insufficient_quota", "the credits are used up"),
    ("context_length_exceeded", "the prompt is longer than 8192 tokens"),
    ("fetch failed", "the network is gone"),
    ("Connection error.", "the host cannot be reached"),
)

_ABOUT_TOKENS = (
    "`{t}`",
    "`{t}`: {g}.",
    "{t} means that {g}.",
    "{t} means: {g}. Please try again after 20 s.",
    "{t} is what Node says when {g}, see https://example.com.",
    "It says `{t}`: {g}.",
    "The error code is {t}.",
    "The cause is `{t}`, so {g}. Please check 127.0.0.1:5432.",
    "**{t}**: {g}",
    "- {t}: {g}\n- EACCES: no permission",
    "{t} \u2192 {g}",
    "fix: retry on {t}",
    "I fixed it: {t} is now retried 3 times.",
    "Retry on {t}, up to 3 attempts.",
    "The test failed with {t}; please start Postgres on port 5432 first.",
    "Because {g}, you get {t}. Start it and try again.",
    "```\n{t}\n```",
    '"{t}"',
    "case \"{t}\":\n    return retry(after=20);",
    "You can fix {t} by checking that {g}, then retry.",
)  # fmt: skip

_BODIES = (
    '{{"error": {{"type": "{t}", "message": "{g}"}}}}',
    '{{"type": "error", "error": {{"type": "{t}", "message": "{g}"}}, "request_id": "req_1"}}',
    '{{\n  "error": {{\n    "message": "{g}",\n    "code": {n}\n  }}\n}}',
    '{{"status": {n}, "title": "{t}", "detail": "{g}"}}',
    '{{"status": {n}, "meaning": "{g}"}}',
    '[{{"error": {{"code": {n}, "message": "{g}"}}}}]',
    '```json\n{{"error": {{"type": "{t}", "message": "{g}"}}}}\n```',
    'Here is one:\n\n{{"error": {{"type": "{t}", "message": "{g}"}}}}',
    'Sure: {{"error": {{"code": {n}, "message": "{g}"}}}}',
    'An example, as `{t}`: {{"error": {{"message": "{g}"}}}}',
    'The body is {{"error": {{"code": {n}, "message": "{g}"}}}}, and the status {n}.',
    'HTTP/1.1 {n} Error\nContent-Type: application/json\n\n{{"error": {{"type": "{t}"}}}}',
)

_KINDS = (
    (429, "rate_limit_error", "You sent too many requests. Please try again in 20s."),
    (401, "authentication_error", "Incorrect API key provided: sk-***."),
    (529, "overloaded_error", "Overloaded"),
    (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    (402, "insufficient_quota", "You exceeded your current quota."),
    (404, "model_not_found", "The model `gpt-9` does not exist."),
)

_OTHERS = (
    (
        "What limits does it have?",
        "rate_limit: 60 requests per minute, please see https://a.example",
    ),
    ("Write the YAML.", "request_timeout: 30 s\nconnect_timeout: 10 s\nmax_retries: 3"),
    ("Write the YAML.", "on_error: retry after 20 s\non_timeout: fail"),
    ("Which settings?", "api_key: required, see https://example.com/keys"),
    ("What is a 401(k)?", "401(k) plans let you save for your pension before tax."),
    ("How long is it?", "500 m, about 429 s on foot."),
    ("And in euros?", "429 EUR, please see https://example.com/prices."),
    ("Which model?", "404 Media wrote of it; see https://example.com."),
    ("Explain the log.", "Error: the log has two. Please look at lines 3 and 5."),
    ("Is it done?", "Error handling is done: 3 attempts, 20 s apart, then RateLimitError."),
    ("Can you do it?", "I can't help with that."),
    (
        "Can you do it?",
        "I'm sorry, but I can't help with that request. Please ask for something else.",
    ),
    ("Go on.", "Request validation comes next: it returns 400 after 3 attempts."),
    ("Go on.", "API keys are checked first; a wrong one gives 401 (AuthenticationError)."),
    ("Go on.", "Timeouts: connect 5 s, read 30 s. Please confirm."),
    ("What next?", "Please try again in 20 s, the build is still under way."),
    ("Anything else?", "Please check your plan and billing details on the settings page."),
)

_ECHOES = (
    "401 Unauthorized: Incorrect API key provided: sk-***. See https://example.com/keys",
    "401 Incorrect API key provided: sk-***.",
    "429 You exceeded your current quota, please check your plan and billing details.",
    "Error: 429 Too Many Requests, please try again in 20s",
    'Error: 429 {"error": {"type": "rate_limit_error", "message": "Slow down"}}',
    "openai.APIConnectionError: Connection error.",
    "openai.RateLimitError: Error code: 429 - {'error': {'message': 'Slow down'}}",
    "HTTPError: 404 Client Error: Not Found for url: https://example.com/",
    "Error: connect ECONNREFUSED 127.0.0.1:5432",
    "ECONNREFUSED 127.0.0.1:5432: nothing listens there. Start Postgres and try again.",
    "Error 429: too many requests. Wait 60 s and try again.",
    "RESOURCE_EXHAUSTED: quota exceeded, please retry in 20 s",
    "API Error: 529 Overloaded. Please try again later.",
    "503 Service Unavailable. Please try again in 5 minutes.",
)  # fmt: skip

_ASKED_FOR = (
    "Repeat this, and nothing else: {e}",
    "Which line of this log names the cause?\n\nINFO start\n{e}\nINFO stop",
    "Show me an example of an error that a provider sends.",
    "Translate into English: Fehler bei der Anfrage, Status 4xx",
)


def _about(
    templates: tuple[str, ...], prompt: str, values: list[dict[str, object]]
) -> list[Honest]:
    return [
        Honest(prompt.format(**value), template.format(**value))
        for template, value in product(templates, values)
    ]


def _lines() -> list[str]:
    return _LINES.read_text(encoding="utf-8").splitlines()


def honest_answers() -> list[Honest]:
    """Every answer once, in the order of the tables."""
    statuses: list[dict[str, object]] = [
        {"n": it.number, "r": it.reason, "g": it.gloss, "c": it.cure} for it in _STATUSES
    ]
    names: list[dict[str, object]] = [
        {"e": it.name, "p": it.package, "g": it.gloss} for it in _NAMES
    ]
    tokens: list[dict[str, object]] = [{"t": token, "g": gloss} for token, gloss in _TOKENS]
    kinds: list[dict[str, object]] = [
        {"n": n, "t": token, "g": gloss} for n, token, gloss in _KINDS
    ]
    told = [
        *_about(_ABOUT_STATUSES, "What does HTTP {n} stand for?", statuses),
        *_about(_ABOUT_NAMES, "When does {p} raise {e}?", names),
        *_about(_ABOUT_TOKENS, "I see {t} in the output. What is it?", tokens),
        *_about(_BODIES, "Give me an example of an error body with {t}.", kinds),
        *(Honest(prompt, answer) for prompt, answer in _OTHERS),
        *(Honest("And the error?", line.replace("\\n", "\n")) for line in _lines()),
    ]
    return list({honest.answer: honest for honest in told}.values())


def equal_answers() -> list[Honest]:
    """Answers that are an error's text, word for word, because the prompt asked for it."""
    return [Honest(ask.format(e=echo), echo) for ask, echo in product(_ASKED_FOR, _ECHOES)]
