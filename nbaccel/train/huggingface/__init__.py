"""Libraries of Hugging Face in a worker group. The trainers that Ray had here before version 2.7 say what to write."""

from typing import Any

from nbaccel import elsewhere

_TRAINER = (
    "call transformers.Trainer(..., callbacks=[RayTrainReportCallback()]).train() in a function, and give the function "
    "to nbaccel.train.torch.TorchTrainer. The callback is in nbaccel.train.huggingface.transformers."
)
_CHECKPOINT = (
    'a checkpoint is a folder: AutoModel.from_pretrained(os.path.join(checkpoint.path, "checkpoint")) loads the model.'
)
_PREDICTOR = "load the model in an actor, an nbaccel.remote class, and call that."
_ELSEWHERE = {
    "AccelerateTrainer": "call accelerate.Accelerator() in a function that you give to "
    "nbaccel.train.torch.TorchTrainer.",
    "HuggingFaceTrainer": _TRAINER,
    "TransformersTrainer": _TRAINER,
    "HuggingFaceCheckpoint": _CHECKPOINT,
    "TransformersCheckpoint": _CHECKPOINT,
    "HuggingFacePredictor": _PREDICTOR,
    "TransformersPredictor": _PREDICTOR,
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)
