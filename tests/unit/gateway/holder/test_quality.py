"""What a holder counts of its logs and of what is pulled from them."""

from __future__ import annotations

import pytest

from lastword.gateway.holder import quality as held
from lastword.gateway.holder.quality import HolderQuality, LogCounts
from lastword.gateway.log.entries import About, Gap, LogEntry, LogKind, Numbered
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.quality import metrics
from lastword.gateway.viewing.reader import Pulled


@pytest.fixture
def quality() -> HolderQuality:
    return HolderQuality()


@pytest.fixture
def log(quality: HolderQuality) -> MemoryLog:
    log = MemoryLog()
    log.observers.append(LogCounts(quality).committed)
    return log


def life(word: str, viewer: str = "", **facts: object) -> LogEntry:
    return LogEntry(LogKind.LIFE, 0, b"", About(viewer=viewer, word=word, facts=facts))


def counted(quality: HolderQuality, metric: metrics.Metric, *labels: str) -> float:
    return quality.counts.counters.get(metric.key(*labels), 0)


def test_commits_are_counted_with_their_entries_their_bytes_and_their_time(
    log: MemoryLog, quality: HolderQuality
) -> None:
    entry = LogEntry(LogKind.OUT, 0, b"x" * 100)
    assert log.append([entry, entry]) == 2
    assert log.append([]) == 2
    assert counted(quality, metrics.ENTRIES) == 2
    assert counted(quality, metrics.WRITTEN) == 2 * entry.size == log.size_bytes
    seen = quality.counts.distributions[metrics.COMMIT.key()]
    assert sum(seen.counts) == 1
    assert seen.total > 0


def test_turns_failures_and_questions_are_counted_by_how_they_ended(
    log: MemoryLog, quality: HolderQuality
) -> None:
    def end(failure: dict[str, object] | None, method: str = "session/prompt") -> LogEntry:
        return LogEntry(LogKind.END, 0, b"{}", About(method=method, failure=failure))

    log.append([end(None), end({"type": "budget"}), end(None, "session/set_mode")])
    log.append([LogEntry(LogKind.ASK, 0, b"{}"), LogEntry(LogKind.TOLD, 0, b"{}")])
    log.append([LogEntry(LogKind.TOLD, 0, b"{}", About(word="policy"))])
    assert counted(quality, metrics.TURNS, "answered") == 1
    assert counted(quality, metrics.TURNS, "failed") == 1
    assert counted(quality, metrics.ERRORS, "budget") == 1
    assert counted(quality, metrics.ASKED) == 1
    assert counted(quality, metrics.SETTLED, "policy") == 1
    assert counted(quality, metrics.SETTLED, "never heard of") == 1


def test_returning_viewers_are_counted_by_the_code_that_they_left_with(
    log: MemoryLog, quality: HolderQuality, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([life("viewer_came", "a"), life("viewer_came", "b")])
    log.append([life("viewer_left", "a", code=1006, cause="cut")])
    log.append([life("viewer_came", "a"), life("viewer_came", "a")])
    log.append([life("viewer_left", "b", code=1000, cause="attached again")])
    log.append([life("viewer_came", "b")])
    log.append([life("viewer_came", "c", back=True)])
    assert counted(quality, metrics.RECONNECTS, "1006") == 1
    assert counted(quality, metrics.RECONNECTS, "1000") == 0
    assert counted(quality, metrics.RECONNECTS, "unknown") == 1
    assert counted(quality, metrics.EVENTS, "viewer_came") == 6
    # Those that never come back are forgotten beyond a number.
    monkeypatch.setattr(held, "MAX_GONE", 20)
    log.append([life("viewer_left", f"v{number}", code=1006) for number in range(40)])
    log.append([life("viewer_came", "v19"), life("viewer_came", "v20")])
    assert counted(quality, metrics.RECONNECTS, "1006") == 2


def test_the_past_is_counted_apart_from_the_present_and_a_gap_with_its_entries(
    quality: HolderQuality,
) -> None:
    entries = tuple(Numbered(seq, LogEntry(LogKind.OUT, 0)) for seq in range(11, 21))
    for live_from in (14, 10, 100):
        quality.pulled(Pulled(entries=entries), live_from)
    quality.pulled(Pulled(gap=Gap(3, 7)), 0)
    assert counted(quality, metrics.DELIVERED) == 30
    assert counted(quality, metrics.REPLAYED) == 4 + 10
    assert counted(quality, metrics.GAPS, "trimmed") == 1
    assert counted(quality, metrics.MISSED, "trimmed") == 5
