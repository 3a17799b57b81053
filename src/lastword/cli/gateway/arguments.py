"""Arguments of argparse, made from the rows of settings (`gateway.settings.option`)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lastword.cli.parser import add_option
from lastword.gateway.settings.option import SECRET_KINDS

if TYPE_CHECKING:
    from lastword.gateway.settings.option import Setting


def add_setting(group: argparse._ActionsContainer, option: Setting) -> None:
    """Add a setting to a parser, or to a group of one."""

    def value(text: str) -> Any:
        read = option.read(text)
        if read is None:
            shown = "this" if option.kind in SECRET_KINDS else repr(text)
            raise argparse.ArgumentTypeError(f"cannot be {shown}: it takes {option.expects}")
        return read

    if option.words:
        add_option(group, option, option.help, default=option.default)
    else:
        many = {"action": "extend", "default": []} if option.is_list else {}
        facts = {"type": value, "default": option.default, "metavar": option.metavar}
        add_option(group, option, option.help, **facts | many)
