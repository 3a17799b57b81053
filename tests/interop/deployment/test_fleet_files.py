"""The files of `examples/fleet`: they name what there is, and fit each other."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lastword.cli.config.user_file import use
from lastword.cli.gateway.options import WORDS, read
from lastword.gateway.fleet import records
from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.start import STREAMS
from tests.kit.fleet.example import EXAMPLE, NAMES, prepared
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path


README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
NATS = (EXAMPLE / "nats.conf").read_text(encoding="utf-8")
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


def test_a_gateway_may_write_every_bucket_and_no_other() -> None:
    buckets = {
        value
        for name, value in vars(records).items()
        if name.isupper() and isinstance(value, str) and value.startswith("lw_")
    }
    assert len(buckets) >= 7
    assert set(re.findall(r'"\$KV\.(\w+)\.>"', NATS)) == buckets
    (streams,) = {int(number) for number in re.findall(r"max_streams: (\d+)", NATS)}
    assert STREAMS + len(buckets) <= streams


def test_the_secrets_are_generated_once_and_nobody_elses(secrets: Path) -> None:
    before = {file.name: file.read_bytes() for file in secrets.iterdir()}
    assert FleetKey.at(str(secrets / "fleet.key"))
    subprocess.run(["sh", secrets.parent / "prepare", "localhost", "a key"], check=True)
    assert {file.name: file.read_bytes() for file in secrets.iterdir()} == before
    assert all(file.stat().st_mode & 0o077 == 0 for file in secrets.iterdir())


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
    monkeypatch.setenv("LASTWORD_CONFIG", str(secrets / "lastword.toml"))
    monkeypatch.delenv("LASTWORD_NO_CONFIG", raising=False)
    (gateway, _) = pod_of("gateway")["containers"]
    words = [word.replace("$(POD_NAME)", "gateway-0") for word in gateway["args"]]
    words = [word.replace("$(POD_IP)", "10.1.2.3") for word in words]
    words[words.index("--root") + 1] = str(ROOT)
    read_ = read(words, use(words, "gateway"))
    proxy = (ROOT / "examples" / "gateway" / "nginx.conf").read_text(encoding="utf-8")
    assert "server {}:{};".format(*read_.listen) in proxy
    assert read_.public_url == f"https://{read_.hosts[0]}"
    fleet = read_.holder.fleet
    assert fleet is not None
    assert fleet.node == "gateway-0"
    assert [url.partition("@")[2] for url in fleet.urls] == [f"{name}.nats:4222" for name in NAMES]
    assert fleet.key_file == "/run/secrets/fleet.key"
    policy = OBJECTS["NetworkPolicy", "gateway"]["spec"]["ingress"]
    assert policy == [{"ports": [{"port": 8443}]}]
    (startup,) = (each for each in containers_of("gateway") if "startupProbe" in each)
    for probe, path in (("readiness", "readyz"), ("startup", "readyz"), ("liveness", "healthz")):
        command = startup[f"{probe}Probe"]["exec"]["command"]
        assert f"http://{read_.listen[0]}:{read_.listen[1]}/{path}" in command[-1]


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
