"""`--fallback-model` before a real agent, one of whose models is unavailable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.kit.provider.dialects import MODEL
from lastword.kit.provider.server import Provider, ProviderScenario
from tests.interop import real_agents
from tests.interop.matrix import sidecar
from tests.interop.runs import Client, Event, Run, run

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "other-model"
CONFIGURATION = ".config/opencode/opencode.json"


def shown(result: Run) -> list[str]:
    """The models that the client was shown, one after the other, each once."""
    models: list[str] = []
    for update in result.updates_on_the_wire("config_option_update"):
        options: list[dict[str, Any]] = update["configOptions"]
        (model,) = [each["currentValue"] for each in options if each.get("category") == "model"]
        models += [model] if models[-1:] != [model] else []
    return models


def test_opencode_continues_with_its_other_model_and_returns_to_the_first(tmp_path: Path) -> None:
    models_shown = [f"fake/{OTHER}", f"fake/{MODEL}"]
    so_far = Run()

    def has_returned(event: Event) -> bool:
        so_far.events.append(event)
        return bool(so_far.outcomes()) and shown(so_far) == models_shown

    # It has a `Retry-After` of 1 s; after a quota's error opencode tries again for over a minute.
    unavailable = {f'"{MODEL}"': ProviderScenario.BAD_GATEWAY}
    with Provider(ProviderScenario.HEALTHY, marked=unavailable) as provider:
        agent = real_agents.prepare("opencode", provider, tmp_path)
        file = agent.home / CONFIGURATION
        configuration = json.loads(file.read_text())
        models = configuration["provider"]["fake"]["models"]
        models[OTHER] = dict(models[MODEL])
        file.write_text(json.dumps(configuration))
        command = sidecar(agent.argv, ["--fallback-model", f"fake/{OTHER}"])
        result = run(
            Client("py", ("--told",)), command, agent.env, agent.cwd, on_event=has_returned
        )
        asked = [call.model for call in provider.calls if call.offers_tools]
    (outcome,) = result.outcomes()
    assert (outcome["event"], outcome.get("stop_reason")) == ("answer", "end_turn"), result.stderr
    assert asked[-1] == OTHER
    assert set(asked[:-1]) == {MODEL}
    assert shown(result) == models_shown
    assert result.leftovers == []
