# ruff: noqa: INP001  (a folder of PYTHONPATH, and no package)
"""The proxies of the system's settings, of which urllib asks on macOS: there are none."""

from __future__ import annotations


def _get_proxy_settings() -> dict[str, object]:
    return {"exclude_simple": False}


def _get_proxies() -> dict[str, str]:
    return {}
