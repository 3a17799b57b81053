"""What tools see of the public surface: `help`, signatures and types of every name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pydoc
import re
import types
import typing

import pytest

import lastword
from lastword.inprocess import retry
from tests.kit.doc_blocks import DOCS, PAGES
from tests.kit.places import SOURCE
from tests.kit.rows import every

MODULES = (
    "lastword",
    "lastword.client",
    "lastword.client.acp",
    "lastword.client.model",
    "lastword.client.reconnect",
    "lastword.errors",
    "lastword.testing",
)

GUIDE = [page for page in PAGES if page.parent.name not in {"design", "reference"}]
"""What users read, but for the pages that are about the inside."""
BEHIND = {"lastword.inprocess.serve.connection.Client"}
"""What a public function hands over, and what is no public name itself."""

SURFACE = {
    "lastword": """
        Action AgentError CurrentTurn ErrorType Options Origin Phase Retry RetrySafety TurnFacts
        classify current_turn guard retry run_agent serve""",
    "lastword.client": """
        ErrorView RetryNotice describe raise_for_error read_error read_retry""",
    "lastword.client.acp": "connect_to_agent spawn_agent_process",
    "lastword.client.model": """
        Advertisement AgentErrorPayload AgentErrorUpdate AgentRetryUpdate json_schema""",
    "lastword.testing": """
        AgentSession CapturedTurn Entry Kind Outcome RetryNotice Summary Timeline ToolCall
        TurnResult capture_timeline open_session take_turn without_waits""",
}
"""The public names that a user writes, but for the exceptions and the reconnect policy."""

NAMES = [
    (module.__name__, name)
    for module in map(importlib.import_module, MODULES)
    for name in module.__all__
    if not isinstance(getattr(module, name), types.UnionType)  # a name for several types
]


def test_every_module_that_readme_and_the_guide_name_is_checked() -> None:
    guide = "\n".join(page.read_text(encoding="utf-8") for page in GUIDE)
    named = re.findall(r"\blastword(?:\.[a-z_]+)*", guide)
    imported = re.findall(r"from lastword import (.+)", guide)
    named += [f"lastword.{name}" for names in imported for name in names.split(", ")]
    named += [name.rpartition(".")[0] for name in named if "." in name]
    # What pytest runs has no names of its own.
    assert {n for n in named if _is_module(n)} - {"lastword.conformance"} == set(MODULES)


@pytest.mark.parametrize("module", SURFACE)
def test_the_public_names_are_these_and_at_most_twenty_four(module: str) -> None:
    home = importlib.import_module(module)
    names = home.__all__
    assert list(names) == sorted(SURFACE[module].split())
    assert {*names} <= {*dir(home)}
    assert len(names) <= 24


def test_every_public_module_has_its_page_in_the_reference() -> None:
    pages = "\n".join(
        page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")
    )
    shown = set(re.findall(r"^::: (\S+)", pages, re.MULTILINE)) - BEHIND
    single = {f"{module}.{name}" for module, name in NAMES}
    assert shown - single == set(MODULES)


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_package_says_which_modules_are_public_and_every_other_room_that_it_is_private() -> (
    None
):
    named = re.findall(r"`(lastword[\w.]*)`", lastword.__doc__ or "")
    assert {"lastword", *named} == set(MODULES)
    rooms = {path.parent.name for path in (SOURCE / "lastword").glob("*/__init__.py")}
    private = rooms - {"client", "conformance", "testing"}
    assert len(private) > 8
    for room in private:
        assert "Private: " in (importlib.import_module(f"lastword.{room}").__doc__ or ""), room


@every(("module", "name"), NAMES)
def test_help_and_signature_of_a_public_name_and_the_docstrings_of_its_methods_exist(
    module: str, name: str
) -> None:
    public = getattr(importlib.import_module(module), name)
    assert name in pydoc.render_doc(public)
    assert inspect.getdoc(public)
    assert inspect.signature(public) is not None
    if inspect.isfunction(public):
        assert inspect.signature(public, eval_str=True) is not None
    assert typing.get_type_hints(public) is not None
    for base in inspect.getmro(public) if inspect.isclass(public) else ():
        for member, value in vars(base).items() if base.__module__.startswith("lastword") else ():
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if inspect.isfunction(function) and not member.startswith("_"):
                assert function.__doc__, f"{base.__name__}.{member}"


def test_the_options_signature_has_every_option() -> None:
    parameters = inspect.signature(lastword.Options).parameters
    assert set(parameters) == set(lastword.Options.__struct_fields__)
    assert "wall_clock" in pydoc.render_doc(lastword.Options)


def test_the_decorators_limits_are_those_of_a_retry() -> None:
    assert typing.get_type_hints(retry.RetryLimits) == typing.get_type_hints(retry.Retry)
