"""The files of `examples/gateway`: they name what there is, and fit each other."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import yaml

from lastword.cli.gateway.options import WORDS, parser, read
from lastword.gateway.quality.exposition import exposition
from lastword.gateway.quality.metrics import METRICS, Counts, Snapshot
from tests.kit.places import ROOT, TESTS

FOLDER = ROOT / "examples" / "gateway"
METRIC = re.compile(r"\blastword_[a-z_]++")
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
NGINX = (FOLDER / "nginx.conf").read_text(encoding="utf-8")


def test_every_query_of_the_dashboard_names_metrics_and_uses_each_by_its_kind() -> None:
    lines = exposition(Snapshot(counts=Counts(), gauges={})).splitlines()
    exposed = {re.split("[{ ]", line)[0] for line in lines if not line.startswith("#")}
    exposed |= {metric.exposed for metric in METRICS if not metric.zeros()}
    targets = [target for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    for query in [each["expr"] for each in targets + DASHBOARD["annotations"]["list"]]:
        named = METRIC.findall(query)
        assert named, "a query without a metric"
        assert {*named} <= exposed
        for name in named:
            if name.endswith(("_total", "_bucket")):
                assert re.search(rf"(rate|increase)\({name}[{{\[]", query), query
            else:
                assert "rate(" not in query, query


def test_the_dashboard_can_be_imported_into_any_grafana_with_prometheus() -> None:
    assert isinstance(DASHBOARD["schemaVersion"], int)
    assert DASHBOARD["uid"]
    assert DASHBOARD["title"]
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    source = {"type": "prometheus", "uid": f"${{{variable['name']}}}"}
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        columns, rows = range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])
        cells = {*itertools.product(columns, rows)}
        assert columns.stop <= 24
        assert not cells & taken, f"{panel['title']} lies on another"
        taken |= cells
        if panel["type"] != "row":
            assert panel["title"]
            assert panel["description"]
            assert panel["datasource"] == source
            assert all(target["datasource"] == source for target in panel["targets"])


def command_of(service: str) -> list[str]:
    """What compose starts a service with, where nothing is set in the environment."""
    words: list[str] = COMPOSE["services"][service]["command"]
    return [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in words]


def test_the_compose_files_command_is_accepted_by_the_gateway() -> None:
    words = command_of("gateway")
    words[words.index("--root") + 1] = str(ROOT)
    settings = read(words)
    assert settings.behind_proxy
    assert settings.listen[0] == "127.0.0.1"
    assert settings.hosts == ["localhost"]
    assert settings.holder.command == ["opencode", "acp"]
    assert "server {}:{};".format(*settings.listen) in NGINX
    # Links to the page lead to the port that is published, under the name that is allowed.
    gateway = COMPOSE["services"]["gateway"]
    host = gateway["command"][gateway["command"].index("--allow-host") + 1]
    port = gateway["ports"][0].removesuffix(":8443")
    assert gateway["environment"]["LASTWORD_GATEWAY_URL"] == f"https://{host}:{port}"


def test_containers_run_without_root_and_are_read_only_with_the_opencode_that_the_tests_play() -> (
    None
):
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert name == "collector" or service["user"] == "1000:1000"  # its image has a user
        assert not any("/var/run/docker" in str(volume) for volume in service.get("volumes", []))
    containerfile = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    assert re.findall(r"^USER (.*)$", containerfile, re.MULTILINE) == ["1000:1000"]
    lock = json.loads((TESTS / "interop" / "package-lock.json").read_text(encoding="utf-8"))
    locked = lock["packages"]["node_modules/opencode-linux-x64-baseline"]["version"]
    assert f"ARG OPENCODE_VERSION={locked}\n" in containerfile


def test_the_proxy_is_alone_with_the_gateway_and_starts_once_that_is_ready() -> None:
    gateway, proxy = COMPOSE["services"]["gateway"], COMPOSE["services"]["proxy"]
    assert proxy["network_mode"] == "service:gateway"
    assert proxy["depends_on"]["gateway"] == {"condition": "service_healthy", "restart": True}
    assert "/readyz" in gateway["healthcheck"]["test"][-1]
    assert gateway["init"] is True
    (published,) = gateway["ports"]
    assert published.endswith(":8443")
    assert "listen 8443 ssl" in NGINX


def test_every_command_of_the_page_can_be_typed_and_no_token_is_without_an_end() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    inside = re.findall(r"docker compose exec (?:-T )?(\w+) lastword gateway ([^>`\n]+)", text)
    assert len(inside) >= 4
    for service, words in inside:
        assert service in COMPOSE["services"]
        name, *options = words.split()
        read_ = WORDS[name]().read(options)
        assert name != "token" or read_.expires is None or read_.expires > 0
    assert "--expires 0" not in text


def test_secrets_are_files_and_none_is_in_the_environment() -> None:
    for service in COMPOSE["services"].values():
        assert set(service.get("secrets", [])) <= COMPOSE["secrets"].keys()
        environment = json.dumps(service.get("environment", {})).lower()
        assert not re.search("key|token|secret", environment)
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    agent = json.loads((FOLDER / "opencode.json").read_text(encoding="utf-8"))
    key = agent["provider"]["anthropic"]["options"]["apiKey"]
    assert key == "{file:/run/secrets/provider_key}"
    for name in ("tls.crt", "tls.key"):
        assert f"/run/secrets/{name}" in NGINX


def test_the_collector_listens_where_the_gateway_sends() -> None:
    collector = yaml.safe_load((FOLDER / "collector.yaml").read_text(encoding="utf-8"))
    endpoint = collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"]
    sent_to = COMPOSE["services"]["gateway"]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"]
    assert sent_to == f"http://collector:{endpoint.rpartition(':')[2]}"
    command = command_of("gateway")
    assert command[command.index("--report-to") + 1] == sent_to
    for pipeline in collector["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= collector[kind].keys()


def test_the_proxy_outwaits_every_silence_and_buffers_nothing() -> None:
    def seconds(name: str) -> int:
        (found,) = re.findall(rf"^ +{name} (\d+)s;", NGINX, re.MULTILINE)
        return int(found)

    defaults: Any = parser().parse_args([])
    assert seconds("proxy_read_timeout") > 2 * (defaults.ping + defaults.pong_timeout)
    assert seconds("proxy_send_timeout") > 60
    for line in ("proxy_buffering off;", "proxy_http_version 1.1;", "gzip off;"):
        assert line in NGINX
    assert f"client_max_body_size {defaults.frame_limit // 2**20}m;" in NGINX
    assert "X-Forwarded-For $remote_addr;" in NGINX
    assert "$proxy_add_x_forwarded_for" not in NGINX
