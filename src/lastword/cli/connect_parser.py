"""The parser of `lastword connect`, which loads without the extra."""

from __future__ import annotations

from lastword.cli.gateway.arguments import add_setting
from lastword.cli.parser import CommandParser, add_option
from lastword.core.link.option_table import BY_KEY
from lastword.gateway.settings.option import Setting

ABOUT = """\
Speaks ACP on stdin and stdout for a session behind a gateway. An editor starts
this command in place of the agent. Lost connections are hidden from the editor,
and the session outlives it.

Needs the extra `gateway`; without it, the command says how to install it.
"""

ENDS = """\
The token comes from --token, from --token-file (read again at each attempt), or
from LASTWORD_GATEWAY_TOKEN. `lastword gateway token` prints one.

examples:
  lastword connect http://127.0.0.1:7780
  lastword connect --token-file ~/.gateway-token https://gateway.example
  lastword connect --session s-42 http://127.0.0.1:7780
  lastword connect --ssh box --folder /home/me/src --token-file ~/.box-token

exit status: 0 when the editor closes its end, 2 for invalid arguments.
"""


TOKEN_VARIABLE = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name

OPTIONS = (
    Setting(
        "url",
        "text",
        "URL of the gateway, such as http://127.0.0.1:7780 or https://host/team/",
        metavar="URL",
        note="url in [connect] of the configuration file",
    ),
    Setting(
        "ssh",
        "text",
        "go through `ssh HOST`, to the URL as HOST sees it; each connection to the gateway uses an "
        "ssh connection of its own",
        metavar="HOST",
        note="none; with it, URL is http://127.0.0.1:7780 unless given",
    ),
    Setting(
        "folder",
        "text",
        "the folder on the gateway's machine in which sessions work, in place of the editor's; "
        "with HERE=, only in place of the folder HERE, and what is below it",
        metavar="[HERE=]THERE",
        note="the editor's own",
    ),
    Setting(
        "session",
        "text",
        "continue this session when the editor asks for a new one",
        metavar="ID",
        note="a new one",
    ),
    Setting(
        "token",
        "text",
        "the token; other users of this machine can see it in `ps`",
        metavar="TOKEN",
        note="none",
        variable=TOKEN_VARIABLE,
    ),
    Setting("token-file", "file", "the file with the token", note="none"),
    Setting(
        "insecure",
        "flag",
        "send the token to another machine without TLS, on a network that is itself encrypted",
    ),
)


def parser() -> CommandParser:
    made = CommandParser("connect", usage="[options] URL", about=ABOUT, ends=ENDS)
    url, *options = OPTIONS
    made.add_argument("url", nargs="?", metavar=url.metavar, help=url.help)
    for each in options:
        add_setting(made, each)
        if each.kind != "flag":
            made.set_defaults(**{each.name.replace("-", "_"): None})  # not given, unlike empty
    default = "(default: ~/.config/lastword/config.toml)"
    add_option(made, BY_KEY["config"], f"{BY_KEY['config'].about} {default}")
    add_option(made, BY_KEY["no_config"], BY_KEY["no_config"].about)
    return made
