"""A session's mode, model and options: what was chosen, and what the client shows of them.

Owns what is set again when the session returns in another agent. A choice holds until the agent
says otherwise: a setting that the session has since left is no longer a choice.
"""

from __future__ import annotations

from typing import Any

from lastword.core.protocol import acp
from lastword.core.protocol.tolerant import object_of

Setting = tuple[str, dict[str, Any]]
"""A request by which a choice is made: its method and its params."""


class Choices:
    """The settings with which a session works."""

    __slots__ = ("_model", "_model_option", "made", "mode", "mode_option", "options")

    def __init__(self, mode_option: str | None = None) -> None:
        self.made: dict[tuple[str, str], dict[str, Any]] = {}
        """The choices that hold, the latest last: by method and option, the params."""
        self.mode: str | None = None
        """The mode that was last told or chosen, if any was."""
        self.options: dict[str, Any] = {}
        """The options that the agent listed or the client chose, each with its value."""
        self.mode_option = mode_option
        """The option that is the mode, where the agent has one."""
        self._model: str | None = None
        self._model_option: str | None = None

    @property
    def model(self) -> str | None:
        """The model's id, if the agent says which it is: as an option, or else as its model."""
        return _text(self.options.get(self._model_option or "")) or self._model

    def chose(self, method: str, params: dict[str, Any], answer: object = None) -> None:
        """Note that the agent accepted a choice of the client's, with this answer."""
        self.comes_back_with(method, params)
        if method == acp.SET_MODE:
            self._in_mode(params.get("modeId"))
        elif method == acp.SET_MODEL:
            self._model = _text(params.get("modelId")) or self._model
        else:
            self._has_value(str(params.get("configId", "")), params.get("value"))
        if answer:
            self.read_answer(answer)

    def comes_back_with(self, method: str, params: dict[str, Any]) -> None:
        """Note what is to be set when the session returns, whatever the client shows until then."""
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
        """Note that the session itself switched to another mode or other options."""
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
        """Note all the options, as the agent lists them."""
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


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
