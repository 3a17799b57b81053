"""A session's mode, model and options: what was chosen, what the client shows, what is offered.

Owns what is set again when the session is restored in another agent, and the reading of both forms
in which agents offer models. A choice holds until the agent says otherwise: a setting that the
session has since left is no longer a choice.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from lastword.core.protocol import acp
from lastword.core.protocol.acp import object_of

Setting = tuple[str, dict[str, Any]]
"""A request by which a choice is made: its method and its params."""


class Choices(msgspec.Struct, eq=False):
    """The settings with which a session works."""

    mode_option: str | None = None
    """The option that stands for the mode, if the agent has one."""
    made: dict[tuple[str, str], dict[str, Any]] = {}
    """The choices that hold, the latest last: params by method and option."""
    mode: str | None = None
    """The mode that was last reported or chosen, if any was."""
    options: dict[str, Any] = {}
    """The options that the agent listed or the client chose, each with its value."""
    _model: str | None = None
    _model_option: str | None = None

    @property
    def model(self) -> str | None:
        """The model's id, if the agent states it: as an option, or else as its model."""
        return _text(self.options.get(self._model_option or "")) or self._model

    def chose(self, method: str, params: dict[str, Any], answer: object = None) -> None:
        """Note that the agent accepted the client's choice with this answer."""
        self.note_choice(method, params)
        if method == acp.SET_MODE:
            self._in_mode(params.get("modeId"))
        elif method == acp.SET_MODEL:
            self._model = _text(params.get("modelId")) or self._model
        else:
            self._has_value(str(params.get("configId", "")), params.get("value"))
        if answer:
            self.read_answer(answer)

    def note_choice(self, method: str, params: dict[str, Any]) -> None:
        """Note what to set when the session is restored, whatever the client shows until then."""
        option = str(params.get("configId", ""))
        self.made.pop((method, option), None)
        self.made[method, option] = params

    def read_answer(self, answer: object) -> None:
        """Read the settings from the answer that opened the session or changed one."""
        members = object_of(answer)
        self._in_mode(object_of(members.get("modes")).get("currentModeId"))
        model = object_of(members.get("models")).get("currentModelId")
        self._model = _text(model) or self._model
        self._list(members.get("configOptions"))

    def changed(self, session_id: str, update: dict[str, Any]) -> None:
        """Note that the session itself switched its mode or options."""
        before = self.mode
        left = [option for method, option in self.made if method == acp.SET_OPTION]
        mode = update.get("currentModeId")
        self._in_mode(mode)
        self._list(update.get("configOptions"))
        if isinstance(mode, str):
            self.made.pop((acp.SET_MODE, ""), None)
            self.made[acp.SET_MODE, ""] = {"sessionId": session_id, "modeId": mode}
        elif self.mode != before and self.mode_option is not None:
            left.append(self.mode_option)
        for option in left:
            if (acp.SET_OPTION, option) not in self.made and option in self.options:
                params = {"configId": option, "value": self.options[option]}
                self.made[acp.SET_OPTION, option] = {"sessionId": session_id, **params}

    def in_list(self, listed: list[Any]) -> list[Any]:
        """Return options as an agent lists them, with the values of these choices."""
        shown: list[Any] = []
        for option in listed:
            members = object_of(option)
            value = self.options.get(str(members.get("id")), UNSET)
            shown.append(option if value is UNSET else {**members, "currentValue": value})
        return shown

    def setting_of_mode(self, session_id: str, mode: str) -> Setting:
        """Return the request that switches the session to a mode."""
        option = self.mode_option
        if option is not None:
            return acp.SET_OPTION, {"sessionId": session_id, "configId": option, "value": mode}
        return acp.SET_MODE, {"sessionId": session_id, "modeId": mode}

    def mode_set_by(self, setting: Setting) -> str | None:
        """Return the mode to which a request would switch the session."""
        method, params = setting
        if method == acp.SET_MODE:
            return _text(params.get("modeId"))
        if method == acp.SET_OPTION and params.get("configId") == self.mode_option:
            return _text(params.get("value"))
        return None

    def _list(self, listed: object) -> None:
        if not isinstance(listed, list):
            return
        self.options = {}
        for entry in listed:
            option = object_of(entry)
            option_id = option.get("id")
            if isinstance(option_id, str) and "currentValue" in option:
                if option.get("category") == "mode":
                    self.mode_option = option_id
                elif option.get("category") == "model":
                    self._model_option = option_id
                self._has_value(option_id, option["currentValue"])

    def _has_value(self, option_id: str, value: object) -> None:
        self.options[option_id] = value
        made = self.made.get((acp.SET_OPTION, option_id))
        if made is not None and made.get("value") != value:
            del self.made[acp.SET_OPTION, option_id]
        if option_id == self.mode_option:
            self._in_mode(value)

    def _in_mode(self, mode: object) -> None:
        """Note the session's mode, dropping a choice of any other mode."""
        if not isinstance(mode, str):
            return
        self.mode = mode
        if self.made.get((acp.SET_MODE, ""), {}).get("modeId", mode) != mode:
            del self.made[acp.SET_MODE, ""]
        option = self.mode_option
        if option is not None and option in self.options:
            self.options[option] = mode
            if self.made.get((acp.SET_OPTION, option), {}).get("value", mode) != mode:
                del self.made[acp.SET_OPTION, option]


def settings_updates(mode: str | None, listed: list[Any] | None) -> list[dict[str, Any]]:
    """Return the updates that show a mode and a list of options; none for `None`."""
    updates: list[dict[str, Any]] = []
    if mode is not None:
        updates.append({"sessionUpdate": acp.MODE_UPDATE, "currentModeId": mode})
    if listed is not None:
        updates.append({"sessionUpdate": acp.OPTION_UPDATE, "configOptions": listed})
    return updates


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# --- the models of a session ----------------------------------------------------------------------


class Models:
    """The models that a session offers, and the one that it works with.

    They are a config option of the category `model` or, in agents that have none, the older list
    `models`, whose model `session/set_model` chooses.
    """

    __slots__ = (
        "_listed",
        "_option",
        "_tried",
        "_turn",
        "current",
        "former",
        "offered",
        "returns_to_choice",
        "user_chose",
    )

    def __init__(self, answer: object) -> None:
        self.offered: tuple[str, ...] = ()
        self.current: str | None = None
        """The model in force, if the agent has stated it."""
        self.former: str | None = None
        """While another is in force, the model that is restored at the end of the turn."""
        self.user_chose: bool = False
        """Has the user chosen a model since the last switch was begun?"""
        self.returns_to_choice: bool = False
        """Is the model to restore one that the user has just chosen?"""
        self._turn = 0
        self._tried: set[str | None] = set()
        """The models that have failed in this turn or were requested in it."""
        self._option: str | None = None
        self._listed: list[Any] = []
        """All config options, as the agent last listed them."""
        self.read(answer)

    def read(self, answer: object) -> None:
        """Read the models from an answer or an update that may list them."""
        members = object_of(answer)
        listed = members.get("configOptions")
        options = [object_of(option) for option in listed] if isinstance(listed, list) else []
        option = next((each for each in options if each.get("category") == "model"), None)
        if option is not None:
            self._option, self._listed = _name(option.get("id")), options
            self.offered = tuple(_values(option.get("options")))
            self.current = _name(option.get("currentValue"))
        elif self._option is None:
            models = object_of(members.get("models"))
            available = models.get("availableModels")
            if isinstance(available, list):
                ids = (_name(object_of(model).get("modelId")) for model in available)
                self.offered = tuple(each for each in ids if each is not None)
            current = models.get("currentModelId", members.get("currentModelId"))
            self.current = _name(current) or self.current

    def setting(self, session_id: str, model: str) -> Setting:
        session = {"sessionId": session_id}
        if self._option is not None:
            return acp.SET_OPTION, {**session, "configId": self._option, "value": model}
        return acp.SET_MODEL, {**session, "modelId": model}

    @property
    def listed(self) -> list[Any] | None:
        """All config options, if the model is one of them."""
        return self._listed if self._option is not None else None

    def chosen_by(self, method: str, params: dict[str, Any]) -> str | None:
        """Return the model that a request chooses, if it chooses one."""
        if method == acp.SET_OPTION and params.get("configId") == self._option:
            return _name(params.get("value"))
        return _name(params.get("modelId")) if method == acp.SET_MODEL else None

    def requested_by_user(self, method: str, params: dict[str, Any]) -> None:
        """Note a request of the client's."""
        if self.chosen_by(method, params) is not None:
            self.user_chose = True

    def answered_to_user(self, method: str, params: dict[str, Any], *, accepts: bool) -> None:
        """Note the agent's answer to a request of the client's.

        The user's own choice stays in force. One that was made before a switch began is restored
        after it.
        """
        chosen = self.chosen_by(method, params)
        if chosen is not None and accepts:
            self.former = None if self.user_chose else chosen
            self.returns_to_choice = not self.user_chose
        elif chosen is not None:
            self.user_chose = False

    def is_set(self, method: str, params: dict[str, Any], answer: object) -> None:
        """Note that the agent has accepted a request, the client's or one of ours."""
        chosen = self.chosen_by(method, params)
        if chosen is not None and (method == acp.SET_OPTION or self._option is None):
            self.current = chosen
            for option in self._listed:
                if option.get("id") == self._option:
                    option["currentValue"] = chosen
        self.read(answer)

    def fails(self, turn: int) -> None:
        """Note that the model in force has failed the turn with this number."""
        if turn != self._turn:
            self._turn, self._tried = turn, set()
        self._tried.add(self.current)

    def next_of(self, models: tuple[str, ...]) -> str | None:
        """Return the first of these that is offered and not yet tried in the turn."""
        left = (model for model in models if model not in self._tried)
        return next((model for model in left if model in self.offered), None)

    def note_request(self, model: str) -> None:
        """Note that a model is requested, which happens once in a turn."""
        self._tried.add(model)

    def leave(self) -> None:
        """Note that a switch to another model begins."""
        self.former, self.user_chose = self.former or self.current, False

    def pop_former(self) -> str | None:
        """Return the model that was to be restored, and forget it: the one in force stays."""
        former, self.former = self.former, None
        self.returns_to_choice = False
        return former


def _values(options: object) -> list[str]:
    """Return the values of an option, which may be in groups."""
    values: list[str] = []
    for option in options if isinstance(options, list) else []:
        members = object_of(option)
        value = _name(members.get("value"))
        values += _values(members.get("options")) if value is None else [value]
    return values


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
