"""Values of Ray Train's that programs read from `ray.train.constants`: those that mean the same here.

Of the others, an import says what stands instead; names that Ray does not have either are no attributes.
"""

from typing import NoReturn

from nbaccel import elsewhere
from nbaccel.train.configs import RunConfig
from nbaccel.train.datasets import TRAIN_DATASET_KEY

__all__ = ["DEFAULT_STORAGE_PATH", "EVALUATION_DATASET_KEY", "RAY_CHDIR_TO_TRIAL_DIR", "TRAIN_DATASET_KEY"]

DEFAULT_STORAGE_PATH = str(RunConfig().storage_path)
EVALUATION_DATASET_KEY = "evaluation"
RAY_CHDIR_TO_TRIAL_DIR = "RAY_CHDIR_TO_TRIAL_DIR"  # "0": workers stay in the notebook's folder, as they always do here

_FOLDER = "a checkpoint is a folder: choose the names of its files yourself."
_FILLED = "a result has what your function reports: report it yourself, for example socket.gethostname()."
_VARIABLE = "nbaccel reads no such variable: "
_SHOWN = f"{_VARIABLE}TorchConfig(share_devices=False) shows each worker only its own devices."
_ELSEWHERE = {
    "MODEL_KEY": _FOLDER,
    "PREPROCESSOR_KEY": _FOLDER,
    "TRAIN_CHECKPOINT_SUBDIR": "Result.checkpoint.path is the folder of the last checkpoint.",
    "CHECKPOINT_DIR_NAME": "Result.checkpoint.path is the folder of the last checkpoint.",
    "RESULT_FILE_JSON": "Result.metrics_dataframe has all reports, and Result.path is the run's folder.",
    "TIME_TOTAL_S": _FILLED,
    "WORKER_HOSTNAME": _FILLED,
    "WORKER_NODE_IP": _FILLED,
    "WORKER_PID": _FILLED,
    "DETAILED_AUTOFILLED_KEYS": _FILLED,
    "ENABLE_DETAILED_AUTOFILLED_METRICS_ENV": f"{_VARIABLE}{_FILLED}",
    "ENABLE_SHARE_CUDA_VISIBLE_DEVICES_ENV": _SHOWN,
    "ENABLE_SHARE_HIP_VISIBLE_DEVICES_ENV": _SHOWN,
    "ENABLE_SHARE_NEURON_CORES_ACCELERATOR_ENV": _SHOWN,
    "ENABLE_SHARE_NPU_RT_VISIBLE_DEVICES_ENV": _SHOWN,
    "TRAIN_PLACEMENT_GROUP_TIMEOUT_S_ENV": f"{_VARIABLE}a run waits for its devices, and says what holds them.",
    "TRAIN_ENABLE_WORKER_SPREAD_ENV": f'{_VARIABLE}write ScalingConfig(placement_strategy="SPREAD").',
    "RAY_TRAIN_COUNT_PREEMPTION_AS_FAILURE": f"{_VARIABLE}a node that is taken back always counts as a failure.",
    "RAY_TRAIN_ENABLE_STATE_TRACKING": f"{_VARIABLE}runs are always in the cockpit, and in nbaccel.snapshot().",
    "TORCH_PROCESS_GROUP_SHUTDOWN_TIMEOUT_S": f"{_VARIABLE}a process group ends with its processes.",
}


def __getattr__(name: str) -> NoReturn:
    """Raises an ImportError: Python would replace an AttributeError by one that says only that the name is not here."""
    if name in _ELSEWHERE:
        raise ImportError(f"{__name__}.{name} is not here: {_ELSEWHERE[name]}", name=__name__)
    raise elsewhere.no_attribute(__name__, name)
