"""The Trainer of Hugging Face Transformers in two workers: a tiny model, made here, learns and is saved."""

import os

import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return {"input_ids": torch.tensor([index % 7, 3, 5]), "labels": torch.tensor(index % 2)}


def train_func():
    torch.manual_seed(0)
    config = BertConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=TrainingArguments(
            output_dir="transformers_out",
            num_train_epochs=2,
            per_device_train_batch_size=4,
            save_strategy="epoch",
            logging_strategy="epoch",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Sentences(),
    )
    trainer.add_callback(RayTrainReportCallback())
    prepare_trainer(trainer).train()


result = TorchTrainer(
    train_func,
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(name="transformers", storage_path=os.path.abspath("transformers_runs")),
).fit()
with result.checkpoint.as_directory() as folder:
    model = BertForSequenceClassification.from_pretrained(os.path.join(folder, "checkpoint"))
answer = {
    "epoch": result.metrics["epoch"],
    "step": result.metrics["step"],
    "loads": type(model).__name__,
}
