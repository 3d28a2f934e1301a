"""Lightning's Trainer reports to its trial, with a checkpoint."""

import lightning.pytorch as pl
import torch
from lightning.pytorch.demos.boring_classes import BoringModel
from ray import tune
from ray.tune.integration.pytorch_lightning import TuneReportCallback, TuneReportCheckpointCallback


class Model(BoringModel):
    def validation_step(self, batch, batch_idx):
        self.log("val_loss", torch.tensor(0.5))


def fits(config):
    kind = TuneReportCheckpointCallback if config["saves"] else TuneReportCallback
    pl.Trainer(
        max_epochs=2,
        limit_train_batches=1,
        limit_val_batches=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[kind({"loss": "val_loss"}, on="validation_end")],
    ).fit(Model())


results = tune.Tuner(
    fits, param_space={"saves": tune.grid_search([True, False])}, run_config=tune.RunConfig(verbose=0)
).fit()
answer = {
    "errors": results.num_errors,
    "reports": [[len(each.metrics_dataframe), each.metrics["loss"], each.checkpoint is not None] for each in results],
}
