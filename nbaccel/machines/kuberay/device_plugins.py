"""The names that accelerators have in Kubernetes, what Ray calls them, and what Ray's autoscaler counts by itself.

The operator and the autoscaler read a manifest apart: what one of them does not recognise has to stand in
`rayStartParams`, or a group that has no pod yet never gets one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MIG = re.compile(r"^nvidia\.com/mig-\d+g\.\d+gb(\.[a-z0-9.]+)?$")
GKE_TPU_SELECTORS = ("cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology")


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """One family of accelerators, as its device plugin announces it to Kubernetes."""

    vendor: str  # the word of `vendor=`
    key: str  # of limits and requests
    resource: str  # Ray's name
    counted: bool  # whether Ray's autoscaler counts the key without help
    what: str  # for people
    image_suffix: str = ""  # of rayproject/ray, where Ray publishes an image with the vendor's libraries


PLUGINS = (
    DevicePlugin("nvidia", "nvidia.com/gpu", "GPU", True, "NVIDIA GPUs", "-gpu"),
    DevicePlugin("amd", "amd.com/gpu", "GPU", True, "AMD GPUs"),
    DevicePlugin("intel", "gpu.intel.com/i915", "GPU", False, "Intel GPUs"),
    DevicePlugin("intel-xe", "gpu.intel.com/xe", "GPU", False, "Intel GPUs of the driver xe"),
    DevicePlugin("gaudi", "habana.ai/gaudi", "HPU", False, "Intel Gaudi"),
    DevicePlugin("neuron", "aws.amazon.com/neuroncore", "neuron_cores", False, "AWS Neuron cores"),
    DevicePlugin("ascend", "huawei.com/Ascend910", "NPU", False, "Huawei Ascend"),
    DevicePlugin("tpu", "google.com/tpu", "TPU", True, "Google TPUs"),
)
VENDORS = {plugin.vendor: plugin for plugin in PLUGINS}
_BY_KEY = {plugin.key: plugin for plugin in PLUGINS} | {
    "huawei.com/npu": DevicePlugin("ascend", "huawei.com/npu", "NPU", False, "Huawei Ascend"),
    "aws.amazon.com/neuron": DevicePlugin("neuron", "aws.amazon.com/neuron", "neuron_cores", False, "AWS Neuron"),
}


def plugin_of(key: str) -> DevicePlugin | None:
    """The plugin that announces this key of limits; None for a key that is no accelerator's."""
    if key in _BY_KEY:
        return _BY_KEY[key]
    if _MIG.match(key):
        return DevicePlugin("nvidia", key, "GPU", False, "parts of NVIDIA GPUs (MIG)", "-gpu")
    if key.endswith("gpu") and "/" in key:
        return DevicePlugin("nvidia" if key.startswith("nvidia.com/") else "other", key, "GPU", True, "GPUs")
    return None
