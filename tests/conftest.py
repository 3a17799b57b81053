"""What every test may use."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Test folders are no packages: modules that several tests share are found by name.
sys.path.insert(0, str(Path(__file__).parent / "core"))

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile(
    "lastword", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("lastword")
