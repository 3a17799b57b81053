"""One test that walks all its rows, and names each that fails: a row is cheap, a case is not."""

from __future__ import annotations

import contextlib
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = dict[str, Any]
Test = Callable[..., Any]

SHOWN = 200


def every(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Walk the rows in one test; used like `pytest.mark.parametrize`, and above another of itself.

    Every row has a `tmp_path`, a `monkeypatch` and a `capsys` as if it were a test of its own.
    """
    wanted = [n.strip() for n in names.split(",")] if isinstance(names, str) else [*names]
    own = [_row(wanted, row) for row in rows]
    assert own, f"no rows of {names}"

    def wrap(test: Test) -> Test:
        inner: Test = getattr(test, "one_row", test)
        below: list[Row] = getattr(test, "rows", [{}])
        walked = [outer | row for outer in own for row in below]
        if inspect.iscoroutinefunction(inner):

            async def walk(**fixtures: Any) -> None:
                failures: list[str] = []
                for number, row in enumerate(walked):
                    with _noting(row, failures), _afresh(fixtures, number) as given:
                        await inner(**given, **row)
                _tell(failures, len(walked))
        else:

            def walk(**fixtures: Any) -> None:  # type: ignore[misc]
                failures: list[str] = []
                for number, row in enumerate(walked):
                    with _noting(row, failures), _afresh(fixtures, number) as given:
                        inner(**given, **row)
                _tell(failures, len(walked))

        walk.__name__, walk.__doc__, walk.__module__ = test.__name__, test.__doc__, test.__module__
        walk.__qualname__ = test.__qualname__
        walk.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]
        walk.one_row, walk.rows = inner, walked  # type: ignore[attr-defined]
        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in wanted]
        walk.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return walk

    return wrap


def _row(wanted: list[str], row: Any) -> Row:
    assert not isinstance(row, type(pytest.param())), "a row is its values alone"
    values = (row,) if len(wanted) == 1 else row
    return dict(zip(wanted, values, strict=True))


@contextlib.contextmanager
def _noting(row: Row, failures: list[str]) -> Iterator[None]:
    try:
        yield
    except (Exception, pytest.fail.Exception):  # noqa: BLE001 - told of below
        shown = ", ".join(f"{name}={value!r:.{SHOWN}}" for name, value in row.items())
        failures.append(f"{shown}\n{traceback.format_exc(limit=-4)}")


@contextlib.contextmanager
def _afresh(fixtures: Row, number: int) -> Iterator[Row]:
    given = dict(fixtures)
    with contextlib.ExitStack() as stack:
        if "tmp_path" in given:
            given["tmp_path"] = given["tmp_path"] / str(number)
            given["tmp_path"].mkdir()
        if "monkeypatch" in given:
            given["monkeypatch"] = stack.enter_context(given["monkeypatch"].context())
        if "capsys" in given:
            given["capsys"].readouterr()
            # `main` leaves its own stream in place of the one it found.
            stack.enter_context(contextlib.redirect_stdout(sys.stdout))
        yield given


def _tell(failures: list[str], walked: int) -> None:
    if failures:
        told = "\n".join(failures)
        pytest.fail(f"{len(failures)} of {walked} rows fail\n{told}", pytrace=False)
