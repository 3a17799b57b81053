"""Forms of the lines in a log: the programs that write them, and how a model call's failure looks.

Owns no decision (`core.classify.writers`). The foreign writers are the programs that a coding agent
commonly starts, and the services beside its model; the forms are those of the SDKs and providers,
as their documentation has them and as they were recorded. Each pattern is linear or runs on a few
thousand characters. In the lists, white space separates the entries.
"""

from __future__ import annotations

import re


def _any(listed: str) -> str:
    return "|".join(re.split(r"(?<!\[)\s+", listed.strip()))  # a space may stand in brackets


# --- other programs ------------------------------------------------------------------------------

_PROGRAMS = _any(r"""
    npm npx yarn pnpm bun deno corepack node-gyp pip3? pipx uvx? poetry conda cargo rustup rustc go
    gradlew? mvn maven sbt dotnet nuget composer bundler? gem rake apt apt-get dpkg brew dnf yum apk
    pacman snap git gh glab hub svn docker dockerd podman buildah compose kubectl helm minikube kind
    terraform tofu pulumi ansible(?:-\w+)? vagrant packer aws az gcloud gsutil doctl flyctl fly
    heroku vercel netlify wrangler firebase supabase stripe twilio curl wget httpie ssh scp sftp
    rsync psql pg_dump postgres mysql(?:dump)? mariadb redis(?:-cli)? mongo(?:sh|d)? sqlite3? g?make
    cmake ninja bazel gcc g\+\+ clang ld tsc tsx eslint prettier biome jest vitest mocha karma
    cypress playwright pytest unittest tox nox mypy ruff flake8 pylint black pyright rspec phpunit
    javac? kotlinc? scalac? php ruby perl lua swiftc? xcodebuild pod flutter dart sudo su systemctl
    journalctl nginx apache2? caddy traefik envoy haproxy openssl gpg ping dig nslookup nc telnet
    ffmpeg convert unzip zip tar rg grep sed awk find xargs bash zsh fish dash sh cat rm cp mv ls
    mkdir chmod df du kill ps lsof strace sentry(?:-cli)? codecov sonar(?:-scanner)? snyk trivy
    renovate dependabot semgrep webpack vite rollup esbuild parcel turbo nx lerna next nuxt astro
    electron chrome chromium puppeteer vault consul nomad etcdctl kafka\S* rabbitmq\S* mosquitto\S*
    crontab
""")
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
"""A program's last words, such as a stack that nothing in it has caught: no agent goes on then."""

_BESIDE = _any(r"""
    mcp mcp[-_]\w+ \w+[-_]mcp mcpservers? modelcontextprotocol hooks? plugins? extensions?
    skills? telemetry statsig
    posthog sentry segment amplitude mixpanel datadog launchdarkly growthbook opentelemetry otel
    otlp analytics metrics (?<![</])titles? \w*titles? summar(?:y|ies|i[sz]er|i[sz]ation) small=true
    (?:auto-?)?updat(?:e|er|es) version[ ]check self-update marketplace webhooks? lsp
    language[ -]server rust-analyzer gopls pylsp tsserver jdtls clangd eslint formatter linter
    tools? tool[ -]call bash shell terminal command subprocess child[ ]process dependency
    dependencies packages? registry repositor(?:y|ies) indexer web[ -]?search web[ -]?fetch browser
    crawler scraper image[ ]generation transcription speech tts suggestions? autocomplete
    notification memory[ -]?(?:extract|sav|writ)\w*
    metadata crash[ ]report(?:er)?
    feedback changelog release[ ]notes side[ -]?chain sub-?agents?(?![ ]id=(?:-|none)) sub-?tasks?
    tests? testing test_\w+ spec fixtures? assertion\w* epochs? training
    embeddings? embedder rerank(?:er|ing)? vector[ ](?:store|index|database)
    npm pip git github gitlab bitbucket slack jira linear notion discord figma stripe twilio
    sendgrid
    shopify salesforce kubernetes k8s kubelet terraform saml sso ldap database postgres
    payment[ ](?:api|gateway|intent|provider|service)
    (?:oauth|identity|credential|cloud)[ ]provider mysql redis mongo\w* kafka s3 ec2 lambda
    dynamodb sqs sns route53 docker containerd weather maps calendar gmail drive
""").replace("[ ]", " ")
BESIDE = re.compile(rf"\b(?:{_BESIDE})\b", re.IGNORECASE)
"""Words of a line's beginning about something other than the turn's model call."""

DETAIL = re.compile(r"[{<]|https?://|(?<=\bprovider )(?:failure|error):", re.IGNORECASE)
"""Where the beginning of a line ends that says what the line is about."""

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
"""The beginning of an error that repeats what a command has printed."""

LOGGER = re.compile(
    r"[\"'](?:name|logger|target|module|scope|component|service|source|category|server)[\"']\s*:\s*"
    r"[\"']([^\"']{1,80})[\"']"
)
"""The writer that a JSON log line names."""

LOGGED = re.compile(
    r"[\"'](?:msg|message|event|text|error|err)[\"']\s*:\s*"
    r"(?:\"((?:[^\"{<\\]|\\.){1,200})|'([^'{<]{1,200}))"
)
"""What a JSON log line says."""

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
"""What stands where a line names its writer: `ERROR codex_core::client: ...`, `[kimi/api] ...`."""

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
"""What a call over HTTP fails with."""

ANY_AGENTS = frozenset({
    *("acp", "agent", "agents", "ai", "api", "app", "assistant", "bot", "bridge", "cli", "client"),
    *("code", "coding", "core", "dev", "kit", "llm", "my", "new", "node", "oh", "open"),
    *("our", "python", "server", "the", "tool", "tools", "web"),
})  # fmt: skip
"""Words of an agent's name that are other programs' as well."""

OTHER_CALL = re.compile(r"\btext-embedding-\w|/embeddings\b|/rerank\b|/images/generations\b")
"""What names a model call outside any turn: one for an index."""

# --- the form of a failed model call -------------------------------------------------------------

_SDKS = _any(r"""
    openai anthropic litellm groq cohere mistralai together ollama cerebras fireworks replicate
    dashscope zhipuai volcenginesdkarkruntime xai_sdk vertexai google\.genai
    google\.generativeai langchain_\w+ llama_index pydantic_ai instructor kosong async_openai rig
    genai
""")
_AI_SDK_ERRORS = _any("""
    APICallError RetryError LoadAPIKeyError NoSuchModelError TypeValidationError JSONParseError
    InvalidResponseDataError EmptyResponseBodyError NoContentGeneratedError
""")
_OF_MODELS = _any(r"""
    API(?:Connection(?:Timeout)?|Status|Timeout|Call|UserAbort|EmptyResponse|Provider\w{0,40})
    APIContextOverflow\w{0,20} ContextWindowExceeded ContextLengthExceeded ModelOverloaded
    ModelNotFound ChatProvider\w* GoogleGenerativeAI Provider(?:RateLimit|Auth|ModelNotFound)
    LLM\w{0,30}
""")
_WITH_STATUS = _any("""
    RateLimit Authentication InternalServer PermissionDenied Overloaded NotFound BadRequest
    UnprocessableEntity ServiceUnavailable API
""")
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

_BODY_TYPES = _any(r"""
    rate_limit_error rate_limit_exceeded overloaded_error insufficient_quota authentication_error
    permission_error not_found_error billing_error api_error server_error timeout_error
    request_too_large context_length_exceeded invalid_api_key model_not_found usage_limit_reached
    exceeded_current_quota_error invalid_authentication_error engine_overloaded_error
    invalid_request_error credit_balance\w* content_filter tokens_limit_reached server_overloaded
""")
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
"""What makes it a model's: every service of Google's has the same statuses."""

HOST = re.compile(
    r"https?://(?:[^\s/@\"']{1,200}@)?([\w.-]{1,200}|\[[\da-fA-F:]+\])(?::\d+)?"
    r"|\bhost=[\"']([\w.-]+)[\"']"
    r"|\b(?:ENOTFOUND|EAI_AGAIN|lookup|resolve host:?|resolve) ([\w-]+(?:\.[\w-]+)+)"
)
_MODEL_HOSTS = _any(r"""
    openai\.com openai\.azure\.com cognitiveservices\.azure\.com inference\.ai\.azure\.com
    chatgpt\.com anthropic\.com claude\.com claude\.ai generativelanguage\.googleapis\.com
    ai\.google\.dev (?:[\w-]+-)?aiplatform\.googleapis\.com cloudcode-pa\.googleapis\.com
    aistudio\.google\.com bedrock[\w.-]*\.amazonaws\.com openrouter\.ai mistral\.ai groq\.com
    deepseek\.com x\.ai grok\.com cohere\.(?:ai|com) together\.(?:ai|xyz) fireworks\.ai
    perplexity\.ai cerebras\.ai nvidia\.com githubcopilot\.com models\.github\.ai
    moonshot\.(?:ai|cn) kimi\.com z\.ai bigmodel\.cn dashscope[\w.-]*\.aliyuncs\.com qwen\.ai
    volces\.com minimax\.(?:io|chat) minimaxi\.com siliconflow\.(?:cn|com) factory\.ai
    sambanova\.ai hyperbolic\.xyz novita\.ai deepinfra\.com replicate\.com
    (?:router|api-inference)\.huggingface\.co ollama\.com opencode\.ai
    cline\.bot kilocode\.ai poe\.com nebius\.(?:ai|com)
    baseten\.co cursor\.(?:sh|com) augmentcode\.com
""")
BESIDE_HOST = re.compile(
    r"^(?:docs?|status|help|support|blog|community|cdn|assets|cookbook|learn)\.", re.IGNORECASE
)
"""Hosts of a provider's that serve no model: an error may name one of them, and so may a tool."""

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
"""What stands before a model or a provider that needs no name: not "DNS" and not "User"."""

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
"""A line that says whose words follow: those of a test runner, or of a program that crashed."""

TRACEBACK = "Traceback (most recent call last)"
CHAINS = ("The above exception", "During handling")
