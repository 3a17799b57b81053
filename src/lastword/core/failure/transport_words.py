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
    TransportWord(word="gateway_stops", type="network", loss="patient", sentence="The gateway is shutting down.", advice="It is retried automatically; start the gateway if this continues.", action="retry", codes=(1001,)),
    TransportWord(word="gateway_restarts", type="network", loss="patient", sentence="The gateway is restarting.", advice="It is retried automatically.", action="retry", codes=(1012,), aliases=("restarts",)),
    TransportWord(word="agent_lost", type="network", loss="patient", sentence="The agent that held this session has ended.", advice="It is brought back automatically.", action="retry", aliases=("agent-lost",)),
    TransportWord(word="closed_1005", type="network", loss="cut", sentence="The connection was closed without a reason.", advice="It is retried automatically.", action="retry", codes=(1005,)),
    TransportWord(word="closed_1006", type="network", loss="cut", sentence="The connection was cut.", advice="It is retried automatically; check the network if this continues.", action="retry", codes=(1006,), aliases=("cut",)),
    TransportWord(word="closed_1015", type="network", loss="cut", sentence="The connection could not be encrypted.", advice="It is retried automatically; check any proxy on the way.", action="retry", codes=(1015,)),
    TransportWord(word="no_heartbeat", type="network", loss="now", sentence="The connection stopped responding.", advice="It is retried at once.", action="retry", codes=(4408,), statuses=(408,), aliases=("no-heartbeat", "keepalive ping timeout")),
    TransportWord(word="stalled", type="network", loss="now", sentence="The connection accepted no data for a minute.", advice="It is retried at once and continues where it was.", action="retry"),
    TransportWord(word="superseded", type="network", loss="final", sentence="This session is open in another window.", advice="Continue there.", action="continue", codes=(4409,)),
    TransportWord(word="session_unknown", type="invalid_request", loss="permanent", sentence="This session no longer exists on the gateway.", advice="Start a new session.", action="fix_configuration", codes=(4404,), statuses=(404, 410), aliases=("session-unknown",)),
    TransportWord(word="unauthorized", type="auth", loss="refresh", sentence="The gateway refused the token twice.", advice="Log in again.", action="login", codes=(4401,), statuses=(401,), aliases=("gateway_unauthorized",)),
    TransportWord(word="forbidden", type="auth", loss="permanent", sentence="The gateway allows no access here.", advice="Ask its owner, or check its address.", action="fix_configuration", codes=(1008, 4403), statuses=(403,), aliases=("gateway_forbidden",)),
    TransportWord(word="host", type="auth", loss="permanent", sentence="The gateway does not accept this host name.", advice="Allow the name with --allow-host.", action="fix_configuration"),
    TransportWord(word="origin", type="auth", loss="permanent", sentence="Pages of this origin may not use the gateway.", advice="Allow the origin with --allow-origin.", action="fix_configuration"),
    TransportWord(word="too_many", type="network", loss="transient", sentence="The gateway is too busy for this.", advice="Try again in a moment.", action="wait", codes=(4429,), statuses=(429,), aliases=("too-many",)),
    TransportWord(word="too_many_failures", type="auth", loss="transient", sentence="Too many wrong tokens came from here.", advice="Wait a minute, and check the token.", action="wait", aliases=("too-many-failures",)),
    TransportWord(word="overloaded", type="network", loss="patient", sentence="The gateway is overloaded.", advice="It is retried automatically.", action="wait", codes=(1013,)),
    TransportWord(word="too_early", type="network", loss="transient", sentence="The gateway is not ready yet.", advice="Try again in a moment.", action="wait", codes=(4425,), statuses=(425,)),
    TransportWord(word="misdirected", type="network", loss="transient", sentence="The request reached another gateway.", advice="It is retried automatically.", action="retry", statuses=(421,)),
    TransportWord(word="gateway_error", type="internal", loss="transient", sentence="The gateway failed.", advice="It is retried automatically; check the gateway's log if this continues.", action="retry", codes=(1011, 1014), statuses=(500, 502, 503, 504)),
    TransportWord(word="protocol", type="protocol_error", loss="permanent", sentence="The gateway and the viewer do not understand each other.", advice="Report this as a bug.", action="report", codes=(1002, 1003, 1007, 4400), aliases=("gateway_protocol",)),
    TransportWord(word="frame_too_large", type="invalid_request", loss="permanent", sentence="A message was larger than the gateway accepts.", advice="Send smaller messages, or see --frame-limit.", action="shorten", codes=(1009,)),
    TransportWord(word="initialize_first", type="protocol_error", loss="permanent", sentence="A message was sent before initialize.", advice="Report this as a bug.", action="report", aliases=("initialize first", "no initialize")),
    TransportWord(word="refused", type="invalid_request", loss="permanent", sentence="The gateway refused the connection.", advice="Check its address.", action="fix_configuration", aliases=("gateway_refused",)),
    TransportWord(word="redirected", type="invalid_request", loss="permanent", sentence="The gateway is at another address.", advice="Set the new address.", action="fix_configuration", statuses=(301, 302, 303, 307, 308), aliases=("gateway_redirected",)),
    TransportWord(word="certificate", type="network", loss="permanent", sentence="The gateway's certificate is not trusted.", advice="Check the certificate, and this machine's clock.", action="fix_configuration", aliases=("gateway_certificate",)),
    TransportWord(word="gateway_unreachable", type="network", loss="none", sentence="The gateway cannot be reached.", advice="Check that the gateway is running.", action="retry"),
    TransportWord(word="gateway_not_found", type="invalid_request", loss="none", sentence="There is no gateway at this address.", advice="Check its path, which is /acp unless set.", action="fix_configuration"),
    TransportWord(word="gateway_forgot", type="network", loss="none", sentence="The gateway no longer knows this connection.", advice="Check whether the turn is still running before you try again.", action="confirm_retry"),
    TransportWord(word="asked_to_wait", type="network", loss="none", sentence="The gateway asks for a wait.", advice="Try again after the wait.", action="wait"),
    TransportWord(word="gap", type="network", loss="none", sentence="Part of this session is no longer kept.", advice="No action is needed; what still matters of it is shown.", action="continue"),
    TransportWord(word="log_reset", type="network", loss="none", sentence="This session's log has started again.", advice="No action is needed; everything that is kept is shown again.", action="continue"),
    TransportWord(word="log_unwritable", type="internal", loss="none", sentence="The gateway cannot write this session's log.", advice="Check whether its disk is full.", action="report"),
    TransportWord(word="log_unreadable", type="internal", loss="none", sentence="The gateway cannot read this session's log.", advice="Try again, and check the gateway's machine if this continues.", action="report"),
    TransportWord(word="restored_without_history", type="agent_crash", loss="none", sentence="The agent was restarted and remembers nothing of the conversation.", advice="Tell it what it needs to know, or start a new session.", action="continue"),
    TransportWord(word="not_restored", type="agent_crash", loss="none", sentence="The agent could not resume this session.", advice="Start a new session.", action="restart"),
    TransportWord(word="holder_died", type="agent_crash", loss="none", sentence="The agent or its gateway stopped.", advice="Send the prompt again.", action="retry"),
    TransportWord(word="observer", type="invalid_request", loss="none", sentence="This connection may watch the session but not control it.", advice="Use a controller's token.", action="fix_configuration"),
    TransportWord(word="one_session", type="invalid_request", loss="none", sentence="This token is for a single session.", advice="Use a token for all sessions.", action="fix_configuration"),
    TransportWord(word="turn_open", type="invalid_request", loss="none", sentence="A turn from another window is running in this session.", advice="Wait until it ends, or cancel it.", action="wait"),
    TransportWord(word="too_many_requests", type="invalid_request", loss="none", sentence="Too many requests on this connection are waiting for answers.", advice="Wait for one of them.", action="wait"),
    TransportWord(word="too_many_viewers", type="invalid_request", loss="none", sentence="This session has reached its limit of viewers.", advice="Close one, or see --viewers.", action="wait"),
    TransportWord(word="too_many_sessions", type="invalid_request", loss="none", sentence="This agent has reached its limit of sessions.", advice="Close one of them.", action="wait"),
    TransportWord(word="too_many_agents", type="invalid_request", loss="none", sentence="The gateway has reached its limit of agents.", advice="Close a session, or see --sessions.", action="wait"),
    TransportWord(word="outside_root", type="invalid_request", loss="none", sentence="A folder is outside the gateway's root.", advice="Choose one below it, or see --root.", action="fix_configuration"),
    TransportWord(word="session_elsewhere", type="invalid_request", loss="none", sentence="Another gateway of this user holds this session.", advice="Use that gateway, or stop it.", action="fix_configuration"),
    TransportWord(word="bad_request", type="invalid_request", loss="none", sentence="The request cannot be read.", advice="See /v1/openapi.json for what it accepts.", action="fix_configuration"),
    TransportWord(word="expired", type="invalid_request", loss="none", sentence="This button or link has expired.", advice="Open the session.", action="continue"),
    TransportWord(word="bad_cursor", type="invalid_request", loss="none", sentence="This is not a position in the session's log.", advice="Start without a position.", action="fix_configuration"),
    TransportWord(word="not_acceptable", type="invalid_request", loss="none", sentence="The answer is not available in any of the requested types.", advice="Ask for application/json.", action="fix_configuration"),
    TransportWord(word="not_found", type="invalid_request", loss="none", sentence="There is nothing at this path.", advice="See /v1/openapi.json for what there is.", action="fix_configuration", aliases=("not-found",)),
    TransportWord(word="method_not_allowed", type="invalid_request", loss="none", sentence="This path does not accept that method.", advice="See /v1/openapi.json for what it accepts.", action="fix_configuration"),
    TransportWord(word="too_large", type="invalid_request", loss="none", sentence="The body is too large.", advice="Send less.", action="shorten"),
    TransportWord(word="connection_unknown", type="invalid_request", loss="none", sentence="This connection does not exist.", advice="Start a new one with initialize.", action="retry"),
    TransportWord(word="stream_unread", type="network", loss="none", sentence="Another stream of this connection is not being read.", advice="Read it, and try again in a moment.", action="wait"),
    TransportWord(word="internal", type="internal", loss="none", sentence="The gateway failed at this request.", advice="Check its stderr, and report it as a bug.", action="report"),
)
