"""The names of what results and folders of trials have, as Ray Tune's constants."""

from nbaccel.tune.schedulers.trial_scheduler import DEFAULT_METRIC as DEFAULT_METRIC

TRAINING_ITERATION = "training_iteration"
TIME_THIS_ITER_S = "time_this_iter_s"
TIME_TOTAL_S = "time_total_s"
TIMESTAMP = "timestamp"
TIMESTEPS_THIS_ITER, TIMESTEPS_TOTAL = "timesteps_this_iter", "timesteps_total"
EPISODES_THIS_ITER, EPISODES_TOTAL = "episodes_this_iter", "episodes_total"
EPISODE_REWARD_MEAN = "episode_reward_mean"
MEAN_ACCURACY, MEAN_LOSS = "mean_accuracy", "mean_loss"
DONE = "done"
SHOULD_CHECKPOINT = "should_checkpoint"
HOSTNAME, NODE_IP, PID = "hostname", "node_ip", "pid"
TRIAL_ID, EXPERIMENT_TAG, CONFIG_PREFIX = "trial_id", "experiment_tag", "config"
DEFAULT_EXPERIMENT_NAME = "default"
DEFAULT_EXPERIMENT_INFO_KEYS = ("trainable_name", EXPERIMENT_TAG, TRIAL_ID)
DEFAULT_RESULT_KEYS = (TRAINING_ITERATION, TIME_TOTAL_S, MEAN_ACCURACY, MEAN_LOSS)
DEBUG_METRICS = (TRIAL_ID, "date", TIMESTAMP, PID, HOSTNAME, NODE_IP, "config")
AUTO_RESULT_KEYS = (
    TRAINING_ITERATION,
    TIME_TOTAL_S,
    EPISODES_TOTAL,
    TIMESTEPS_TOTAL,
    NODE_IP,
    HOSTNAME,
    PID,
    TIME_THIS_ITER_S,
    TIMESTAMP,
    "date",
    "time_since_restore",
    "iterations_since_restore",
    "config",
    "checkpoint_dir_name",
)
EXPR_PARAM_FILE, EXPR_RESULT_FILE = "params.json", "result.json"
EXPR_PROGRESS_FILE, EXPR_ERROR_FILE = "progress.csv", "error.txt"
