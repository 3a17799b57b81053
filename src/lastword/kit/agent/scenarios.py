"""The scenarios: each with its script, its description, and what a good client does with it.

They are the rows of `scenarios.json`, in the groups in which they are shown. The answers in them
resemble those of model providers; every id and key is made up. The advice is derived from what
`lastword.client.describe` shows for the failure.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from lastword.core.failure.taxonomy import (
    DEFAULTS,
    Action,
    AgentError,
    ErrorType,
    Phase,
    RetrySafety,
)
from lastword.core.protocol import acp
from lastword.kit.agent.script import Script  # noqa: TC001 - of a decoded struct

if TYPE_CHECKING:
    from lastword.client.display import ErrorView

ENDS_WELL = "show the turn as any other"

# The agent is restarted automatically. As in `wording.choose_action`, which takes 70 ms to import;
# the process tests compare it with what is sent.
_AFTER_A_RESTART = {
    RetrySafety.AUTO: Action.RETRY,
    RetrySafety.OFFER_CONTINUE: Action.CONTINUE,
    RetrySafety.ASK: Action.CONFIRM_RETRY,
}


class ExpectedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The failure that a client gets with lastword in front of, or within, the agent.

    Attributes:
        type: What failed.
        retryable: Whether a retry would help; `None` is the type's default.
        retry_safety: Whether it could do harm; `None` is `auto` where a retry would help, else
            `never`.
        phase: How far the turn had come.
        wait_seconds: The wait that the provider asked for.
        resets: Whether a limit ends at a known time.
        reason: The short word for the cause.
        action: What helps, if neither the type nor `retry_safety` implies it.
    """

    type: ErrorType
    retryable: bool | None = None
    retry_safety: RetrySafety | None = None
    phase: Phase = Phase.BEFORE_OUTPUT
    wait_seconds: int | None = None
    resets: bool = False
    reason: str | None = None
    action: Action | None = None

    @property
    def error(self) -> AgentError:
        """The failure as a payload without a message."""
        retryable = DEFAULTS[self.type].retryable if self.retryable is None else self.retryable
        safety = self.retry_safety or (RetrySafety.AUTO if retryable else RetrySafety.NEVER)
        restarts = retryable and DEFAULTS[self.type].action is Action.RESTART
        return AgentError(
            type=self.type,
            message="",
            retryable=retryable,
            retry_safety=safety,
            action=self.action or (_AFTER_A_RESTART.get(safety) if restarts else None),
            phase=self.phase,
            retry_after_seconds=self.wait_seconds,
            reason=self.reason,
        )


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario.

    Attributes:
        name: Its name.
        sees: What a client sees, in one line: of a wire fault, without lastword in front.
        script: What the agent does.
        failure: The failure that the client gets, `None` if the turn succeeds.
        then: What a good client does, beside what follows from the failure.
        bare: Whether it is about an agent without lastword.
        failure_v2: The same in protocol version 2, if it differs: there the answer to a prompt does
            not end a turn.
    """

    name: str
    sees: str
    script: Script
    failure: ExpectedFailure | None = None
    then: str = ""
    bare: bool = False
    failure_v2: ExpectedFailure | UnsetType | None = UNSET

    def failure_in(self, version: int) -> ExpectedFailure | None:
        """Return the failure that a client of this protocol version gets."""
        same = version == acp.V1.version
        return self.failure if same or isinstance(self.failure_v2, UnsetType) else self.failure_v2

    @property
    def error_type(self) -> ErrorType | None:
        return self.failure.type if self.failure else None

    @property
    def per_turn(self) -> bool:
        """Whether a prompt can request it; otherwise it concerns the whole process."""
        script = self.script
        return not (script.starts or script.run or script.login) and script.sessions == "resume"

    @property
    def advice(self) -> str:
        # The reader's models take over 100 ms to load, which an agent's start does not need.
        from lastword.client.display import describe  # noqa: PLC0415

        if self.failure is None or self.failure.type is ErrorType.CANCELLED:
            return self.then or ENDS_WELL
        error = self.failure.error
        shown = advice_for(describe(error, now=0), resets=self.failure.resets)
        return f"{shown}; {self.then}" if self.then else shown

    def listed(self) -> dict[str, Any]:
        """Return the scenario for a machine; `client` is an older name of `advice`."""
        failure, second = self.failure, self.failure_in(acp.V2.version)
        return {
            "name": self.name,
            "error_type": failure.type.value if failure else None,
            "error": _plain(failure) if failure else None,
            "error_in_version_2": _plain(second) if second else None,
            "sees": self.sees,
            "advice": self.advice,
            "client": self.advice,
            "bare": self.bare,
            "per_turn": self.per_turn,
            "script": _without_points(msgspec.to_builtins(self.script)),
        }


def _without_points(value: Any) -> Any:
    """Return plain values whose whole seconds are written without a decimal point."""
    if isinstance(value, dict):
        return {name: _without_points(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_points(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(failure: ExpectedFailure) -> dict[str, Any]:
    return {key: value for key, value in failure.error.payload().items() if key != "message"}


def advice_for(shown: ErrorView, *, resets: bool = False) -> str:
    """Return what to do about a failure, in words for whoever writes the client."""
    words = "show the sentence"
    if shown.wait_seconds:
        words += f" and a countdown ({shown.countdown})"
    elif resets:
        words += " and when the limit ends"
    button = f'"{shown.button}"'
    if shown.automatic:
        after = ", then" if shown.wait_seconds else ";"
        return f"{words}{after} resend unasked, a few times at most, or offer {button}"
    if not shown.can_retry:
        return f"{words}; no resend; offer {button}"
    if shown.needs_confirmation:
        return f"{words}; offer {button}, and resend only if the user agrees"
    return f"{words}; offer {button}; no automatic resend"


_FLOODS = {
    b"(1000 debug lines)": (b"DEBUG provider.stream: chunk without data, trying again", 1000),
    b"(10000 warnings)": (b"a warning that nobody reads, from a debug log", 10_000),
}
"""Texts that would not fit into the file."""


def _read_groups() -> dict[str, tuple[Scenario, ...]]:
    data = Path(__file__).with_suffix(".json").read_bytes()
    for name, (line, count) in _FLOODS.items():
        data = data.replace(name, rb"\n".join([line] * count))
    return msgspec.json.decode(data, type=dict[str, tuple[Scenario, ...]])


GROUPS = _read_groups()
SCENARIOS = {scenario.name: scenario for group in GROUPS.values() for scenario in group}


def unknown(name: str) -> str:
    """Return the sentence for an unknown scenario, without its full stop."""
    like = difflib.get_close_matches(name.lower(), SCENARIOS, n=3, cutoff=0.6)
    hint = f" (did you mean {' or '.join(like)}?)" if like else ""
    return f'there is no scenario "{name[:40]}"{hint}'
