"""`lastword connect` to a gateway that nginx serves below a path: turns, probes and reports.

Owns nginx with a location that takes its path off, and nothing but a 404 at the root: what is sent
past the path is seen.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.interop.remote.test_behind_proxy import free_port
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import connected, counting
from tests.kit.gateway.serving import Gateway, until
from tests.kit.installs import give_up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIGURATION = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxied;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ return 404; }}
    location /team/ {{
      proxy_pass http://127.0.0.1:{upstream}/;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
    }}
  }}
}}
"""


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    found = Gateway(tmp_path, counting(str(tmp_path / "prompts")))
    yield found
    found.close()


@pytest.fixture
def port(gateway: Gateway) -> Iterator[int]:
    """Where nginx serves the gateway, below `/team/`."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        give_up("nginx is not on PATH.")
    port, folder = free_port(), gateway.folder
    text = CONFIGURATION.format(folder=folder, port=port, upstream=gateway.port)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as nginx:
        try:
            until("nginx serves", lambda: _answers(port))
            yield port
        finally:
            nginx.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("path", ["/team/", "/team/acp"])
def test_a_gateway_below_a_path_has_turns_a_new_link_and_the_report_of_the_old_one(
    gateway: Gateway, port: int, path: str
) -> None:
    api = ApiClient(gateway)

    async def play() -> None:
        async with connected(f"http://127.0.0.1:{port}{path}", gateway.token()) as editor:
            session_id = await editor.begin(gateway.root)
            request = editor.prompt(session_id, "100 10")
            await editor.wait_for(lambda _: len(editor.words()) > 20)
            gateway.kill_front()
            gateway.start()
            answer = await editor.answer(request)
            assert answer["result"] == {"stopReason": "end_turn"}
            assert editor.words() == [f"1.{number}" for number in range(100)]

            def reported() -> dict[str, int]:
                told: dict[str, int] = api.json("/v1/stats")["gateway"]["client_errors"]
                return told

            told = await asyncio.to_thread(until, "the report comes", reported)
            assert told == {"closed_1006": 1}

    asyncio.run(play())
    asked = (gateway.folder / "access.log").read_text(encoding="utf-8").splitlines()
    assert [line for line in asked if " /team/" not in line] == []
