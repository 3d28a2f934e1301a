"""Training functions of Lightning, Transformers and JAX, for real workers, which import the libraries."""

from __future__ import annotations

import os
from typing import Any

from nbaccel import train


def lightning(config: dict[str, Any]) -> dict[str, Any]:
    """A small model of Lightning, from random weights or from the last checkpoint."""
    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from nbaccel.train.lightning import (
        RayDDPStrategy,
        RayLightningEnvironment,
        RayTrainReportCallback,
        prepare_trainer,
    )

    class Line(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, number: int) -> Any:
            inputs, wanted = batch
            loss = torch.nn.functional.mse_loss(self.layer(inputs), wanted)
            self.log("loss", loss, on_epoch=True, sync_dist=True)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    inputs = torch.rand(32, 3, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=8)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = prepare_trainer(
        pl.Trainer(
            max_epochs=config["epochs"],
            accelerator="cpu",
            strategy=RayDDPStrategy(),
            plugins=[RayLightningEnvironment()],
            callbacks=[RayTrainReportCallback()],
            enable_checkpointing=False,
            default_root_dir=config["folder"],
            **quiet,
        )
    )
    checkpoint = train.get_checkpoint()
    start = os.path.join(checkpoint.path, RayTrainReportCallback.CHECKPOINT_NAME) if checkpoint else None
    trainer.fit(Line(), loader, ckpt_path=start)
    return {"size": trainer.world_size, "rank": trainer.global_rank, "batches": trainer.num_training_batches}


def transformers(config: dict[str, Any]) -> dict[str, Any]:
    """A tiny BERT with random weights, on random sentences."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    from nbaccel.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer

    torch.manual_seed(0)
    size = {"vocab_size": 50, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = BertForSequenceClassification(BertConfig(**size, intermediate_size=8, max_position_embeddings=8))
    rows = [{"input_ids": torch.randint(50, (8,)), "labels": torch.tensor(number % 2)} for number in range(16)]
    arguments = TrainingArguments(
        output_dir=config["folder"],
        num_train_epochs=2,
        per_device_train_batch_size=4,
        save_strategy="epoch",
        logging_strategy="epoch",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[RayTrainReportCallback()])
    prepare_trainer(trainer).train()
    return {"size": arguments.world_size, "steps": trainer.state.global_step}


def jax(config: dict[str, Any]) -> dict[str, Any]:
    """How many processes JAX connects, and where it computes."""
    import jax

    return {"size": jax.process_count(), "platform": jax.default_backend(), "sum": float(jax.numpy.arange(4).sum())}
