"""What a viewer may send: by its right, below the gateway's root, as an answer to a question."""

from __future__ import annotations

import errno
import json
from itertools import product
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from lastword.core.protocol import jsonrpc
from lastword.gateway.viewing import access, frames
from lastword.gateway.viewing.access import OutsideRootError, resolved_params
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

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


PERMISSION = "session/request_permission"


def outcome_of(answer: bytes | None) -> object:
    assert answer is not None
    return jsonrpc.loads(answer)["result"]["outcome"]


def question(*options: object) -> bytes:
    params = {"toolCall": {"title": "Edit"}, "options": options}
    return jsonrpc.request(b"1", PERMISSION, params)


def test_a_question_is_answered_by_the_place_of_an_option_that_can_be_chosen() -> None:
    yes = {"optionId": "a", "kind": "allow_once", "name": "Yes"}
    no = {"optionId": "b", "kind": "reject_once"}
    asked = question({"optionId": 7}, yes, None, no)
    assert [(each.place, each.kind, each.name) for each in access.choices_of(asked)] == [
        (1, "allow_once", "Yes"),
        (3, "reject_once", ""),
    ]
    assert access.title_of(asked) == "Edit"
    chosen = access.answer_to(PERMISSION, asked, 3)
    assert outcome_of(chosen) == {"outcome": "selected", "optionId": "b"}
    assert access.answer_to(PERMISSION, asked, 0) is None
    assert access.answer_to("elicitation/create", asked, 3) is None
    for place in (0, 1):  # an id that is ambiguous
        chosen = access.answer_to(PERMISSION, question(yes, no | {"optionId": "a"}), place)
        assert outcome_of(chosen) == {"outcome": "cancelled"}


def test_an_unattended_answer_rejects_once_if_possible_and_cancels_otherwise() -> None:
    allow = {"kind": "allow_once", "optionId": "yes"}
    asked = question(allow, {"kind": "reject_once", "optionId": "no"})
    answer = access.answer_of_nobody(PERMISSION, asked)
    assert outcome_of(answer) == {"outcome": "selected", "optionId": "no"}
    for other in (
        question(),
        question(1),
        question({"kind": "reject_once"}),
        question(allow),
        jsonrpc.request(b"1", PERMISSION, {"options": None}),
    ):
        assert outcome_of(access.answer_of_nobody(PERMISSION, other)) == {"outcome": "cancelled"}
    error = jsonrpc.loads(access.answer_of_nobody("fs/read_text_file", b"{}"))["error"]
    assert error["code"] == -32603


def test_a_session_that_is_unknown_is_named_within_a_bound() -> None:
    error = access.unknown_session("x" * 1000)
    assert error["code"] == -32002
    assert len(error["data"]["sessionId"]) == 200


def test_a_folder_renamed_during_the_check_is_not_below_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = str(tmp_path / "work")
    for code in (errno.ENOENT, errno.EINVAL, errno.EACCES, errno.ELOOP):
        monkeypatch.setattr("os.path.realpath", Mock(side_effect=OSError(code, "gone")))
        for params in (
            {"cwd": inside},
            {"additionalDirectories": [inside]},
            {"workspaceUri": f"file://{inside}"},
            {"mcpServers": [{"cwd": inside}]},
        ):
            with pytest.raises(OutsideRootError):
                resolved_params(params, str(tmp_path))


def test_a_null_folder_is_refused_except_where_folders_are_optional(tmp_path: Path) -> None:
    optional = {"additionalDirectories": None, "workspaceUri": None, "workspaceFolders": None}
    assert resolved_params(optional, str(tmp_path)) == optional
    for params in ({"cwd": None}, {"_meta": {"options": {"cwd": None}}}):
        with pytest.raises(OutsideRootError):
            resolved_params(params, str(tmp_path))


def test_an_error_for_which_a_session_was_not_loaded_gets_a_type_unless_it_has_one() -> None:
    login = {"code": -32000, "message": "Authentication required"}
    assert access.not_loaded(login) is login
    typed = access.agent_stopped()
    assert access.not_loaded(typed) is typed
    gone = access.not_loaded({"code": -32002, "message": "No such session"})
    assert gone["data"]["agent_error"]["reason"] == "context_lost"
    assert gone["data"]["details"] == f"{gone['message']} (No such session)"
    assert access.not_loaded({"code": 1, "message": None})["data"]["details"] == gone["message"]
