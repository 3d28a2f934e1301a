"""Train a tiny BERT with random weights by Transformers' Trainer in two workers. Nothing is downloaded.

pip install 'nbaccel[train]' 'transformers[torch]'
python examples/train_transformers.py
"""

from __future__ import annotations

from typing import Any

import nbaccel
from nbaccel import train
from nbaccel.train import Result, RunConfig, ScalingConfig
from nbaccel.train.torch import TorchTrainer


def train_func(config: dict[str, Any]) -> dict[str, Any]:
    """Runs in each worker, which imports Transformers: the driver does not need it."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    from nbaccel.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer

    torch.manual_seed(0)
    size = {"vocab_size": 50, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = BertForSequenceClassification(BertConfig(**size, intermediate_size=8, max_position_embeddings=8))
    rows = [{"input_ids": torch.randint(50, (8,)), "labels": torch.tensor(number % 2)} for number in range(16)]
    arguments = TrainingArguments(
        output_dir=f"{train.get_context().get_trial_dir()}/trainer",
        num_train_epochs=config["epochs"],
        per_device_train_batch_size=4,
        save_strategy="epoch",
        logging_strategy="epoch",
        use_cpu=config.get("use_cpu", False),
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[RayTrainReportCallback()])
    prepare_trainer(trainer).train()
    return {"size": arguments.world_size, "steps": trainer.state.global_step}


def main(epochs: int = 2, **config: Any) -> Result:
    return TorchTrainer(
        train_func,
        train_loop_config={"epochs": epochs, **config},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=nbaccel.cluster_resources().get("GPU", 0) >= 2),
        run_config=RunConfig(name="bert"),
    ).fit()


if __name__ == "__main__":
    nbaccel.init()
    result = main()
    print(result.metrics, result.checkpoint)
