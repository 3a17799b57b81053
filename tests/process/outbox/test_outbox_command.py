"""`lastword outbox`: what waits, what became of the rest, and a try by hand."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from lastword.outbox.sender import send_due, send_once
from lastword.outbox.store import Outbox
from tests.kit.collector import Collector, answer
from tests.kit.command import command
from tests.kit.patience import FUSE_SECONDS
from tests.kit.reports_made import a_report, a_target

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def outbox(state: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    quiet = {"LASTWORD_STATE_DIR": str(state), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return command("outbox", *words, environment=os.environ | quiet | variables)


def test_an_empty_outbox_says_so(tmp_path: Path) -> None:
    done = outbox(tmp_path)
    assert done.returncode == 0
    assert "no failure has been reported" in " ".join(done.stdout.split())
    assert json.loads(outbox(tmp_path, "--json").stdout)["waiting"] == 0
    assert not list(tmp_path.iterdir())


def test_waiting_reports_are_listed_and_sent_by_hand(tmp_path: Path) -> None:
    with Collector(answer(503, b"", retry_after="90")) as collector:
        target = a_target(collector.url)
        box = Outbox(str(tmp_path))
        box.add([a_report(), a_report()], target)
        send_due(box, target, lambda: FUSE_SECONDS, send_once)
        assert "redirect" not in outbox(tmp_path, "--report-to", collector.url).stdout
        shown = outbox(tmp_path).stdout
        assert "2 waiting, 0 refused, 0 sent" in shown
        assert f"to {collector.url}: 2 reports" in shown
        assert "503 Service Unavailable, after 1 try; next try in" in shown
        failed = outbox(tmp_path, "--send", "--report-to", collector.url)
        assert (failed.returncode, failed.stdout.split(",")[0]) == (1, "0 reports sent")
        collector.turn_to(answer(200))
        done = outbox(tmp_path, "--send", LASTWORD_REPORT_TO=collector.url)
        assert (done.returncode, done.stdout) == (
            0,
            "2 reports sent, 0 still waiting, 0 refused\n",
        )


def test_reports_for_an_old_address_are_listed_and_redirected_to_the_new_one(
    tmp_path: Path,
) -> None:
    box = Outbox(str(tmp_path))
    old, older = a_target("http://127.0.0.1:9"), a_target("http://127.0.0.1:10")
    box.add([a_report(1), a_report(2)], old)
    box.add([a_report(3)], older)
    assert "with another one, `lastword outbox --redirect all" in " ".join(
        outbox(tmp_path, LASTWORD_REPORT_TO="").stdout.split()
    )
    with Collector() as collector:
        shown = outbox(tmp_path, LASTWORD_REPORT_TO=collector.url).stdout
        assert f"--redirect {old.place}" in shown
        assert shown.count("so these are not sent") == 2
        targets = json.loads(outbox(tmp_path, "--json", LASTWORD_REPORT_TO=collector.url).stdout)
        assert [each["current"] for each in targets["targets"]] == [False, False]
        done = outbox(tmp_path, "--redirect", f"{old.place}/", "--report-to", collector.url)
        assert (done.returncode, done.stdout) == (
            1,
            "2 reports sent, 1 still waiting, 0 refused\n",
        )
        assert sorted(collector.ids()) == [f"{number:032x}" for number in (1, 2)]
        with box.as_sender(older) as is_ours:
            assert is_ours
            done = outbox(tmp_path, "--redirect", "all", "--report-to", collector.url)
            assert "are being sent to their old address" in done.stderr
            assert box.status().waiting == 1
        done = outbox(tmp_path, "--redirect", "all", "--report-to", collector.url)
        assert (done.returncode, collector.expect(3)[2].report_id) == (0, f"{3:032x}")
        done = outbox(tmp_path, "--redirect", older.place, "--report-to", collector.url)
        assert (done.returncode, "no report waits for" in done.stderr) == (2, True)
    done = outbox(tmp_path, "--redirect", "all")
    assert (done.returncode, "the address is missing" in done.stderr) == (2, True)


def test_dead_letters_are_listed_and_deleted(tmp_path: Path) -> None:
    with Collector(answer(401)) as collector:
        target = a_target(collector.url)
        box = Outbox(str(tmp_path))
        box.add([a_report(incident_id="01RUNA-7")], target)
        send_due(box, target, lambda: FUSE_SECONDS, send_once)
    shown = outbox(tmp_path).stdout
    assert "rate_limit, 01RUNA-7: 401 Unauthorized" in shown
    (letter,) = json.loads(outbox(tmp_path, "--json").stdout)["dead_letters"]
    assert letter["report"]["facts"]["incident_id"] == "01RUNA-7"
    assert outbox(tmp_path, "--clear-dead").stdout == "1 refused report deleted\n"
    assert "0 waiting, 0 refused" in outbox(tmp_path).stdout
    assert box.status().counts["cleared"] == 1


def test_a_test_report_says_whether_it_is_accepted(tmp_path: Path) -> None:
    with Collector() as collector:
        done = outbox(tmp_path, "--test", "--report-to", collector.url)
        assert (done.returncode, done.stdout) == (
            0,
            f"a test report was accepted by {collector.url}\n",
        )
        (came,) = collector.came
        assert came.facts["lastword.what"] == "test"
        collector.turn_to(answer(404))
        done = outbox(tmp_path, "--test", "--report-to", collector.url)
        assert done.returncode == 1
        assert "404 Not Found" in done.stderr
    done = outbox(tmp_path, "--test", "--report-to", collector.url)
    assert (done.returncode, "connection refused" in done.stderr) == (1, True)
    done = outbox(tmp_path, "--test", "--report-to", "htp://ada:hunter22@c")
    assert (done.returncode, "hunter22" in done.stderr) == (2, False)
    done = outbox(tmp_path, "--send")
    assert (done.returncode, "the address is missing" in done.stderr) == (2, True)


def test_dropped_reports_and_a_damaged_file_are_reported(tmp_path: Path) -> None:
    box = Outbox(str(tmp_path))
    box.add([a_report()], a_target())
    (tmp_path / "outbox.db").write_bytes(b"no database" * 500)
    shown = outbox(tmp_path).stdout
    assert "1 dropped: the outbox's file was damaged" in shown
    assert "A damaged outbox was set aside as" in shown
    (tmp_path / "outbox.db").unlink()
    (tmp_path / "outbox.db").mkdir()
    done = outbox(tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
