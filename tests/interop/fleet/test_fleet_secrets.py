"""A fleet's secrets are not where others, or agents, see them."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.fleet.key import TOKENS, FleetKey
from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from tests.kit.fleet.nodes import KEY
from tests.kit.fleet.servers import PASSWORD
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from tests.kit.fleet.servers import Cluster


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a process was given")
def test_the_servers_password_is_in_no_agents_environment_and_on_no_command_line(
    cluster: Cluster, tmp_path: Path
) -> None:
    key = tmp_path / "fleet.key"
    key.touch(0o600)
    key.write_bytes(KEY)
    options = ["--fleet-key-file", str(key), "--fleet-node", "secret"]
    gateway = Gateway(
        tmp_path,
        agent("healthy"),
        *options,
        variables={"LASTWORD_FLEET": cluster.option},
    )
    with closing(gateway):
        keeper = Keeper(FleetKey.at(str(key)).derived(TOKENS))
        with ViewerClient(gateway, token=keeper.token(Grant(Role.CONTROLLER, "", 0))):
            (holder,) = gateway.holders()
        of_agent = Path(f"/proc/{holder['agent_pid']}/environ").read_bytes()
        assert b"XDG_RUNTIME_DIR=" in of_agent
        assert PASSWORD.encode() not in of_agent
        for pid in (gateway.front.pid, holder["agent_pid"]):
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        written = [each for each in tmp_path.rglob("*") if each.is_file()]
        assert written
        for each in written:
            assert PASSWORD.encode() not in each.read_bytes(), each
