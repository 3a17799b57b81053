"""The files of `examples/fleet`: they name what there is, and fit each other."""

from __future__ import annotations

import ipaddress
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lastword.cli.config.user_file import use
from lastword.cli.gateway.options import WORDS, parser, read
from lastword.gateway.fleet import records
from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.start import STREAMS
from tests.kit.fleet.example import EXAMPLE, NAMES, prepared
from tests.kit.places import ROOT
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.settings.values import GatewaySettings

README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
NATS = (EXAMPLE / "nats.conf").read_text(encoding="utf-8")
NGINX = (EXAMPLE / "nginx.conf").read_text(encoding="utf-8")
GATEWAYS = ("gateway-1", "gateway-2")
OBJECTS: dict[tuple[str, str], Any] = {
    (each["kind"], each["metadata"]["name"]): each
    for each in yaml.safe_load_all((EXAMPLE / "kubernetes.yaml").read_text(encoding="utf-8"))
}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("fleet"))


def pod_of(name: str) -> dict[str, Any]:
    pod: dict[str, Any] = OBJECTS["StatefulSet", name]["spec"]["template"]["spec"]
    return pod


def containers_of(name: str) -> list[dict[str, Any]]:
    """The containers of a StatefulSet's pods, those of their start first."""
    pod = pod_of(name)
    return [*pod.get("initContainers", []), *pod["containers"]]


def settings(words: list[str], secrets: Path, monkeypatch: pytest.MonkeyPatch) -> GatewaySettings:
    """What the gateway reads of a command, and of the configuration that `prepare` made."""
    monkeypatch.setenv("LASTWORD_CONFIG", str(secrets / "lastword.toml"))
    monkeypatch.delenv("LASTWORD_NO_CONFIG", raising=False)
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in words]
    words = [word.replace("$(POD_NAME)", "gateway-0") for word in words]
    words = [word.replace("$(POD_IP)", "10.1.2.3") for word in words]
    words[words.index("--root") + 1] = str(ROOT)
    return read(words, use(words, "gateway"))


def in_kubernetes(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> GatewaySettings:
    (gateway, _) = pod_of("gateway")["containers"]
    return settings(gateway["args"], secrets, monkeypatch)


@pytest.mark.parametrize("name", GATEWAYS)
def test_a_gateways_command_is_accepted_by_the_gateway(
    name: str, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = SERVICES[name]
    read_ = settings(list(service["command"]), secrets, monkeypatch)
    networks = service["networks"]
    assert read_.listen == (networks["front"]["ipv4_address"], 7780)
    assert f"server {read_.listen[0]}:{read_.listen[1]} " in NGINX
    assert (
        f"http://{read_.listen[0]}:{read_.listen[1]}/readyz" in service["healthcheck"]["test"][-1]
    )
    assert read_.behind_proxy
    assert read_.proxies == [SERVICES["proxy"]["networks"]["front"]["ipv4_address"]]
    fleet = read_.holder.fleet
    assert fleet is not None
    assert fleet.node == name
    assert service["environment"]["LASTWORD_CONFIG"] == "/run/secrets/lastword.toml"


def test_a_gateway_may_write_every_bucket_and_no_other() -> None:
    buckets = {
        value
        for name, value in vars(records).items()
        if name.isupper() and isinstance(value, str) and value.startswith("lw_")
    }
    assert len(buckets) >= 6
    assert set(re.findall(r'"\$KV\.(\w+)\.>"', NATS)) == buckets
    (streams,) = {int(number) for number in re.findall(r"max_streams: (\d+)", NATS)}
    assert STREAMS + len(buckets) <= streams


def test_only_the_proxy_is_in_the_gateways_network() -> None:
    for name, network in COMPOSE["networks"].items():
        (pool,) = network["ipam"]["config"]
        subnet = ipaddress.ip_network(pool["subnet"])
        for service in SERVICES.values():
            address = service["networks"].get(name, {}).get("ipv4_address")
            assert address is None or ipaddress.ip_address(address) in subnet
    members = {name for name, each in SERVICES.items() if "front" in each["networks"]}
    assert members == {*GATEWAYS, "proxy"}
    assert {name for name, each in SERVICES.items() if "ports" in each} == {"proxy"}


def test_the_gateways_reach_each_server_by_the_name_in_its_certificate(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = in_kubernetes(secrets, monkeypatch).holder.fleet
    assert fleet is not None
    named = [re.fullmatch(r"tls://gateway:(\w+)@([\w.-]+):4222", url) for url in fleet.urls]
    assert [match and match[2] for match in named] == [f"{server}.nats" for server in NAMES]
    passwords = (secrets / "passwords.conf").read_text()
    assert all(match and f'gateway_password: "{match[1]}"' in passwords for match in named)
    assert re.findall(r"nats-route://(\S+):6222", NATS) == [f"{server}.nats" for server in NAMES]
    for server in NAMES:
        assert SERVICES[server]["networks"]["broker"]["aliases"] == [f"{server}.nats"]
        assert SERVICES[server]["environment"] == {"NATS_NAME": server}
    stateful = OBJECTS["StatefulSet", "nats"]
    assert (stateful["metadata"]["name"], stateful["spec"]["replicas"]) == ("nats", len(NAMES))
    assert stateful["spec"]["serviceName"] == "nats"
    assert OBJECTS["Service", "nats"]["spec"]["clusterIP"] == "None"
    subject = run_program(
        ["openssl", "x509", "-in", secrets / "nats.crt", "-noout", "-ext", "subjectAltName"]
    )
    assert "DNS:*.nats" in subject.stdout
    verify = ["openssl", "verify", "-CAfile", secrets / "ca.crt", secrets / "nats.crt"]
    subprocess.run(verify, check=True, capture_output=True)


def test_the_secrets_are_generated_once_and_nobody_elses(secrets: Path) -> None:
    before = {file.name: file.read_bytes() for file in secrets.iterdir()}
    assert FleetKey.at(str(secrets / "fleet.key"))
    subprocess.run(["sh", secrets.parent / "prepare", "localhost", "a key"], check=True)
    assert {file.name: file.read_bytes() for file in secrets.iterdir()} == before
    assert all(file.stat().st_mode & 0o077 == 0 for file in secrets.iterdir())


def test_every_secret_is_a_generated_file_and_none_is_in_the_environment(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {file.name for file in secrets.iterdir()}
    assert made - {"ca.key"} == COMPOSE["secrets"].keys()
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    for name, service in SERVICES.items():
        given = [each if isinstance(each, str) else each["source"] for each in service["secrets"]]
        assert set(given) <= made, name
        values = " ".join(service.get("environment", {}).values())
        assert "key" not in values, name
        assert "password" not in values, name
    fleet = in_kubernetes(secrets, monkeypatch).holder.fleet
    assert fleet is not None
    for path in (fleet.key_file, fleet.ca_file):
        folder, _, file = path.rpartition("/")
        assert folder == "/run/secrets"
        assert file in SERVICES["gateway-1"]["secrets"]
    for secret in SERVICES["nats-0"]["secrets"]:
        path = f"/etc/nats/secrets/{secret['source']}"
        assert secret["target"] == path
        assert path in NATS or f"include ./secrets/{secret['source']}\n" in NATS


def test_containers_run_without_root_and_are_read_only() -> None:
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["user"] == "1000:1000", name
    for name in ("nats", "gateway"):
        pod = pod_of(name)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in containers_of(name):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


def test_a_pods_command_is_accepted_by_the_gateway(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_ = in_kubernetes(secrets, monkeypatch)
    proxy = (ROOT / "examples" / "gateway" / "nginx.conf").read_text(encoding="utf-8")
    assert "server {}:{};".format(*read_.listen) in proxy
    assert read_.public_url == f"https://{read_.hosts[0]}"
    fleet = read_.holder.fleet
    assert fleet is not None
    assert fleet.node == "gateway-0"
    policy = OBJECTS["NetworkPolicy", "gateway"]["spec"]["ingress"]
    assert policy == [{"ports": [{"port": 8443}]}]
    (startup,) = (each for each in containers_of("gateway") if "startupProbe" in each)
    for probe, path in (("readiness", "readyz"), ("startup", "readyz"), ("liveness", "healthz")):
        command = startup[f"{probe}Probe"]["exec"]["command"]
        assert f"http://{read_.listen[0]}:{read_.listen[1]}/{path}" in command[-1]


def test_the_proxy_outwaits_every_silence_and_buffers_nothing() -> None:
    def seconds(name: str) -> int:
        (found,) = re.findall(rf"^ +{name} (\d+)s;", NGINX, re.MULTILINE)
        return int(found)

    defaults: Any = parser().parse_args([])
    assert seconds("proxy_read_timeout") > 2 * (defaults.ping + defaults.pong_timeout)
    assert seconds("proxy_send_timeout") > 60
    of_one = (ROOT / "examples" / "gateway" / "nginx.conf").read_text(encoding="utf-8")
    for line in of_one.splitlines():
        if line.strip().startswith(("proxy_set_header", "proxy_buffering", "client_max_body_size")):
            assert line in NGINX
    assert NGINX.count("    server 172.") == len(GATEWAYS)


def test_both_files_use_the_version_of_the_server_that_the_tests_use() -> None:
    go = (ROOT / "tests" / "kit" / "fleet" / "nats_server" / "go.mod").read_text()
    (version,) = re.findall(r"nats-server/v2 v(\S+)", go)
    images = {SERVICES[server]["image"] for server in NAMES}
    images |= {each["image"] for each in containers_of("nats")}
    assert images == {f"nats:{version}-alpine"}


def test_every_command_of_the_page_is_valid() -> None:
    inside = re.findall(r"(?:exec -T ([\w-]+)|-c (gateway) --) lastword gateway ([^`\n]+)", README)
    assert len(inside) >= 4
    for service, container, words in inside:
        assert service in SERVICES or container
        name, *options = shlex.split(words)
        WORDS[name]().read(options)
