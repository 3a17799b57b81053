"""The pieces of `examples/gateway/compose.yaml` as processes, where no container engine is.

The gateway is started with the words of the compose file, nginx with the folder's own file, where
ports and paths alone are others; beside them is a collector, and at the other end an official
client that knows of nothing but a URL and a certificate.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, HTTPSHandler, ProxyHandler, Request, build_opener

import msgspec
import pytest
import yaml
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from lastword.kit.provider.server import DEAD_END, Provider, Target
from tests.interop.agents_registry import AGENTS
from tests.interop.otel.conftest import HERE as OTEL
from tests.interop.otel.conftest import Receiver
from tests.kit.fleet.example import nginx, options_in, prepared, trust
from tests.kit.gateway.serving import Gateway
from tests.kit.installs import require_packages
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT, SOURCE
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
EXAMPLE = ROOT / "examples" / "gateway"
COMPOSE = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))


class Deployed:
    def __init__(self, gateway: Gateway, port: int, certificate: Path) -> None:
        self.gateway = gateway
        self.port = port
        self.certificate = certificate
        self.trust = trust(certificate)
        self._opener = build_opener(ProxyHandler({}), HTTPSHandler(context=self.trust))

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """The status and the body at a path of the proxy's."""
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = Request(f"https://localhost:{self.port}{path}", headers=said)
        try:
            with self._opener.open(asked, timeout=FUSE_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def connect(self, **headers: str) -> Any:
        said = {"Authorization": f"Bearer {self.gateway.token()}"} | headers
        return connect(
            f"wss://localhost:{self.port}/acp",
            ssl=self.trust,
            additional_headers=said,
            open_timeout=FUSE_SECONDS,
            proxy=None,
        )


def secrets_in(folder: Path) -> Path:
    made = prepared(folder, EXAMPLE)
    named = {secret["file"].removeprefix("./secrets/") for secret in COMPOSE["secrets"].values()}
    assert {each.name for each in made.iterdir()} == named
    return folder


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Opencode behind the gateway behind nginx, whose metrics go to nobody."""
    with deploy(secrets_in(tmp_path_factory.mktemp("deployed")), {}) as found:
        yield found


@contextlib.contextmanager
def deploy(folder: Path, more: dict[str, str]) -> Iterator[Deployed]:
    home, work = folder / "home", folder / "work"
    home.mkdir()
    program = AGENTS["opencode"]
    with Provider("healthy") as provider:
        target = Target(provider.url, f"{provider.url}/v1")
        kept = {k: v for k, v in program.environment(target, home).items() if "OTEL_" not in k}
        environment = kept | {"PYTHONPATH": str(SOURCE)} | more
        service = COMPOSE["services"]["gateway"]
        assert service["command"][-3:] == ["--", "opencode", "acp"]
        collector = more.get("OTEL_EXPORTER_OTLP_ENDPOINT", DEAD_END)
        words = [w.replace("http://collector:4318", collector) for w in options_in(service)]
        gateway = Gateway(folder, program.command(work), *words, environment=environment)
        upstream = ("server 127.0.0.1:7780;", f"server 127.0.0.1:{gateway.port};")
        with contextlib.closing(gateway), nginx(folder, EXAMPLE, upstream) as port:
            yield Deployed(gateway, port, folder / "secrets" / "tls.crt")


def converse(deployed: Deployed, transport: str) -> list[dict[str, Any]]:
    """What the official Python client was given, one turn long."""
    schemes = {"ws": "wss", "http": "https"}
    url = f"{schemes[transport]}://localhost:{deployed.port}/acp"
    gateway = deployed.gateway
    client = [str(require_packages(HERE)), str(HERE / "client_py.py")]
    done = run_program(
        [*client, transport, url, gateway.token(), str(gateway.root), "one"],
        check=False,
        env=os.environ | {"SSL_CERT_FILE": str(deployed.certificate), "NO_PROXY": "*"},
    )
    assert done.returncode == 0, done.stderr
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def test_an_official_client_has_a_turn_with_opencode_through_tls(deployed: Deployed) -> None:
    events = converse(deployed, "http")
    (answer,) = [each for each in events if each["event"] == "answer"]
    assert answer["result"]["stopReason"] == "end_turn"
    assert any(each["event"] == "update" for each in events)


def test_a_client_behind_the_proxy_is_treated_as_itself(deployed: Deployed) -> None:
    assert deployed.get("/readyz") == (200, '{"status":"ready"}')
    assert deployed.get("/v1/sessions")[0] == 401
    # Neither the proxy's own address nor what a client claims lets anybody in.
    token = f"Bearer {deployed.gateway.token()}"
    assert deployed.get("/metrics", Authorization=token)[0] == 404
    assert deployed.get("/v1/sessions", X_Forwarded_For="127.0.0.1")[0] == 401
    assert deployed.get("/v1/sessions", Authorization=token)[0] == 200
    assert deployed.get("/v1/sessions", Authorization=token, Host="evil.example")[0] == 403
    for headers in ({"Authorization": "Bearer wrong"}, {"Host": "evil.example"}):
        with pytest.raises(InvalidStatus) as refused:
            deployed.connect(**headers)
        assert refused.value.response.status_code in {400, 401, 403}


def test_the_page_opens_by_the_link_that_the_example_prints(deployed: Deployed) -> None:
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(
        r"^docker compose exec -T gateway lastword (.* --link)$", text, re.MULTILINE
    )
    there = COMPOSE["services"]["gateway"]["environment"]["LASTWORD_GATEWAY_URL"]
    url = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", there).replace("8443", str(deployed.port))
    done = run_program(
        [sys.executable, "-m", "lastword", *line.split()],
        env=deployed.gateway.environment | {"LASTWORD_GATEWAY_URL": url},
    )
    link = done.stdout.strip()
    assert link.startswith(f"{url}/")
    with_cookies = build_opener(
        ProxyHandler({}), HTTPSHandler(context=deployed.trust), HTTPCookieProcessor()
    )
    for path in (link, f"{url}/"):  # it stays logged in
        with with_cookies.open(path, timeout=FUSE_SECONDS) as page:
            assert page.status == 200
            assert "<!doctype html>" in page.read().decode().lower()
    with with_cookies.open(f"{url}/v1/sessions", timeout=FUSE_SECONDS) as sessions:
        assert sessions.status == 200
    path = link.removeprefix(url)
    assert deployed.get(path)[0] == 401, "it works once"


def test_the_collector_gets_the_metrics_under_their_names(tmp_path: Path) -> None:
    packages = require_packages(OTEL)
    found = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([packages, "-c", found], capture_output=True, text=True, check=True)
    with Receiver(packages) as receiver:
        sent_to = COMPOSE["services"]["gateway"]["environment"] | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join((str(SOURCE), site.stdout.strip())),
        }
        del sent_to["OPENCODE_CONFIG"]
        with deploy(secrets_in(tmp_path), sent_to) as deployed:
            converse(deployed, "ws")
            attached = receiver.expect_point(
                "lastword.gateway.attach.duration", lastword_method="session/new"
            )
            assert (attached["value"], attached["unit"]) == (1, "s")
            receiver.expect_point("lastword.gateway.sessions", lastword_state="idle")
            receiver.expect_point("lastword.gateway.turns", lastword_outcome="answered")
            receiver.expect_point("lastword.gateway.log.commits")
            assert str(deployed.gateway.root) not in receiver.text
