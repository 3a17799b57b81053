"""No ACP turn ends in silence: typed errors between coding agents and their editors."""

from lastword._version import __version__

__all__ = ["__version__"]
