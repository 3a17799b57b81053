"""Makes each provider's package fail for real, and prints what lastword makes of the exception.

Runs in the environment of `requirements.txt`, never in the tests' own: with
lastword's source on its path. One JSON object a line.
"""

# ruff: noqa: PLC0415 - a package is imported by the cases that need it

from __future__ import annotations

import asyncio
import json
import os
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# litellm downloads a price list on import unless it is told not to.
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "AWS_EC2_METADATA_DISABLED": "true"}
os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "NO_PROXY": "*"}
warnings.simplefilter("ignore")

REFUSED = "http://127.0.0.1:1"
MESSAGES = [{"role": "user", "content": "hi"}]

Case = tuple[str, "Callable[[], object]"]


def openai_cases(url: str) -> Iterator[Case]:
    import openai

    def ask(base: str, **more: Any) -> object:
        client = openai.OpenAI(api_key="k", base_url=base, max_retries=0, **more)
        return client.chat.completions.create(model="x", messages=MESSAGES)

    for name in ("limit", "quota", "key", "overflow", "down", "model"):
        yield f"openai {name}", lambda name=name: ask(f"{url}/{name}")
    yield "openai timeout", lambda: ask(f"{url}/slow", timeout=0.3)
    yield "openai refused", lambda: ask(REFUSED)
    yield "openai cut", lambda: ask(f"{url}/cut")


def anthropic_cases(url: str) -> Iterator[Case]:
    import anthropic

    def ask(name: str, **more: Any) -> object:
        client = anthropic.Anthropic(api_key="k", base_url=f"{url}/{name}", max_retries=0)
        reply = client.messages.create(model="x", max_tokens=9, messages=MESSAGES, **more)
        return list(reply) if more else reply

    for name in ("limit", "overloaded", "credit"):
        yield f"anthropic {name}", lambda name=name: ask(f"claude-{name}")
    yield "anthropic in stream", lambda: ask("stream", stream=True)


def google_cases(url: str) -> Iterator[Case]:
    from google import genai

    def ask(name: str) -> object:
        client = genai.Client(api_key="k", http_options={"base_url": f"{url}/{name}"})
        return client.models.generate_content(model="x", contents="hi")

    yield "google limit", lambda: ask("gemini-limit")
    yield "google key", lambda: ask("gemini-key")


def mistral_cases(url: str) -> Iterator[Case]:
    try:
        from mistralai import Mistral
    except ImportError:
        from mistralai.client import Mistral

    def ask(name: str) -> object:
        client = Mistral(api_key="k", server_url=f"{url}/{name}", retry_config=None)
        return client.chat.complete(model="x", messages=MESSAGES)

    yield "mistral limit", lambda: ask("mistral-limit")
    yield "mistral key", lambda: ask("mistral-key")


def botocore_cases(url: str) -> Iterator[Case]:
    import botocore.config
    import botocore.session

    session = botocore.session.get_session()
    config = botocore.config.Config(retries={"total_max_attempts": 1})

    def ask(base: str) -> object:
        client = session.create_client(
            "bedrock-runtime", region_name="eu-west-1", endpoint_url=base, config=config
        )
        return client.converse(modelId="x", messages=[{"role": "user", "content": [{"text": "h"}]}])

    for name in ("throttled", "overflow", "expired"):
        yield f"botocore {name}", lambda name=name: ask(f"{url}/aws-{name}")
    yield "botocore refused", lambda: ask(REFUSED)


def httpx_cases(url: str) -> Iterator[Case]:
    import httpx

    yield "httpx status", lambda: httpx.get(f"{url}/down").raise_for_status()
    yield "httpx refused", lambda: httpx.get(REFUSED)
    yield "httpx timeout", lambda: httpx.get(f"{url}/slow", timeout=0.3)
    yield "httpx dropped", lambda: httpx.get(f"{url}/dropped")
    yield "httpx cut", lambda: httpx.get(f"{url}/cut")
    yield "httpx no url", lambda: httpx.get("nowhere")


def requests_cases(url: str) -> Iterator[Case]:
    import requests

    yield "requests status", lambda: requests.get(f"{url}/limit", timeout=60).raise_for_status()
    yield "requests refused", lambda: requests.get(REFUSED, timeout=60)
    yield "requests timeout", lambda: requests.get(f"{url}/slow", timeout=0.3)
    yield "requests cut", lambda: requests.get(f"{url}/cut", timeout=60)
    yield "requests not json", lambda: requests.get(f"{url}/html", timeout=60).json()


def aiohttp_cases(url: str) -> Iterator[Case]:
    import aiohttp

    async def get(base: str, seconds: float = 60) -> None:
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(base) as answer:
            answer.raise_for_status()
            await answer.read()

    yield "aiohttp status", lambda: asyncio.run(get(f"{url}/limit"))
    yield "aiohttp refused", lambda: asyncio.run(get(REFUSED))
    yield "aiohttp timeout", lambda: asyncio.run(get(f"{url}/slow", 0.3))
    yield "aiohttp dropped", lambda: asyncio.run(get(f"{url}/dropped"))
    yield "aiohttp cut", lambda: asyncio.run(get(f"{url}/cut"))


def litellm_cases(url: str) -> Iterator[Case]:
    import litellm

    litellm.suppress_debug_info = True

    def ask(name: str, **more: Any) -> object:
        return litellm.completion(
            model="openai/x",
            api_key="k",
            api_base=f"{url}/{name}",
            messages=MESSAGES,
            num_retries=0,
            max_retries=0,
            **more,
        )

    for name in ("limit", "key", "overflow", "quota", "down"):
        yield f"litellm {name}", lambda name=name: ask(name)
    yield "litellm timeout", lambda: ask("slow", timeout=0.3)


def pydantic_ai_cases(url: str) -> Iterator[Case]:
    import openai
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    def ask(name: str) -> object:
        client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/{name}", max_retries=0)
        model = OpenAIChatModel("x", provider=OpenAIProvider(openai_client=client))
        return Agent(model).run_sync("hi")

    yield "pydantic-ai limit", lambda: ask("limit")
    yield "pydantic-ai overflow", lambda: ask("overflow")


def ollama_cases(url: str) -> Iterator[Case]:
    import ollama

    def ask(base: str) -> object:
        return ollama.Client(host=base).chat(model="x", messages=MESSAGES)

    yield "ollama model", lambda: ask(f"{url}/ollama-model")
    yield "ollama refused", lambda: ask(REFUSED)


PROVIDERS = (
    *(openai_cases, anthropic_cases, google_cases, mistral_cases, botocore_cases, httpx_cases),
    *(requests_cases, aiohttp_cases, litellm_cases, pydantic_ai_cases),
    ollama_cases,
)


def main() -> None:
    import lastword
    from lastword.core import classify
    from tests.interop.exceptions import server

    loopback, url = server.start()
    for provider in PROVIDERS:
        for name, fail in provider(url):
            try:
                fail()
            except Exception as error:  # noqa: BLE001 - any exception is what is wanted
                line = lastword.classify(error, facts=lastword.TurnFacts()).payload()
                line["rule"] = classify.classify(error).rule
                line["class"] = f"{type(error).__module__}.{type(error).__qualname__}"
                print(json.dumps({"case": name} | line), flush=True)
            else:
                print(json.dumps({"case": name, "class": "nothing was raised"}), flush=True)
    server.Handler.closing.set()
    loopback.shutdown()


if __name__ == "__main__":
    main()
