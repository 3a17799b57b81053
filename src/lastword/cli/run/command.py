"""`lastword run`: the agent is spawned first, and the rest is loaded while it starts.

Owns the order of the start. Only what spawning needs is imported at the top.
"""

from __future__ import annotations

import os
import sys

from lastword.cli.run.options import RunOptions, UsageError, parse
from lastword.core.redact.printable import one_line
from lastword.platform.process import (
    Agent,
    Guardian,
    become,
    ensure_standard_streams,
    guardian_of,
    without_our_locale,
    write_message,
)
from lastword.platform.signals import SignalInbox
from lastword.sidecar.agent_start import AgentStart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.sidecar.frames import Frames

NOT_FOUND_STATUS = 127
NOT_EXECUTABLE_STATUS = 126
"""As a shell, env and tini report them."""


def main(arguments: list[str]) -> int:
    """Run an agent behind the sidecar; return its exit status."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "-h" in own or "--help" in own:
        # argparse, which no start of an agent may load.
        from lastword.cli.run.parser import parser  # noqa: PLC0415

        sys.stdout.write(parser().format_help())
        return 0
    try:
        options = parse(arguments)
    except UsageError as error:
        return _refused(str(error))
    for warning in options.files.warnings if options.files is not None else ():
        write_message(warning)
    without_our_locale()
    if options.values["passthrough"] or os.isatty(0) or os.isatty(1):
        # The user requested it, or wants to log in at a terminal.
        try:
            return become(options.command)
        except OSError as error:
            return _not_started(options.command[0], error)
    try:
        return _relay(options)
    except OSError as error:
        # The guardian, or the end of its input, ends the agent.
        reason = (error.strerror or "a system call failed").lower()
        write_message(f"cannot continue ({reason})")
        return 1


def _relay(options: RunOptions) -> int:
    """Start the agent, and relay until the session is over."""
    ensure_standard_streams()
    frames: Frames | None = None
    if options.values["frames"]:
        # Needed only with --frames.
        from lastword.core.redact.environment_secrets import secrets_in, secrets_of  # noqa: PLC0415
        from lastword.sidecar.frames import Frames  # noqa: PLC0415

        try:
            secrets = (*secrets_of(os.environ), *secrets_in(options.command))
            frames = Frames(str(options.values["frames"]), secrets)
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            return _refused(f"--frames cannot be {options.values['frames']}: {reason}")
    inbox = SignalInbox()
    agent: Agent | None = None
    guardian: Guardian | None = None
    failure: OSError | None = None
    start = AgentStart(options.command, str(options.values["evidence"]))
    try:
        agent = start.spawn()
    except OSError as error:
        failure = error
    if agent is not None:
        guardian = guardian_of(agent)
    # Loaded while the agent starts: an editor waits only for the slower of the two.
    from lastword.cli.run.start import sidecar_for  # noqa: PLC0415

    sidecar = sidecar_for(options, start, agent, guardian, inbox)
    if frames is not None:
        sidecar.write_frames(frames)
    if failure is not None:
        status = _not_started(options.command[0], failure)
        sidecar.refuse(failure)
        sidecar.run()
        return status
    exit_ = sidecar.run()
    return exit_.status if exit_ else 1


def _refused(sentence: str) -> int:
    write_message(one_line(sentence))
    # Loaded only for an error: no agent waits for it.
    from lastword.cli.words import answer_client  # noqa: PLC0415

    answer_client(f"lastword: {sentence}")
    return 2


def _not_started(program: str, error: OSError) -> int:
    write_message(not_started(program, error))
    return NOT_FOUND_STATUS if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE_STATUS


def not_started(program: str, error: OSError) -> str:
    """Return the sentence about a program that cannot be started."""
    program = one_line(error.filename or program)
    if isinstance(error, FileNotFoundError):
        return f"{program}: not found; is the agent installed, and on the PATH here?"
    return f"{program}: cannot be started ({(error.strerror or 'failed').lower()})"
