"""Transformers' Trainer of a tiny model without a network: saved each epoch, loaded again from the run's checkpoint."""

import os

import torch
from ray import train
from ray.train import CheckpointConfig, RunConfig, ScalingConfig
from ray.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return {"input_ids": torch.tensor([index % 8, 1, 2, 3]), "labels": index % 2}


def train_func(config):
    sizes = {"vocab_size": 16, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(**sizes, intermediate_size=8, num_labels=2))
    arguments = TrainingArguments(
        output_dir=os.path.join(config["folder"], "outputs"),
        num_train_epochs=config["epochs"],
        per_device_train_batch_size=4,
        save_strategy="epoch",
        eval_strategy="epoch",
        logging_strategy="epoch",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=Words(), eval_dataset=Words())
    trainer.add_callback(RayTrainReportCallback())
    trainer = prepare_trainer(trainer)
    checkpoint = train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            trainer.train(resume_from_checkpoint=os.path.join(folder, "checkpoint"))
    else:
        trainer.train()
    return [trainer.args.world_size, trainer.state.global_step, checkpoint is not None]


def fit(epochs):
    return TorchTrainer(
        train_func,
        train_loop_config={"epochs": epochs, "folder": os.path.abspath(f"out_{epochs}")},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(
            name=f"bert_{epochs}",
            storage_path=os.path.abspath("transformers_runs"),
            checkpoint_config=CheckpointConfig(num_to_keep=1),
        ),
    ).fit()


result = fit(2)
with result.checkpoint.as_directory() as folder:
    model = BertForSequenceClassification.from_pretrained(os.path.join(folder, RayTrainReportCallback.CHECKPOINT_NAME))
answer = {
    "returned": result.return_value,
    "layers": model.config.num_hidden_layers,
    "names": sorted({"loss", "eval_loss", "epoch", "step"} & set(result.metrics)),
    "epoch": result.metrics["epoch"],
    "kept": len(result.best_checkpoints),
}
