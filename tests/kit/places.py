"""Where things are."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SOURCE = ROOT / "src"
PROTOCOL = ROOT / "protocol"
AGENTS = TESTS / "kit" / "agents"
SAMPLES = TESTS / "kit" / "samples.jsonl"
"""Failures as they were seen, a line each, with what the classifier should say of them."""
