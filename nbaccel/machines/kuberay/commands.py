"""The commands `nbaccel kuberay …`: their options, and what they print.

A manifest goes to stdout, so that it can be piped into kubectl; everything about it goes to stderr.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click

from nbaccel.machines.kuberay import manifest
from nbaccel.machines.kuberay.manifest import WorkerPods, fields_of, read_group, read_toleration

# ---- the command `nbaccel kuberay rehearse`: which RayCluster of a file is played, and how the play ends


_INSIDE = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}
_SHORT = "/tmp"  # Ray's sockets lie below, and the path of a socket has at most 107 bytes


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--name", default="", help="The RayCluster, where the file has several.")
@click.option("--logs", type=click.Path(file_okay=False, path_type=Path), help="A folder in which the logs are kept.")
def rehearse(file: Any, name: str, logs: Path | None) -> None:
    """Play the RayCluster in FILE (- for stdin) on this machine, by Ray's own autoscaler, until Ctrl-C."""
    import shutil  # here and below: what the other commands of Kubernetes would import for nothing
    import tempfile

    from nbaccel.machines.kuberay.rehearsal.play import Ended, Rehearsal

    cluster = chosen_cluster(read_documents(file.read()), name)
    refuse_faults(cluster)
    if importlib.util.find_spec("ray") is None:
        raise click.ClickException("Ray is not installed here. Type: pip install 'nbaccel[ray]'")
    where = _SHORT if os.access(_SHORT, os.W_OK | os.X_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="nb-k-", dir=where))
    before = {number: signal.signal(number, _end_as_by_a_key) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        Rehearsal(cluster, folder, click.echo).run()
    except (KeyboardInterrupt, Ended) as end:
        click.echo(str(end) or "The rehearsal has ended.")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if logs is not None:
            _keep_logs(folder, logs)
        shutil.rmtree(folder, ignore_errors=True)


def chosen_cluster(documents: list[Any], name: str) -> dict[str, Any]:
    """The RayCluster of this name, or the only one. Raises click.ClickException."""
    clusters = [cluster for document in documents if (cluster := _cluster_of(document)) is not None]
    names = [str(fields_of(cluster.get("metadata")).get("name")) for cluster in clusters]
    if not clusters:
        raise click.ClickException("The file has no RayCluster.")
    if name and name not in names:
        raise click.ClickException(f"The file has no RayCluster {name}; it has {', '.join(names)}.")
    if not name and len(clusters) > 1:
        raise click.ClickException(f"The file has {len(clusters)} RayClusters: {', '.join(names)}. Say which: --name.")
    return clusters[names.index(name) if name else 0]


def refuse_faults(cluster: dict[str, Any]) -> None:
    """Raise click.ClickException for what Kubernetes, KubeRay or Ray would refuse."""
    from nbaccel.machines.kuberay.check import check_cluster

    faults = [str(fault) for fault in check_cluster(cluster) if not fault.warning]
    if faults:
        raise click.ClickException("The manifest would be refused:\n" + "\n".join(faults))


def _cluster_of(document: Any) -> dict[str, Any] | None:
    """The RayCluster, also of a RayJob or a RayService; its own work is not played."""
    fields = fields_of(document)
    kind = str(fields.get("kind"))
    if kind == "RayCluster":
        return fields
    if kind not in _INSIDE:
        return None
    spec = fields_of(fields.get("spec")).get(_INSIDE[kind])
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": dict(fields_of(fields.get("metadata"))),
        "spec": spec,
    }


def _keep_logs(folder: Path, logs: Path) -> None:
    import shutil

    logs.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        shutil.copy(log, logs / log.name)
    click.echo(f"The logs are in {logs}.")


def _end_as_by_a_key(*_: object) -> None:
    """What a command has started ends with it, however that is ended."""
    raise KeyboardInterrupt


# ---- the other commands


_GROUP_HELP = (
    "name=…,cpu=3,memory=50Gi,min=0,max=5,replicas=…,image=…,idle=…,select=KEY=VALUE,tolerate=KEY:EFFECT,env=K=V"
)
_GPU_GROUP_HELP = f"gpus=1,accelerator=A100,vendor=nvidia,resource=…,num-gpus=…,{_GROUP_HELP}"
_READ_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def kuberay() -> None:
    """Ray clusters on Kubernetes: write a manifest, check one, play one on this machine, connect to one."""


kuberay.add_command(rehearse)


class _GroupLine(click.ParamType[WorkerPods]):
    """A worker group, as it is described in one word of the command line."""

    name = "GROUP"

    def __init__(self, gpus: bool) -> None:
        self.gpus = gpus

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> WorkerPods:
        try:
            return value if isinstance(value, WorkerPods) else read_group(value, gpus=self.gpus)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, equals, content = value.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{value!r}: write KEY=VALUE.")
        pairs[key] = content
    return pairs


@kuberay.command()
@click.argument("name")
@click.option("--gpu-group", "gpu_groups", multiple=True, type=_GroupLine(True), help=_GPU_GROUP_HELP)
@click.option("--cpu-group", "cpu_groups", multiple=True, type=_GroupLine(False), help=_GROUP_HELP)
@click.option("--node-types", type=_READ_FILE, help="A machines.toml: each type becomes a group.")
@click.option("--from-values", type=_READ_FILE, help="Values of Ray's former Helm chart (podTypes).")
@click.option("--kind", type=click.Choice(["raycluster", "rayjob"]), default="raycluster", help="What is written.")
@click.option("--entrypoint", default="", help="The program of a RayJob, for example 'python train.py'.")
@click.option("--runtime-env", type=_READ_FILE, help="The runtime_env of a RayJob, as a YAML file.")
@click.option("--namespace", default="", help="The namespace; kubectl's own if not given.")
@click.option("--image", default="", help="The image of every pod; rayproject/ray if not given.")
@click.option("--ray-version", default="", help="The Ray of the images; that of this machine if not given.")
@click.option("--head-cpu", help="CPUs of the head's pod; it runs no tasks. Usually 2.")
@click.option("--head-memory", help="Memory of the head's pod. Usually 8Gi.")
@click.option("--head-select", multiple=True, callback=_pairs, metavar="KEY=VALUE", help="A label of the head's node.")
@click.option("--head-tolerate", multiple=True, metavar="KEY=VALUE:EFFECT", help="A taint that the head tolerates.")
@click.option("--idle", "idle_s", type=click.IntRange(min=0), help="Seconds after which an idle pod goes. Usually 60.")
@click.option("--autoscaling/--no-autoscaling", default=None, help="On where the min of a group is below its max.")
@click.option(
    "--gpu-tolerations/--no-gpu-tolerations",
    "tolerate_gpu_taints",
    default=True,
    help="Tolerate the taint of GPU nodes.",
)
@click.option("--hide-gpus/--no-hide-gpus", default=True, help="NVIDIA_VISIBLE_DEVICES=void in pods without GPUs.")
@click.option("--token/--no-token", default=True, help="Nobody joins without the token in the cluster's Secret.")
@click.option("--notebook", is_flag=True, help="Add a pod in which JupyterLab runs inside the cluster.")
@click.option("--notebook-image", default="", help="The image of that pod.")
@click.option("--queue", default="", help="A queue of Kueue's; for clusters of a fixed size.")
@click.option("--label", "labels", multiple=True, callback=_pairs, metavar="KEY=VALUE", help="Of the RayCluster.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here instead of stdout.")
def render(
    name: str,
    gpu_groups: tuple[WorkerPods, ...],
    cpu_groups: tuple[WorkerPods, ...],
    node_types: Path | None,
    from_values: Path | None,
    kind: str,
    entrypoint: str,
    runtime_env: Path | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Write the manifest of a RayCluster called NAME, or of a RayJob with such a cluster."""
    if kind != "rayjob" and (entrypoint or runtime_env):
        raise click.UsageError("--entrypoint and --runtime-env belong to a job: add --kind rayjob.")
    if kind == "rayjob" and options["notebook"]:
        raise click.UsageError("--notebook does not go with --kind rayjob: the cluster of a job ends with its program.")
    plan = _planned(name, (*_typed_groups(node_types), *cpu_groups, *gpu_groups), from_values, options)
    if not plan.groups:
        click.echo(
            f"The cluster {name} has no workers, and its head runs no tasks: add --gpu-group max=2 (or --cpu-group).",
            err=True,
        )
    made = manifest.make_manifest(plan)
    if kind == "rayjob":
        from nbaccel.machines.kuberay.check import make_job

        made = make_job(made, entrypoint, runtime_env.read_text() if runtime_env else "")
    text = _written(made)
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text)
    click.echo(f"Wrote {output}.", err=True)
    click.echo(f"  check it     nbaccel kuberay check {output}", err=True)
    click.echo(f"  create it    kubectl apply -f {output}", err=True)


def _planned(
    name: str, groups: tuple[WorkerPods, ...], from_values: Path | None, options: dict[str, Any]
) -> manifest.ClusterPlan:
    given = {key: value for key, value in options.items() if value not in (None, "", (), {})}
    tolerations = tuple(read_toleration(text) for text in given.pop("head_tolerate", ()))
    if tolerations:
        given["head_tolerations"] = tolerations
    if "head_select" in given:
        given["head_node_selector"] = given.pop("head_select")
    given.setdefault("ray_version", manifest.installed_ray() if "image" not in given and from_values is None else "")
    given["python_tag"] = f"py{sys.version_info.major}{sys.version_info.minor}"
    if from_values is None:
        return manifest.ClusterPlan(name=name, groups=groups, **given)
    return _from_values(name, groups, from_values, given)


def _from_values(name: str, groups: tuple[WorkerPods, ...], file: Path, given: dict[str, Any]) -> manifest.ClusterPlan:
    from nbaccel.machines.kuberay import legacy_values

    documents = read_documents(file.read_bytes())
    legacy = legacy_values.read_values(documents[0] if documents else None)
    plan = legacy_values.plan_of(legacy, name=name, groups=(*legacy.groups, *groups), **given)
    click.echo(f"What {file} became:", err=True)
    for sentence in legacy.became:
        click.echo(f"  {sentence}", err=True)
    if not plan.ray_version:
        click.echo(f"  spec.rayVersion: {plan.version}. Say --ray-version if the image has another Ray.", err=True)
    return plan


def _typed_groups(file: Path | None) -> list[WorkerPods]:
    if file is None:
        return []
    from nbaccel.machines.kuberay.type_groups import read_types

    found = read_types(file)
    for sentence in found.left_out:
        click.echo(f"Left out: {sentence}", err=True)
    return found.groups


def _written(document: dict[str, Any]) -> str:

    return write_document(document)


@kuberay.command()
@click.argument("file", type=click.File("rb"))
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings as well.")
def check(file: Any, strict: bool) -> None:
    """Say what is wrong with the RayClusters in FILE (- for stdin): each fault with its path."""
    from nbaccel.machines.kuberay.check import check_documents

    found = check_documents(read_documents(file.read()))
    for fault in found.faults:
        click.echo(str(fault))
    for title in found.skipped:
        click.echo(f"Not checked: {title} is no object of KubeRay's.", err=True)
    if found.refused or (strict and found.faults):
        raise click.exceptions.Exit(1)
    click.echo(f"{', '.join(found.clusters)}: Kubernetes, KubeRay and Ray take it.", err=True)


@kuberay.command()
@click.argument("name")
@click.option("-n", "--namespace", default="", help="The namespace; that of kubectl's context if not given.")
@click.option("--context", default="", help="The context of kubectl's.")
@click.option(
    "--port", "local_port", type=click.IntRange(0, 65_535), default=0, help="The local port; a free one if 0."
)
@click.option(
    "--token-file", type=click.Path(dir_okay=False, path_type=Path), help="For the token; usually ~/.ray/NAME.token."
)
def connect(name: str, namespace: str, context: str, local_port: int, token_file: Path | None) -> None:
    """Open a tunnel to the RayCluster NAME for a notebook on this machine, and mend it until Ctrl-C."""
    from nbaccel.machines.kuberay import connecting
    from nbaccel.machines.kuberay.connecting import Tunnel, find_kubectl

    kubectl = find_kubectl(namespace, context)
    tunnel = Tunnel(kubectl, f"{name}-head-svc", connecting.CLIENT_PORT, local_port, say=click.echo)
    before = signal.signal(signal.SIGTERM, _end_as_by_a_key)
    try:
        connecting.connect(kubectl, name, token_file, tunnel, click.echo)
    except KeyboardInterrupt:
        click.echo("The tunnel is closed.")
    finally:
        signal.signal(signal.SIGTERM, before)


# ---- manifests in files: YAML and JSON are read with the care of an API server, and written for people
#
# PyYAML comes with `nbaccel[kubernetes]` and is imported when a file is read or written.


class UnreadableFile(ValueError):
    """The text is not what kubectl would read as manifests."""


def read_documents(content: bytes | str) -> list[Any]:
    """Every document of a file; UnreadableFile says where the text is at fault."""
    yaml = _yaml()
    text = _text(content) if isinstance(content, bytes) else content
    try:
        return [document for document in yaml.load_all(text, Loader=_strict_loader()) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise UnreadableFile(f"The file cannot be read as YAML{where}: {problem}.") from None


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"The file is no text: its byte {error.start + 1} is not UTF-8. A manifest is YAML or JSON."
        ) from None


def write_document(document: Mapping[str, Any]) -> str:
    """The document as YAML; text that would be read as a number or a truth value is in quotes."""
    yaml = _yaml()

    class Dumper(yaml.SafeDumper):  # type: ignore[misc, name-defined]  # without names for parts that occur twice
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(document, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=120))


def _yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise RuntimeError(
            "Manifests are YAML, and PyYAML is not installed. Install it: pip install 'nbaccel[kubernetes]'"
        ) from None
    return yaml


@cache
def _strict_loader() -> Any:
    """A safe loader that refuses a key that is written twice, as an API server does; PyYAML takes the last one."""
    yaml = _yaml()
    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(fast):  # type: ignore[misc, valid-type]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            lines: dict[str, int] = {}
            for key, _ in node.value:
                name = str(key.value)
                if name in lines and key.tag != "tag:yaml.org,2002:merge":
                    problem = f"{name!r} is written twice, in lines {lines[name]} and {key.start_mark.line + 1}"
                    raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
                lines[name] = key.start_mark.line + 1
            return super().construct_mapping(node, deep=deep)

    # A timestamp is text in Kubernetes, and a YAML reader would make an object of it.
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
        for first, pairs in fast.yaml_implicit_resolvers.items()
    }
    return Loader
