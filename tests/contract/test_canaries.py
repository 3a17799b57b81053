"""No secret and no personal data comes out: every shape, in every carrier, through every door."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import lastword
from lastword.cli import main
from lastword.core.failure.ladder import Rung
from lastword.core.link.connection import Side
from lastword.core.redact.redactor import redact_text
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.places import SAMPLES
from tests.kit.rows import every
from tests.kit.wire import INITIALIZE, INITIALIZED, Wire, chunk, prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_cover  # other tests reach these lines


SHAPES = CANARIES | NAMED_CANARIES


def each_way(ways: Iterable[Any]) -> list[tuple[str, Any]]:
    """Each shape by one of the ways in turn, and by every way one of each kind of shape.

    What is redacted is decided on the text, whatever way it came.
    """
    ways = list(ways)
    kinds = [next(iter(CANARIES)), next(iter(NAMED_CANARIES))]
    return [*zip(SHAPES, itertools.cycle(ways), strict=False), *itertools.product(kinds, ways)]


def traces_of(shape: str, text: str) -> list[str]:
    """What of the canary stands in a text."""
    secret = SHAPES[shape] if shape in CANARIES else PLAIN
    middle = secret[6:-2]
    plain = text.encode().decode("unicode_escape", "replace") if "\\u" in text else text
    return [part for part in (secret, middle) if part in text or part in plain]


class CarrierError(Exception):
    """An exception with the canary in its attributes, as SDKs have them."""

    def __init__(self, text: str = "bad", **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


def in_response(canary: str) -> Exception:
    headers = {"authorization": canary, "x-request-id": canary, "retry-after": canary}
    return CarrierError(
        response=SimpleNamespace(status_code=401, headers=headers, text=canary),
    )


def in_causes(canary: str) -> Exception:
    error = CarrierError()
    error.__cause__ = ValueError(canary)
    error.__cause__.__cause__ = KeyError(canary)
    return error


ATTRIBUTES = ("code", "type", "reason", "request_id", "details", "status", "retry_after")
EXCEPTIONS: tuple[Callable[[str], Exception], ...] = (
    lambda canary: RuntimeError(f"Something odd about {canary}, sorry"),
    lambda canary: CarrierError(
        body={"error": {"message": f"odd {canary}", "code": canary, "type": canary}}
    ),
    lambda canary: CarrierError(**dict.fromkeys(ATTRIBUTES, canary)),
    lambda canary: ConnectionError(f"POST https://host.example/v1/x?alt=sse&key={canary} failed"),
    lambda canary: type(canary, (Exception,), {})("bad"),
    in_response,
    in_causes,
)


@every("shape, carrier", each_way(EXCEPTIONS))
def test_classify_leaks_no_secret(shape: str, carrier: Callable[[str], Exception]) -> None:
    error = lastword.classify(carrier(SHAPES[shape]))
    assert traces_of(shape, json.dumps(error.payload(), ensure_ascii=False)) == []
    assert traces_of(shape, repr(error)) == []


def texts_with(canary: str) -> Iterator[str]:
    """The canary in every form that `explain` reads."""
    yield f"ERROR something odd about {canary}, sorry"
    yield f'Traceback (most recent call last):\n  File "x.py", line 1\nodd.OddError: {canary}\n'
    yield f"Error: odd {canary}\n    at f (/srv/x.js:1:2) {{\n  code: '{canary}'\n}}\n"
    yield f"HTTP/1.1 401 Unauthorized\nx-request-id: {canary}\nretry-after: {canary}\n\n{canary}"
    yield json.dumps({"error": {"message": canary, "code": canary}, "request_id": canary})
    yield json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": canary}})
    yield json.dumps({canary: canary, "status": 400, "message": f"bad {canary}"})
    yield json.dumps(
        {
            "id": "x",
            "http_status": 400,
            "headers": {"authorization": canary, "retry-after": canary},
            "body": {"error": {"type": canary, "message": canary}},
            "exception_class": canary,
            "message": canary,
            "code": canary,
            "attrs": {"request_id": canary, "body": canary},
            "cause_chain": [{"class": canary, "message": canary, "code": canary}],
        }
    )
    yield json.dumps({"id": "y", "process": {"returncode": 1, "stderr_tail": f"panic: {canary}"}})


TEXTS = len([*texts_with("x")])


@every("shape, way", each_way(range(TEXTS)))
def test_explain_leaks_no_secret(
    shape: str, way: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = [*texts_with(SHAPES[shape])][way]
    file = tmp_path / "error.txt"
    file.write_text(text)
    # These take any text as it stands, so that one form of it is enough.
    further = [["--exit-code", "1"], ["--exit-signal", "KILL"], ["--status", "401"]]
    for options in ([], ["--json"], *(further if way == 0 else [])):
        assert main(["explain", str(file), *options]) == 0
        out = capsys.readouterr()
        assert out.out
        assert traces_of(shape, out.out + out.err) == []
    if text.startswith("{"):
        assert main(["explain", "--jsonl", str(file)]) == 0
        assert traces_of(shape, capsys.readouterr().out) == []
    if way == TEXTS - 1:
        main(["explain", "--header", f"x-request-id: {SHAPES[shape]}", "--body", SHAPES[shape]])
        assert traces_of(shape, capsys.readouterr().out) == []


def test_a_secret_of_the_environment_is_redacted_whatever_its_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct horse battery")
    file = tmp_path / "error.txt"
    file.write_text("It was correct horse battery, was it not?")
    main(["explain", str(file)])
    main(["explain", "--json", str(file)])
    assert "horse" not in capsys.readouterr().out
    assert "horse" not in str(lastword.classify(ValueError("odd: correct horse battery")))


ENDS = (
    lambda canary: {"code": -32603, "message": canary},
    lambda canary: {"code": -32603, "message": "Internal error", "data": {"details": canary}},
    lambda canary: {
        "code": -32603,
        "message": "x",
        "data": {canary: [canary], "error": {"code": canary}},
    },
    None,
)
"""The errors that an agent ends its turn with, and its own end."""


@every("shape, turn", each_way(itertools.product(Rung, (False, True), ENDS)))
def test_the_sidecar_leaks_no_secret_on_any_rung(shape: str, turn: tuple[Any, ...]) -> None:
    rung, output, end = turn
    canary = SHAPES[shape]
    typed = {"clientCapabilities": {"_meta": {"agent_error": {"version": 1}}}}
    version = 2 if rung == Rung.V2 else 1
    wire = Wire(fallback=rung)
    wire.client(INITIALIZE | {"params": {"protocolVersion": version} | typed})
    wire.agent(INITIALIZED | {"result": {"protocolVersion": version}})
    wire.client(prompt())
    if output:
        wire.agent(chunk())
    before = len(wire.to_client)
    wire.stderr(f"odd: {canary}\n".encode())
    if end is None:
        wire.eof(Side.AGENT)
    else:
        wire.agent({"jsonrpc": "2.0", "id": 1, "error": end(canary)})
    frames = wire.to_client[before:]
    assert frames
    assert traces_of(shape, b"\n".join(frames).decode()) == []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def test_the_texts_of_a_thousand_real_errors_are_not_redacted() -> None:
    samples = [json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines()]
    keys = ("message", "body", "rpc_error", "text", "causes", "process")
    texts = {text for sample in samples for key in keys for text in _texts(sample.get(key))}
    assert len(texts) > 1000
    changed = [text for text in texts if redact_text(text) != text]
    # Those that quote a key, masked by the provider, lose what the mask left.
    assert [text for text in changed if "****" not in text and "sk-..." not in text] == []
