"""TorchConfig, under the path at which programs import it from Ray Train."""

from nbaccel.train.torch.trainer import TorchConfig

__all__ = ["TorchConfig"]
