"""The tree of exceptions: each type of failure has its class, and each class its use."""

from __future__ import annotations

import pickle

import pytest

import lastword.client
from lastword import errors
from lastword.client import raise_for_error
from lastword.client.reading import CLASS_FOR
from lastword.core.failure.taxonomy import DEFAULTS, AgentError, ErrorType
from tests.kit.rows import every


def error_of(error_type: ErrorType) -> AgentError:
    retryable = DEFAULTS[error_type].retryable
    return AgentError(type=error_type, message="It failed. Try again.", retryable=retryable)


def classes() -> set[type[errors.PromptFailedError]]:
    found = {errors.PromptFailedError}
    for _ in range(3):
        found |= {sub for one in found for sub in one.__subclasses__()}
    return found


def test_every_type_of_failure_has_a_leaf_of_the_tree_and_every_leaf_a_type() -> None:
    assert set(CLASS_FOR) == set(ErrorType)
    leaves = {one for one in classes() if not one.__subclasses__()}
    assert set(CLASS_FOR.values()) == leaves
    assert len(leaves) == len(ErrorType)


@every("error_type", ErrorType)
def test_the_tree_in_the_docstring_names_the_type_beside_its_class(error_type: ErrorType) -> None:
    lines = (errors.__doc__ or "").splitlines()
    (line,) = [line for line in lines if f"── {CLASS_FOR[error_type].__name__} " in line]
    assert f"`{error_type.value}`: " in line


def test_the_group_exceptions_still_catch_the_same_types() -> None:
    groups = {
        errors.TemporaryError: {"rate_limit", "provider_unavailable", "timeout", "network"},
        errors.PromptRejectedError: {"context_overflow", "content_filter"},
        errors.SetupRejectedError: {"model_not_found", "invalid_request"},
        errors.AgentLostError: {"agent_crash", "agent_stalled", "stderr_overflow"},
    }
    for group, types in groups.items():
        assert {t.value for t, kind in CLASS_FOR.items() if issubclass(kind, group)} == types


def test_every_class_is_named_in_the_docstring_that_shows_the_tree() -> None:
    assert errors.__doc__
    for name in errors.__all__:
        assert f"── {name} " in errors.__doc__ or name == "LastwordError"
    assert {one.__name__ for one in classes()} <= set(errors.__all__)


@every("error_type", ErrorType)
def test_a_failure_is_raised_as_its_class_with_its_sentence(error_type: ErrorType) -> None:
    error = error_of(error_type)
    with pytest.raises(errors.LastwordError, match="It failed") as raised:
        raise_for_error(error)
    assert type(raised.value) is CLASS_FOR[error_type]
    assert raised.value.error is error


def test_temporary_errors_are_those_that_a_wait_helps() -> None:
    temporary = {t for t, kind in CLASS_FOR.items() if issubclass(kind, errors.TemporaryError)}
    lost = {
        error_type
        for error_type, kind in CLASS_FOR.items()
        if issubclass(kind, errors.AgentLostError)
    }
    assert temporary | lost == {t for t in ErrorType if DEFAULTS[t].retryable}


@every("error_type", ErrorType)
def test_a_raised_failure_survives_a_pickle(error_type: ErrorType) -> None:
    raised = CLASS_FOR[error_type](error_of(error_type))
    back = pickle.loads(pickle.dumps(raised))
    assert type(back) is type(raised)
    assert (back.error, str(back)) == (raised.error, str(raised))


def test_every_public_exception_has_an_error_for_a_name() -> None:
    assert all(name.endswith("Error") for name in errors.__all__)


def test_the_exceptions_names_of_0_2_are_the_same_classes() -> None:
    before = {name: kind for name, kind in vars(errors).items() if _is_other_name(name, kind)}
    assert len(before) == 28
    assert before["RateLimited"] is errors.RateLimitError
    assert before["TimedOut"] is errors.ProviderTimeoutError
    assert not {*before} & {*errors.__all__}


def _is_other_name(name: str, kind: object) -> bool:
    return isinstance(kind, type) and kind.__name__ != name


def test_an_already_raised_failure_is_raised_again_unchanged() -> None:
    first = errors.RateLimitError(error_of(ErrorType.RATE_LIMIT))
    with pytest.raises(errors.RateLimitError) as raised:
        raise_for_error(first)
    assert raised.value is first


def test_the_clients_own_names_are_these() -> None:
    names = {"ErrorView", "RetryNotice", "describe", "raise_for_error", "read_error", "read_retry"}
    assert set(lastword.client.__all__) == names
    assert all(getattr(lastword.client, name) is not None for name in names)
