"""The command `nbaccel kuberay rehearse`: which RayCluster of a file is played, and how the play ends."""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path
from typing import Any

import click

from nbaccel.machines.kuberay.faults import fields_of

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
    from nbaccel.machines.kuberay.yaml_files import read_documents

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
    """The processes end with the rehearsal, however that is ended."""
    raise KeyboardInterrupt
