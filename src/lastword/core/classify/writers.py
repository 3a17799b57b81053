"""Writers: whether a line in a log or on stderr reports a failed model call, and not another failure.

Owns the one gate over such text: its form, the program that wrote it and the hosts that it names.
An agent's stderr and logs also have the output of tools, of MCP servers and of update checks, and a
`429` there says nothing about the model. Where and when a line was written is not considered here
(`core.link.stderr`, `sidecar.own_logs`); what each level may do is in `core.failure.attribution`.

The foreign writers are the programs that a coding agent commonly starts; the forms are those of the
SDKs and the providers, as in their documentation and in recorded failures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lastword.core.classify import read_lines
from lastword.core.classify.prose import MODEL_CALL_ERRORS
from lastword.core.failure.attribution import Attribution
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
_GUESSES = ("text:", "concept:", "word:", "guess:")

# --- other programs ------------------------------------------------------------------------------

_PROGRAMS = (
    r"npm|npx|yarn|pnpm|bun|deno|corepack|node-gyp|pip3?|pipx|uv|uvx|poetry|conda|cargo|rustup|rustc"
    r"|go|gradle|gradlew|mvn|maven|sbt|dotnet|nuget|composer|bundler?|gem|rake|apt|apt-get|dpkg|brew"
    r"|dnf|yum|apk|pacman|snap|git|gh|glab|hub|svn|docker|dockerd|podman|buildah|compose|kubectl|helm"
    r"|minikube|kind|terraform|tofu|pulumi|ansible|ansible-playbook|vagrant|packer|aws|az|gcloud"
    r"|gsutil|doctl|flyctl|fly|heroku|vercel|netlify|wrangler|firebase|supabase|stripe|twilio|curl"
    r"|wget|http|httpie|ssh|scp|sftp|rsync|psql|pg_dump|postgres|mysql|mysqldump|mariadb|redis"
    r"|redis-cli|mongo|mongosh|sqlite3?|make|gmake|cmake|ninja|bazel|gcc|g\+\+|clang|ld|tsc|tsx|eslint"
    r"|prettier|biome|jest|vitest|mocha|karma|cypress|playwright|pytest|unittest|tox|nox|mypy|ruff"
    r"|flake8|pylint|black|pyright|rspec|phpunit|javac?|kotlinc?|scalac?|php|ruby|perl|lua|swiftc?"
    r"|xcodebuild|pod|flutter|dart|sudo|su|systemctl|journalctl|nginx|apache2?|caddy|traefik|envoy"
    r"|haproxy|openssl|gpg|ping|dig|nslookup|host|nc|telnet|ffmpeg|convert|zip|unzip|tar|rg|grep|sed"
    r"|awk|find|xargs|bash|sh|zsh|fish|dash|cat|rm|cp|mv|ls|mkdir|chmod|df|du|kill|ps|lsof|strace"
    r"|sentry(?:-cli)?|codecov|sonar(?:-scanner)?|snyk|trivy|renovate|dependabot|semgrep|webpack|vite"
    r"|rollup|esbuild|parcel|turbo|nx|lerna|next|nuxt|astro|electron|chrome|chromium|puppeteer"
    r"|ansible-galaxy|vault|consul|nomad|etcdctl|kafka\S*|rabbitmq\S*|mosquitto\S*|crontab|at"
)
_PROGRAM_PREFIX = re.compile(
    rf"^\W{{0,4}}(?:(?i:error|warn(?:ing)?|fatal|info|err!?)\W{{1,3}})?(?:\w+/)*"
    rf"(?:{_PROGRAMS})(?:\.(?:exe|cmd|sh))?(?:\[\d+\]|\(\d+\))?"
    r"(?::|\s+(?i:error|err!|warn(?:ing)?|fatal|failed|http|notice)\b|>\s|\]\s?)"
)
"""A line that begins with the name of a program: `npm error 404`, `curl: (22)`."""

_WRITERS = re.compile(
    r"\b(?:mcp|mcp[-_]\w+|\w+[-_]mcp|mcpservers?|hooks?|plugins?|extensions?|skills?|telemetry|statsig"
    r"|posthog|sentry|segment|amplitude|mixpanel|datadog|launchdarkly|growthbook|opentelemetry|otel"
    r"|otlp|analytics|metrics|(?<![</])titles?|summar(?:y|ies|i[sz]er|i[sz]ation)|small=true"
    r"|(?:auto-?)?updat(?:e|er|es)|update[ -]check|version check|self-update|marketplace|webhooks?"
    r"|lsp|language[ -]server|rust-analyzer|gopls|pylsp|tsserver|jdtls|clangd|eslint|formatter|linter"
    r"|tools?|tool[ -]call|bash|shell|terminal|command|subprocess|child process|stdout of|stderr of"
    r"|dependency|dependencies|packages?|registry|repositor(?:y|ies)|indexer|web[ -]?search"
    r"|web[ -]?fetch|webfetch|browser|crawler|scraper|image generation|transcription|speech|tts"
    r"|notification service|crash report(?:er)?|feedback|changelog|release notes|npm|pip|github"
    r"|gitlab|bitbucket|slack|jira|linear|notion|discord|figma|stripe|twilio|sendgrid|shopify"
    r"|salesforce|kubernetes|k8s|kubelet|terraform|oauth provider|identity provider|saml|sso|ldap"
    r"|payment|credential provider|cloud provider|data ?base|postgres|mysql|redis|mongo\w*|kafka"
    r"|s3|ec2|lambda|dynamodb|sqs|sns|route53|docker|containerd|weather|maps|calendar|gmail|drive"
    r"|side[ -]?chain|sub-?agents?|sub-?tasks?|test(?:s|ing|_\w+)?|spec|fixtures?|assertion\w*)\b",
    re.IGNORECASE,
)
"""Words of a line's beginning about something other than the turn's model call."""

_LOGGER = re.compile(
    r"[\"'](?:name|logger|target|module|scope|component|service|source|category|server)[\"']\s*:\s*"
    r"[\"']([^\"']{1,80})[\"']"
)
"""The writer that a JSON log line names."""

_TEST_REPORT = re.compile(
    r"^\s*(?:E  |>  |FAILED|FAIL:?|ERROR:? test|not ok|\u2715|\u2717|\u00d7|\u25cf|--- FAIL|Expected"
    r"|Received|AssertionError|panicked at tests|thread '\w*test)"
)

# --- the form of a failed model call -------------------------------------------------------------

_SDK_PACKAGES = (
    r"openai|anthropic|litellm|groq|cohere|mistralai|together|ollama|cerebras|fireworks|replicate"
    r"|dashscope|zhipuai|volcenginesdkarkruntime|xai_sdk|huggingface_hub|vertexai|google\.genai"
    r"|google\.generativeai|langchain_\w+|llama_index|pydantic_ai|instructor|kosong|async_openai"
    r"|rig|genai"
)
_SDK_ERROR = re.compile(
    rf"\b(?:{_SDK_PACKAGES})(?:\.|::)(?:\w+(?:\.|::))*\w*(?:Error|Exception|Exhausted|Timeout)\b"
    r"|\bAI_(?:APICallError|RetryError|LoadAPIKeyError|NoSuchModelError|TypeValidationError"
    r"|InvalidResponseDataError|EmptyResponseBodyError|JSONParseError|NoContentGeneratedError)\b"
    r"|\bAPI(?:Connection(?:Timeout)?|Status|Timeout|Call|UserAbort|EmptyResponse"
    r"|Provider\w{0,40}|ContextOverflow\w{0,20})Error\b"
    r"|\b(?:ContextWindowExceeded|ContextLengthExceeded|ModelOverloaded|ModelNotFound|ChatProvider\w*"
    r"|GoogleGenerativeAI|ProviderRateLimit|ProviderAuth|ProviderModelNotFound|LLM\w{0,30})Error\b"
    r"|\b(?:RateLimit|Authentication|InternalServer|PermissionDenied|Overloaded|NotFound|BadRequest"
    r"|UnprocessableEntity|ServiceUnavailable|API)Error[\"']?: (?:Error code: )?[45]\d\d\b"
    r"|\bError code: \d{3} - [{\[\"'<]"
    r"|/node_modules/(?:openai|ai|@anthropic-ai|@google/gen\w*|@ai-sdk|@mistralai|groq-sdk|ollama)/"
    r"|/(?:site|dist)-packages/(?:openai|anthropic|litellm|groq|mistralai|google/genai|ollama)/"
)
"""The name of a model SDK's error, or a frame of its stack."""

_BODY_TYPES = (
    r"rate_limit_error|rate_limit_exceeded|overloaded_error|insufficient_quota|authentication_error"
    r"|permission_error|not_found_error|billing_error|api_error|server_error|timeout_error"
    r"|request_too_large|context_length_exceeded|invalid_api_key|model_not_found|usage_limit_reached"
    r"|exceeded_current_quota_error|invalid_authentication_error|engine_overloaded_error"
    r"|invalid_request_error|credit_balance\w*|content_filter|tokens_limit_reached|server_overloaded"
)
_BODY = re.compile(
    rf"[\"']type[\"']\s*:\s*[\"']error[\"']\s*,\s*[\"']error[\"']\s*:\s*\{{"
    rf"|[\"']error[\"']\s*:\s*\{{(?=[^{{}}]{{0,2000}}?[\"']message[\"'])"
    rf"(?=[^{{}}]{{0,2000}}?[\"'](?:type|code)[\"']\s*:\s*[\"'](?:{_BODY_TYPES})[\"'])"
    rf"|\\\"error\\\"\s*:\s*\{{[^{{}}]{{0,2000}}?\\\"(?:type|code)\\\"\s*:\s*\\\"(?:{_BODY_TYPES})"
)
"""The body of a model provider's error."""

_GOOGLE_STATUS = re.compile(
    r"\b(?:RESOURCE_EXHAUSTED|UNAVAILABLE|UNAUTHENTICATED|PERMISSION_DENIED|INVALID_ARGUMENT"
    r"|DEADLINE_EXCEEDED|API_KEY_INVALID|NOT_FOUND)\b"
)
_GOOGLE_MODEL = re.compile(
    r"generativelanguage|aiplatform|\bmodels?/|\bgemini|generate_?content", re.IGNORECASE
)

_HOST = re.compile(
    r"https?://(?:[^\s/@\"']{1,200}@)?([\w.-]{1,200}|\[[\da-fA-F:]+\])(?::\d+)?"
    r"|\bhost=[\"']([\w.-]+)[\"']|\b(?:ENOTFOUND|EAI_AGAIN|lookup|resolve host:?|resolve) ([\w-]+(?:\.[\w-]+)+)"
)
_MODEL_HOST = re.compile(
    r"^(?:.*\.)?(?:openai\.com|openai\.azure\.com|cognitiveservices\.azure\.com|chatgpt\.com"
    r"|anthropic\.com|claude\.com|claude\.ai|generativelanguage\.googleapis\.com|ai\.google\.dev"
    r"|(?:[\w-]+-)?aiplatform\.googleapis\.com|cloudcode-pa\.googleapis\.com|aistudio\.google\.com"
    r"|bedrock[\w.-]*\.amazonaws\.com|openrouter\.ai|mistral\.ai|groq\.com|deepseek\.com|x\.ai|grok\.com"
    r"|cohere\.(?:ai|com)|together\.(?:ai|xyz)|fireworks\.ai|perplexity\.ai|cerebras\.ai|nvidia\.com"
    r"|githubcopilot\.com|models\.github\.ai|moonshot\.(?:ai|cn)|kimi\.com|z\.ai|bigmodel\.cn"
    r"|dashscope[\w.-]*\.aliyuncs\.com|qwen\.ai|volces\.com|minimax\.(?:io|chat)|minimaxi\.com"
    r"|siliconflow\.(?:cn|com)|factory\.ai|sambanova\.ai|hyperbolic\.xyz|novita\.ai|deepinfra\.com"
    r"|replicate\.com|huggingface\.co|ollama\.com|opencode\.ai|cline\.bot|kilocode\.ai|poe\.com"
    r"|nebius\.(?:ai|com)|baseten\.co|inference\.ai\.azure\.com|cursor\.(?:sh|com)|augmentcode\.com)$",
    re.IGNORECASE,
)
_LOOPBACK = re.compile(
    r"^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)$"
)
_MODEL_PATH = re.compile(
    r"/chat/completions\b|/v\d+(?:beta)?/(?:messages|responses|completions|models/[\w.:-]+)\b"
    r"|/openai/deployments/|:(?:stream)?[gG]enerateContent\b|/api/(?:chat|generate)\b"
    r"|/model/[\w.:%-]+/(?:converse|invoke)|/backend-api/(?:codex|conversation)|/anthropic/v1\b"
)
_FAILED = re.compile(
    r"\b(?:4\d\d|5\d\d)\b|\b(?:error|fail(?:ed|ure|s)?|retry\w*|refused|timed? ?out|timeout|reset"
    r"|terminated|exceeded|exhausted|unauthori[sz]ed|overloaded|unavailable|disconnected|invalid"
    r"|denied|ECONN\w+|ETIMEDOUT|ENOTFOUND)\b",
    re.IGNORECASE,
)
_MODEL_CALL = re.compile(
    r"\b(?:"
    r"(?:llm|language model|chat model|ai)(?: api| model)? (?:providers?|requests?|calls?|api|errors?"
    r"|streams?|responses?|completions?|turns?|query|returned|failed|backend|endpoint)"
    r"|models? (?:providers?|requests?|calls?|api|stream(?:ing|s)?|responses?|completions?"
    r"|inference|endpoint|turns?|errors?|returned|backend|is overloaded|overloaded|invocation)"
    r"|(?:provider|upstream|inference) (?:api )?(?:errors?|requests?|calls?|returned|responded"
    r"|responses?|stream|rate[ -]limit(?:ed)?|overloaded|unavailable|timed? ?out|failed)"
    r"|(?:chat|text|message)[ -]completions?|completions? (?:request|call|api|failed|error|stream)"
    r"|generate(?:_| )?content|model_?error|model_?provider|provider_?error|llm_?error|api_?error"
    r"|(?:openai|anthropic|claude|gemini|mistral|deepseek|groq|bedrock|openrouter|ollama|vertex(?: ai)?"
    r"|azure openai|moonshot|kimi|qwen|glm|zhipu|grok|copilot|codex|cohere|fireworks|cerebras|xai)"
    r" (?:api|model|provider|requests?|calls?|errors?|streams?|responses?|messages|returned|failed"
    r"|rate|quota|usage|overloaded|is)"
    r"|(?:calling|call to|contacting|reaching|querying|connecting to|request to|response from"
    r"|error from|access|access to) (?:the |your )?(?:llm|language model|model|provider|ai provider|ai model"
    r"|openai|anthropic|claude|gemini|mistral|deepseek|groq|bedrock|openrouter|ollama)\b"
    r")",
    re.IGNORECASE,
)
_API_CALL = re.compile(
    r"(?:^|[\]:|\-\u2013(\[])\s*(?:api|the api) (?:errors?|calls?|requests?|status|connection"
    r"|responses?|retry)\b",
    re.IGNORECASE,
)
"""`API Error: …` at the beginning of a message: the one API of an agent that needs no name."""

_OWN_SENTENCES = re.compile(
    r"context (?:window|length)|maximum context|prompt is too long|\btokens? per (?:min|day)"
    r"|\b[RT]P[MD]\b|credit balance is too low|exceeded your current quota|incorrect api key provided"
    r"|invalid x-api-key|model [`'\"][\w./:@-]+[`'\"] (?:does not exist|not found|is not)|model_not_found"
    r"|usage limit reached|hit your (?:usage )?limit|insufficient_quota|overloaded_error",
    re.IGNORECASE,
)
"""Sentences that only a model provider writes."""


def attribution_of(record: str) -> Attribution:
    """Return how certain it is that a record reports a failed model call, by its text alone.

    It is never `PROVEN`: no text proves which session it is about.

    Args:
        record: One line with the lines that continue it, such as a traceback.
    """
    text = record[:_RECORD_CHARS]
    if is_foreign(text):
        return Attribution.FOREIGN
    return Attribution.STRONG if has_form(text) else Attribution.WEAK


def is_foreign(record: str) -> bool:
    """Return whether another program wrote this record, or it is about another server."""
    first = record[:_HEAD_CHARS].split("\n", 1)[0]
    # What a body or a URL holds is somebody's own text.
    head = re.split(r"[{<]|https?://", first, maxsplit=1)[0] if first[:1] != "{" else ""
    logger = _LOGGER.search(first)
    if _PROGRAM_PREFIX.match(first) or _TEST_REPORT.match(record) or _WRITERS.search(head):
        return True
    if logger is not None and _WRITERS.search(re.sub(r"[._/:]", " ", logger[1])):
        return True
    return _names_other_host(record)


def _names_other_host(record: str) -> bool:
    """Return whether a record names hosts, none of which is a model's."""
    if _MODEL_PATH.search(record) or _SDK_ERROR.search(record):
        return False
    hosts = [next(filter(None, match.groups())) for match in _HOST.finditer(record)]
    others = [host for host in hosts if not _LOOPBACK.match(host)]
    return bool(others) and not any(_MODEL_HOST.match(host) for host in others)


def has_form(record: str) -> bool:
    """Return whether a record has the form of a model call's failure.

    That is the full name of a model SDK's error, the body of a provider's error, a failure beside
    a model's host or path, or a sentence that says that the failure is the model call's.
    """
    if _SDK_ERROR.search(record) or _BODY.search(record):
        return True
    if _GOOGLE_STATUS.search(record) and _GOOGLE_MODEL.search(record):
        return True
    if _FAILED.search(record) is None:
        return False
    if _MODEL_PATH.search(record) or _OWN_SENTENCES.search(record):
        return True
    hosts = (next(filter(None, match.groups())) for match in _HOST.finditer(record))
    if any(_MODEL_HOST.match(host) for host in hosts):
        return True
    head = record[:_HEAD_CHARS]
    return _MODEL_CALL.search(head) is not None or _API_CALL.search(head) is not None


def read_own(text: str, *, source: str) -> Verdict | None:
    """Classify the end of a log by the records that report a failed model call.

    Args:
        text: What was written during the turn, while no tool ran.
        source: The prefix for the rule's name.
    """
    own = [record for record in records(text) if attribution_of(record) is Attribution.STRONG]
    for record in reversed(own):
        verdict = read_lines(record, source=source)
        if verdict is not None and _names(verdict):
            return verdict
    return None


def _names(verdict: Verdict) -> bool:
    """Return whether it is an error of a model call, by more than what words may mean."""
    rule = verdict.rule.partition(":")[2]
    return verdict.type in MODEL_CALL_ERRORS and not rule.startswith(_GUESSES)


def quotation(text: str) -> str:
    """Return the last line of a failure whose author is not known; empty if there is none."""
    for record in reversed(list(records(text))):
        if informative_lines(record) and not is_foreign(record):
            lines = [line.strip() for line in record.splitlines() if looks_like_error(line)]
            return lines[-1][:_HEAD_CHARS] if lines else ""
    return ""


# --- lines that belong together ------------------------------------------------------------------

_CONTINUES = re.compile(
    r"[ \t}\])]|Caused by\b|\[cause\]|The above exception|During handling|\.\.\. \d+ more|\+-|\|"
)
_TRACEBACK = "Traceback (most recent call last)"


def records(text: str) -> Iterator[str]:
    """Yield a text's lines, each with the lines that continue it, the oldest first."""
    record: list[str] = []
    last: list[str] = []
    in_traceback = False
    for line in text[-MAX_TEXT_CHARS:].splitlines():
        continues = not line.strip() or _CONTINUES.match(line) is not None
        begins_traceback = _TRACEBACK in line
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


def _chained(record: list[str]) -> bool:
    return any(line.startswith(("The above exception", "During handling")) for line in record)
