"""Names of programs: what of a command line may be shown."""

from __future__ import annotations

from lastword.sidecar.silence import is_server, program_of, starts_others
from tests.kit.rows import every


@every(
    ("words", "name"),
    [
        (["npm", "test", "--token=x"], "npm test"),
        (["npm run test"], "npm run"),
        (["node", "/usr/lib/npm-cli.js", "test"], "npm test"),
        (["node", "/app/server.js", "secret"], "server"),
        (["python3", "-m", "pytest", "-k", "x"], "python3 -m pytest"),
        (["python3.12", "-c", "import x"], "python3.12"),
        (["python", "build.py"], "build"),
        (["python", "-m"], "python"),
        (["/usr/bin/git", "-C", "/home", "push"], "git"),
        (["git", "push", "https://user:pass@host"], "git push"),
        (["docker", "Secret1"], "docker"),
        (["curl", "-H", "Authorization: x"], "curl"),
        (["-bash"], "bash"),
        (["PASSWORD=x y"], None),
        (["§"], None),
        ([], None),
    ],
)
def test_a_programs_name_has_no_arguments_except_a_plain_command(
    words: list[str], name: str | None
) -> None:
    assert program_of(words) == name


def test_servers_and_shells_are_recognised() -> None:
    assert is_server(["node", "/x/mcp-server.js"])
    assert is_server(["typescript-language-server", "--stdio"])
    assert not is_server(["sh", "-c", "grep mcp"])
    assert not is_server(["npm", "test"])
    assert starts_others(["/bin/sh", "-c", "x"])
    assert starts_others(["bwrap", "--ro-bind", "/", "/", "--", "make"])
    assert starts_others(["/opt/agent/agent-linux-sandbox", "--", "make"])
    assert not starts_others([])
