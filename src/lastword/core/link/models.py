"""The models of a session: those that the agent offers, the one in force, and the one before it.

Owns the reading of both forms in which agents offer models, and the requests that choose one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from lastword.core.link.choices import Setting


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
        """The model in force, as far as the agent has said."""
        self.former: str | None = None
        """The one that comes back at the end of the turn, while another is in force."""
        self.user_chose: bool = False
        """Has the user chosen a model since the last switch was begun?"""
        self.returns_to_choice: bool = False
        """Is the model that comes back one that the user has just chosen?"""
        self._turn = 0
        self._tried: set[str | None] = set()
        """The models that have failed this turn, or that the agent was asked for within it."""
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
            self._option, self._listed = _text(option.get("id")), options
            self.offered = tuple(_values(option.get("options")))
            self.current = _text(option.get("currentValue"))
        elif self._option is None:
            models = object_of(members.get("models"))
            available = models.get("availableModels")
            if isinstance(available, list):
                ids = (_text(object_of(model).get("modelId")) for model in available)
                self.offered = tuple(each for each in ids if each is not None)
            current = models.get("currentModelId", members.get("currentModelId"))
            self.current = _text(current) or self.current

    def setting(self, session_id: str, model: str) -> Setting:
        """Return the request that switches to a model."""
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
            return _text(params.get("value"))
        return _text(params.get("modelId")) if method == acp.SET_MODEL else None

    def requested_by_user(self, method: str, params: dict[str, Any]) -> None:
        """Note a request of the client's."""
        if self.chosen_by(method, params) is not None:
            self.user_chose = True

    def answered_to_user(self, method: str, params: dict[str, Any], *, accepts: bool) -> None:
        """Note the agent's answer to a request of the client's.

        A model of the user's own choice stays. One that they chose before a switch was begun is
        what the session goes back to.
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
        """Return the first of these that is offered, and that the turn has not tried."""
        left = (model for model in models if model not in self._tried)
        return next((model for model in left if model in self.offered), None)

    def note_request(self, model: str) -> None:
        """Note that the agent is asked for a model, once in a turn."""
        self._tried.add(model)

    def leave(self) -> None:
        """Note that a switch to another model is on its way."""
        self.former, self.user_chose = self.former or self.current, False

    def pop_former(self) -> str | None:
        """Return the model that was to come back, and forget it: the one in force stays."""
        former, self.former = self.former, None
        self.returns_to_choice = False
        return former


def _values(options: object) -> list[str]:
    """Return the values of an option, which may stand in groups."""
    values: list[str] = []
    for option in options if isinstance(options, list) else []:
        members = object_of(option)
        value = _text(members.get("value"))
        values += _values(members.get("options")) if value is None else [value]
    return values


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
