"""The check of every line against ACP's own JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.protocol import acp
from lastword.kit.check.checks.failure_frames import payload_in_answer
from lastword.kit.check.checks.model import EVERY_ACT, Finding, check, failed, passed, warned
from lastword.kit.check.schema import Departure, Weight, official
from lastword.kit.check.stage import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lastword.kit.check.schema import OfficialSchema
    from lastword.kit.check.stage import Transcript
    from lastword.kit.peer import PeerEvent

_OWN = acp.AGENT_ERROR_KINDS | acp.AGENT_RETRY_KINDS


@check(
    "schema",
    "AGT-31",
    "params and results keep ACP's JSON Schema",
    acts=EVERY_ACT,
    partial=True,
    mend="Clients that validate drop the message, or the connection: send what the schema has.",
)
def keeps_schema(acts: Sequence[Transcript]) -> Finding:
    count = 0
    slight: tuple[Departure, Transcript, PeerEvent] | None = None
    source = ""
    for act in acts:
        if act.name == "optional":
            continue  # what was not advertised has a check of its own
        version = act.welcome.get("protocolVersion", acp.V1.version)
        if version not in {acp.V1.version, acp.V2.version}:
            continue  # no schema has it, and that it was said is another check's
        schema = official(version)
        for event, name, value in _validated(act, schema):
            count += 1
            wrong = _worst(schema.departures(name, value))
            if wrong is None:
                continue
            source = schema.source
            if wrong.weight is Weight.WRONG:
                return failed(f"{wrong} ({name}; {source}; act {act.name})", event)
            if slight is None or wrong.weight > slight[0].weight:
                slight = wrong, act, event
    if slight is not None:
        wrong, act, event = slight
        return warned(f"{wrong} ({source}; act {act.name})", event)
    if not count:
        raise UnreachedError("no message that the schema knows was seen")
    return passed(f"{count} messages")


def _validated(act: Transcript, schema: OfficialSchema) -> Iterator[tuple[PeerEvent, str, object]]:
    """Yield what the schema has a definition for: the line, the definition, the value."""
    methods: dict[str, object] = {}
    for event in act.events:
        frame = event.frame or {}
        method = frame.get("method")
        if event.sent:
            if "id" in frame and method:
                methods[repr(frame["id"])] = method
        elif isinstance(method, str):
            update = event.kind in _OWN or event.kind in schema.unstable_updates
            if method in schema.calls and not update:
                yield event, schema.calls[method], frame.get("params")
        elif "result" in frame:
            name = schema.answers.get(str(methods.get(repr(frame.get("id")))))
            if name is not None and not _is_excepted(event, name):
                yield event, name, frame["result"]


def _is_excepted(event: PeerEvent, name: str) -> bool:
    """Return whether the extension, or the specification's text, allows it."""
    result = (event.frame or {}).get("result")
    if result is None and name == "LoadSessionResponse":
        return True  # as the specification's own example has it
    return payload_in_answer(event) is not None


def worst(schema: OfficialSchema, method: str, result: object) -> Departure | None:
    """Return the gravest departure of a method's result, if there is any."""
    name = schema.answers.get(method)
    return _worst(schema.departures(name, result)) if name else None


def _worst(departures: Sequence[Departure]) -> Departure | None:
    return max(departures, key=lambda departure: departure.weight, default=None)
