"""Files for containers and Kubernetes agree with each other and with what they are read by."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from serving.launcher.settings import EXIT_TIMEOUT_SECONDS
from serving.triton.settings import OF_ENVIRONMENT, VARIABLE

ROOT = Path(__file__).parents[2]
COMPOSE = ("docker-compose.yml", "docker-compose.gpu.yml")
OVERLAYS = ("base", "overlays/gpu")


def tool(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def rendered(overlay: str) -> list[dict[str, Any]]:
    command = [tool("kubectl"), "kustomize", str(ROOT / "kubernetes" / overlay)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def of_kind(overlay: str, kind: str) -> dict[str, Any]:
    (found,) = (item for item in rendered(overlay) if item["kind"] == kind)
    return found


def pod(overlay: str) -> dict[str, Any]:
    spec: dict[str, Any] = of_kind(overlay, "Deployment")["spec"]["template"]["spec"]
    return spec


def test_every_knob_is_told_and_every_told_knob_is_one() -> None:
    used = {
        name for file in COMPOSE for name in re.findall(r"\$\{(\w+)", (ROOT / file).read_text())
    }
    told = set(re.findall(r"^(?:# )?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert used == told


def test_compose_passes_all_of_the_translators_settings() -> None:
    environment = yaml.safe_load((ROOT / COMPOSE[0]).read_text())["services"]["translator"][
        "environment"
    ]
    expected = {VARIABLE + name.upper() for name in OF_ENVIRONMENT} - {"DRAGOMAN_PLANS"}
    assert expected <= set(environment)


def test_stopping_leaves_time_for_requests_in_flight() -> None:
    needed = EXIT_TIMEOUT_SECONDS + 10
    translator = yaml.safe_load((ROOT / COMPOSE[0]).read_text())["services"]["translator"]
    assert int(translator["stop_grace_period"].removesuffix("s")) >= needed
    for overlay in OVERLAYS:
        sleep, seconds = pod(overlay)["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        assert sleep == "sleep"
        assert pod(overlay)["terminationGracePeriodSeconds"] >= needed + int(seconds)


@pytest.mark.parametrize("lock", ["cpu", "gpu"])
def test_a_lock_fits_the_versions_that_the_package_asks_for(lock: str) -> None:
    """`make lock` has nothing to add: every package that we name is there, with hashes."""
    text = (ROOT / f"docker/{lock}.lock").read_text()
    locked = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.MULTILINE))
    assert len(locked) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)), "one has no hash"
    own = {"cpu": {"nvidia-pytriton"}, "gpu": {"cuda-bindings"}}[lock]
    shared = {"numpy", "sentencepiece", "tqdm", "onnxruntime", "tritonclient", "dumb-init"}
    assert own | shared <= set(locked)
    assert not {"torch", "onnx"} & set(locked)
    assert ("nvidia-pytriton" in locked) == (lock == "cpu"), "NVIDIA's image has its tritonserver"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests_are_valid(overlay: str, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(rendered(overlay)))
    command = [tool("kubernetes-validate"), "--strict", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "deployment/translator" in done.stdout + done.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_pod_is_confined(overlay: str) -> None:
    spec = pod(overlay)
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes[mounts["/dev/shm"]]["emptyDir"]["medium"] == "Memory"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_probe_translates_and_says_why_before_it_is_cut_off(overlay: str) -> None:
    (container,) = pod(overlay)["containers"]
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        probe = container[kind]
        *command, seconds = probe["exec"]["command"]
        assert command == ["dragoman", "health", "--timeout"]
        assert int(seconds) < probe["timeoutSeconds"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_selectors_meet_the_pods(overlay: str) -> None:
    labels = of_kind(overlay, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        item["spec"].get("selector") or item["spec"]["podSelector"]
        for item in rendered(overlay)
        if item["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy")
    ]
    assert len(selectors) == 4
    for selector in selectors:
        assert selector.get("matchLabels", selector).items() <= labels.items()
        assert selector


def test_the_autoscaler_goes_by_a_metric_that_the_adapter_gives() -> None:
    (metric,) = of_kind("base", "HorizontalPodAutoscaler")["spec"]["metrics"]
    values = yaml.safe_load((ROOT / "kubernetes/monitoring/adapter-values.yaml").read_text())
    (rule,) = values["rules"]["custom"]
    assert rule["name"]["as"] == metric["pods"]["metric"]["name"] == "dragoman_waiting_sentences"
    assert rule["seriesQuery"].startswith("dragoman_waiting_sentences{")


def test_prometheus_takes_the_clusters_configuration(tmp_path: Path) -> None:
    """Debian's promtool knows no Kubernetes, so that a static target stands in for its pods."""
    configuration = yaml.safe_load((ROOT / "kubernetes/monitoring/scrape.yaml").read_text())
    (job,) = configuration["scrape_configs"]
    assert job["job_name"] == "translator"
    assert job.pop("kubernetes_sd_configs") == [{"role": "pod"}]
    job["static_configs"] = [{"targets": ["localhost:1"]}]
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump(configuration))
    done = subprocess.run([tool("promtool"), "check", "config", file], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_dockerfiles_pass_hadolint(name: str) -> None:
    file = ROOT / f"docker/{name}.Dockerfile"
    done = subprocess.run([tool("hadolint"), file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout == ""
