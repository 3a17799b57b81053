"""What a viewer may send, over the whole product of methods, roles and tokens."""

from __future__ import annotations

import json
from itertools import product

from lastword.gateway.viewing import access, frames
from tests.kit.rows import every

ANSWERS_AND_OWN = ["_lastword/ping", "session/list", "$/cancel_request", ""]
OF_A_SESSION = ["session/prompt", "session/load", "session/close", "session/cancel", "_anything"]
OF_THE_AGENT = ["authenticate", "auth/login", "logout", "auth/logout", "session/new"]


@every(
    ("method", "controls", "token", "named"),
    [
        *product(
            [*ANSWERS_AND_OWN, *OF_A_SESSION, *OF_THE_AGENT, "session/fork", "initialize"],
            [True, False],
            ["", "mine"],
            [None, "mine", "other"],
        )
    ],
)
def test_rights_are_decided_by_method_session_role_and_token(
    method: str, token: str, named: str | None, *, controls: bool
) -> None:
    params = {} if named is None else {"sessionId": named}
    message = {"id": 1, "params": params} | ({"method": method} if method else {"result": {}})
    frame = frames.read(json.dumps(message).encode())
    refused = access.refusal(frame.message, controls=controls, session=token)
    data = {} if refused is None else refused.get("data", {})
    word = data.get("agent_error", {}).get("reason") or (refused or {}).get("code")
    if token and named == "other":
        assert word == -32002
    elif method == "initialize":
        assert word == -32600
    elif method in {*OF_THE_AGENT, "session/fork"} or (named is None and method in OF_A_SESSION):
        assert word == ("observer" if not controls else "one_session" if token else None)
    else:
        assert word is None
