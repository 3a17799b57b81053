"""The tree of exceptions: each type of failure has its class, and each class its use."""

from __future__ import annotations

import pickle

import pytest

from lastword import errors
from lastword.client import raise_for_error
from lastword.client.reading import CLASS_FOR
from lastword.core.failure.taxonomy import DEFAULTS, AgentError, ErrorType
from tests.kit.rows import every


def classes() -> set[type[errors.PromptFailedError]]:
    found = {errors.PromptFailedError}
    for _ in range(3):
        found |= {sub for one in found for sub in one.__subclasses__()}
    return found


def test_every_type_of_failure_has_a_leaf_of_the_tree_and_its_line_in_the_docstring() -> None:
    assert set(CLASS_FOR) == set(ErrorType)
    leaves = {one for one in classes() if not one.__subclasses__()}
    assert set(CLASS_FOR.values()) == leaves
    assert len(leaves) == len(ErrorType)
    lines = (errors.__doc__ or "").splitlines()
    for error_type, kind in CLASS_FOR.items():
        (line,) = [line for line in lines if f"── {kind.__name__} " in line]
        assert f"`{error_type.value}`: " in line
    for name in {*errors.__all__} - {"LastwordError"}:
        assert any(f"── {name} " in line for line in lines), name
    assert {one.__name__ for one in classes()} <= set(errors.__all__)


def test_the_group_exceptions_still_catch_the_same_types() -> None:
    groups = {
        errors.TemporaryError: {"rate_limit", "provider_unavailable", "timeout", "network"},
        errors.PromptRejectedError: {"context_overflow", "content_filter"},
        errors.SetupRejectedError: {"model_not_found", "invalid_request"},
        errors.AgentLostError: {"agent_crash", "agent_stalled", "stderr_overflow"},
    }
    for group, types in groups.items():
        assert {t.value for t, kind in CLASS_FOR.items() if issubclass(kind, group)} == types
    helped = groups[errors.TemporaryError] | groups[errors.AgentLostError]
    assert helped == {t.value for t in ErrorType if DEFAULTS[t].retryable}, "those a wait helps"


@every("error_type", ErrorType)
def test_a_failure_is_raised_as_its_class_again_unchanged_and_after_a_pickle(
    error_type: ErrorType,
) -> None:
    retryable = DEFAULTS[error_type].retryable
    error = AgentError(type=error_type, message="It failed. Try again.", retryable=retryable)
    with pytest.raises(errors.LastwordError, match="It failed") as raised:
        raise_for_error(error)
    assert type(raised.value) is CLASS_FOR[error_type]
    assert raised.value.error is error
    with pytest.raises(errors.LastwordError) as again:
        raise_for_error(raised.value)
    assert again.value is raised.value
    back = pickle.loads(pickle.dumps(raised.value))
    assert type(back) is type(raised.value)
    assert (back.error, str(back)) == (error, str(raised.value))


def test_the_exceptions_names_of_0_2_are_the_same_classes() -> None:
    before = {name: kind for name, kind in vars(errors).items() if _is_other_name(name, kind)}
    assert len(before) == 28
    assert before["RateLimited"] is errors.RateLimitError
    assert before["TimedOut"] is errors.ProviderTimeoutError
    assert not {*before} & {*errors.__all__}


def _is_other_name(name: str, kind: object) -> bool:
    return isinstance(kind, type) and kind.__name__ != name
