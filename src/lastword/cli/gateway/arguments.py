"""Arguments of argparse, made from the rows of options (`gateway.settings.option`)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lastword.gateway.settings.option import SECRET_KINDS

if TYPE_CHECKING:
    from lastword.gateway.settings.option import Setting


def add_option(group: argparse._ActionsContainer, option: Setting) -> None:
    """Add an option to a parser, or to a group of one."""

    def value(text: str) -> Any:
        read = option.read(text)
        if read is None:
            shown = "this" if option.kind in SECRET_KINDS else repr(text)
            raise argparse.ArgumentTypeError(f"cannot be {shown}: it takes {option.expects}")
        return read

    flag, about = f"--{option.name}", option.help
    if option.kind == "flag":
        group.add_argument(flag, action="store_true", help=about)
    elif option.words:
        group.add_argument(flag, choices=option.words, default=option.default, help=about)
    elif option.is_list:
        group.add_argument(
            flag, action="extend", type=value, default=[], metavar=option.metavar, help=about
        )
    else:
        group.add_argument(
            flag, type=value, default=option.default, metavar=option.metavar, help=about
        )
