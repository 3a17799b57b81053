# fmt: off
# ruff: noqa: E501 - one word a line
"""Words for the end of a link to a gateway, which are also reasons of failures.

Generated from protocol/words.json by protocol/generate_words.py.
Owns the table. `lastword.client.link_words` chooses the word for an end.
"""

from __future__ import annotations

from typing import NamedTuple


class TransportWord(NamedTuple):
    """One word.

    Attributes:
        word: The word.
        type: The failure type whose `reason` it is.
        loss: What the end of a link that it names means for the next try, as
            `lastword.client.close_codes.LossKind` has it; `none`, where it names none.
        sentence: What happened, for a person.
        advice: What to do.
        action: The same as a word of `Action`.
        codes: The close codes that mean it, where no reason says more.
        statuses: The HTTP statuses that mean it at an upgrade.
        aliases: What it was or is called elsewhere.
    """

    word: str
    type: str
    loss: str
    sentence: str
    advice: str
    action: str
    codes: tuple[int, ...] = ()
    statuses: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()


TRANSPORT_WORDS = (
    TransportWord(word="session_ended", type="network", loss="final", sentence="This session has ended.", advice="Start a new session.", action="fix_configuration", codes=(1000, 4410), aliases=("session-ended",)),
    TransportWord(word="gateway_stops", type="network", loss="patient", sentence="The gateway shuts down.", advice="It is tried again by itself; start the gateway if it stays away.", action="retry", codes=(1001,)),
    TransportWord(word="gateway_restarts", type="network", loss="patient", sentence="The gateway restarts.", advice="It is tried again by itself.", action="retry", codes=(1012,), aliases=("restarts",)),
    TransportWord(word="agent_lost", type="network", loss="patient", sentence="The process that held this session has died.", advice="It is brought back by itself.", action="retry", aliases=("agent-lost",)),
    TransportWord(word="closed_1005", type="network", loss="cut", sentence="The connection was closed without a word.", advice="It is tried again by itself.", action="retry", codes=(1005,)),
    TransportWord(word="closed_1006", type="network", loss="cut", sentence="The connection was cut.", advice="It is tried again by itself; check the network if it stays away.", action="retry", codes=(1006,), aliases=("cut",)),
    TransportWord(word="closed_1015", type="network", loss="cut", sentence="The connection could not be encrypted.", advice="It is tried again by itself; check what is between.", action="retry", codes=(1015,)),
    TransportWord(word="no_heartbeat", type="network", loss="now", sentence="The connection gave no sign of life.", advice="It is tried again at once.", action="retry", codes=(4408,), statuses=(408,), aliases=("no-heartbeat", "keepalive ping timeout")),
    TransportWord(word="stalled", type="network", loss="now", sentence="The connection took nothing more for a minute.", advice="It is tried again at once, and goes on where it was.", action="retry"),
    TransportWord(word="superseded", type="network", loss="final", sentence="This session is open in another window.", advice="Go on there.", action="continue", codes=(4409,)),
    TransportWord(word="session_unknown", type="invalid_request", loss="permanent", sentence="This session no longer exists on the gateway.", advice="Start a new session.", action="fix_configuration", codes=(4404,), statuses=(404, 410), aliases=("session-unknown",)),
    TransportWord(word="unauthorized", type="auth", loss="refresh", sentence="The gateway refused the token twice.", advice="Log in again.", action="login", codes=(4401,), statuses=(401,), aliases=("gateway_unauthorized",)),
    TransportWord(word="forbidden", type="auth", loss="permanent", sentence="The gateway allows no access here.", advice="Ask its owner, or check its address.", action="fix_configuration", codes=(1008, 4403), statuses=(403,), aliases=("gateway_forbidden",)),
    TransportWord(word="host", type="auth", loss="permanent", sentence="The gateway is not known by the name that it was called by.", advice="Allow the name with --allow-host.", action="fix_configuration"),
    TransportWord(word="origin", type="auth", loss="permanent", sentence="Pages of this origin may not use the gateway.", advice="Allow the origin with --allow-origin.", action="fix_configuration"),
    TransportWord(word="too_many", type="network", loss="transient", sentence="The gateway has too much to do for this.", advice="Try again in a moment.", action="wait", codes=(4429,), statuses=(429,), aliases=("too-many",)),
    TransportWord(word="too_many_failures", type="auth", loss="transient", sentence="Too many wrong tokens came from here.", advice="Wait a minute, and check the token.", action="wait", aliases=("too-many-failures",)),
    TransportWord(word="overloaded", type="network", loss="patient", sentence="The gateway has too much to do.", advice="It is tried again by itself.", action="wait", codes=(1013,)),
    TransportWord(word="too_early", type="network", loss="transient", sentence="The gateway is not ready yet.", advice="Try again in a moment.", action="wait", codes=(4425,), statuses=(425,)),
    TransportWord(word="misdirected", type="network", loss="transient", sentence="The request came to another gateway.", advice="It is tried again by itself.", action="retry", statuses=(421,)),
    TransportWord(word="gateway_error", type="internal", loss="transient", sentence="The gateway failed.", advice="It is tried again by itself; look at its log if it stays.", action="retry", codes=(1011, 1014), statuses=(500, 502, 503, 504)),
    TransportWord(word="protocol", type="protocol_error", loss="permanent", sentence="Gateway and viewer misunderstand each other.", advice="Report this as a bug.", action="report", codes=(1002, 1003, 1007, 4400), aliases=("gateway_protocol",)),
    TransportWord(word="frame_too_large", type="invalid_request", loss="permanent", sentence="A message was larger than the gateway takes.", advice="Send less at once, or see --frame-limit.", action="shorten", codes=(1009,)),
    TransportWord(word="initialize_first", type="protocol_error", loss="permanent", sentence="Something was sent before initialize.", advice="Report this as a bug.", action="report", aliases=("initialize first", "no initialize")),
    TransportWord(word="refused", type="invalid_request", loss="permanent", sentence="The gateway refused the connection.", advice="Check its address.", action="fix_configuration", aliases=("gateway_refused",)),
    TransportWord(word="redirected", type="invalid_request", loss="permanent", sentence="The gateway is at another address.", advice="Set the new address.", action="fix_configuration", statuses=(301, 302, 303, 307, 308), aliases=("gateway_redirected",)),
    TransportWord(word="certificate", type="network", loss="permanent", sentence="The gateway's certificate is not trusted.", advice="Check it, and this clock.", action="fix_configuration", aliases=("gateway_certificate",)),
    TransportWord(word="gateway_unreachable", type="network", loss="none", sentence="The gateway cannot be reached.", advice="Check that the gateway runs.", action="retry"),
    TransportWord(word="gateway_not_found", type="invalid_request", loss="none", sentence="There is no gateway at this address.", advice="Check its path, which is /acp unless set.", action="fix_configuration"),
    TransportWord(word="gateway_forgot", type="network", loss="none", sentence="The gateway no longer knows this connection.", advice="Look whether the turn is still running before you try again.", action="confirm_retry"),
    TransportWord(word="asked_to_wait", type="network", loss="none", sentence="The gateway asks to wait.", advice="Try again after that.", action="wait"),
    TransportWord(word="gap", type="network", loss="none", sentence="A part of this session is no longer kept.", advice="Nothing has to be done; what still matters of it is shown.", action="continue"),
    TransportWord(word="log_reset", type="network", loss="none", sentence="This session's log begins anew.", advice="Nothing has to be done; all that is kept is shown again.", action="continue"),
    TransportWord(word="log_unwritable", type="internal", loss="none", sentence="The gateway cannot write this session's log.", advice="Check whether its disk is full.", action="report"),
    TransportWord(word="log_unreadable", type="internal", loss="none", sentence="The gateway cannot read this session's log.", advice="Try again, and look at the gateway's machine if it stays.", action="report"),
    TransportWord(word="restored_without_history", type="agent_crash", loss="none", sentence="The agent was started again and knows nothing of what was said.", advice="Tell it what it has to know, or start a new session.", action="continue"),
    TransportWord(word="not_restored", type="agent_crash", loss="none", sentence="The agent could not take this session up again.", advice="Start a new session.", action="restart"),
    TransportWord(word="holder_died", type="agent_crash", loss="none", sentence="The agent's process ended unexpectedly.", advice="Send the prompt again.", action="retry"),
    TransportWord(word="observer", type="invalid_request", loss="none", sentence="This connection may watch the session but not control it.", advice="Use a controller's token.", action="fix_configuration"),
    TransportWord(word="one_session", type="invalid_request", loss="none", sentence="This token is for one session alone.", advice="Use a token for all sessions.", action="fix_configuration"),
    TransportWord(word="turn_open", type="invalid_request", loss="none", sentence="Another window's turn is running in this session.", advice="Wait for its end, or cancel it.", action="wait"),
    TransportWord(word="too_many_requests", type="invalid_request", loss="none", sentence="Too many requests of this connection are waiting for answers.", advice="Wait for one of them.", action="wait"),
    TransportWord(word="too_many_viewers", type="invalid_request", loss="none", sentence="This session has as many viewers as it may have.", advice="Close one, or see --viewers.", action="wait"),
    TransportWord(word="too_many_sessions", type="invalid_request", loss="none", sentence="This agent has as many sessions as it may have.", advice="Close one of them.", action="wait"),
    TransportWord(word="too_many_agents", type="invalid_request", loss="none", sentence="The gateway runs as many agents as it may run.", advice="Close a session, or see --sessions.", action="wait"),
    TransportWord(word="outside_root", type="invalid_request", loss="none", sentence="A folder that was named is outside of the gateway's root.", advice="Name one below it, or see --root.", action="fix_configuration"),
    TransportWord(word="session_elsewhere", type="invalid_request", loss="none", sentence="Another gateway of this user has this session.", advice="Use that gateway, or stop it.", action="fix_configuration"),
    TransportWord(word="bad_request", type="invalid_request", loss="none", sentence="The request cannot be read.", advice="Look at /v1/openapi.json for what it takes.", action="fix_configuration"),
    TransportWord(word="bad_cursor", type="invalid_request", loss="none", sentence="This is no position in the session's log.", advice="Begin without a position.", action="fix_configuration"),
    TransportWord(word="not_acceptable", type="invalid_request", loss="none", sentence="The answer has none of the types that were asked for.", advice="Ask for application/json.", action="fix_configuration"),
    TransportWord(word="not_found", type="invalid_request", loss="none", sentence="There is nothing at this path.", advice="Look at /v1/openapi.json for what there is.", action="fix_configuration", aliases=("not-found",)),
    TransportWord(word="method_not_allowed", type="invalid_request", loss="none", sentence="This path does not take that method.", advice="Look at /v1/openapi.json for what it takes.", action="fix_configuration"),
    TransportWord(word="too_large", type="invalid_request", loss="none", sentence="The body is too large.", advice="Send less.", action="shorten"),
    TransportWord(word="connection_unknown", type="invalid_request", loss="none", sentence="There is no such connection.", advice="Begin a new one with initialize.", action="retry"),
    TransportWord(word="stream_unread", type="network", loss="none", sentence="Another stream of this connection is not read.", advice="Read it, and try again in a moment.", action="wait"),
    TransportWord(word="internal", type="internal", loss="none", sentence="The gateway failed at this.", advice="Look at its stderr, and report it as a bug.", action="report"),
)
