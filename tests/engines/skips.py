"""What one engine does not do that others do, with the reason of each. This list may only get shorter.

(engine, test) -> reason
"""

SKIPS: dict[tuple[str, str], str] = (
    {
        ("debug", "test_the_store_is_fuller_while_an_object_lives"): "values lie in the process's own memory",
        (
            "debug",
            "test_an_observer_sees_what_waits_and_cancels_it",
        ): "it runs in a debugger's process, which nobody asks",
        ("debug", "test_the_jupyter_server_lists_it"): "it runs in a debugger's process, which nobody asks",
        ("ray", "test_an_actor_that_fails_to_start_names_the_cause"): (
            "Ray keeps only the text of what an actor's constructor raised, not the exception"
        ),
        ("ray", "test_a_frozen_exception_is_caught_as_what_it_is"): (
            "Ray sets attributes of the user's exception where it is read, and fails where it may not"
        ),
        ("ray", "test_a_crashed_worker_is_told_with_its_signal"): "Ray does not say how a worker ended",
    }
    | {
        ("debug", test): "one process runs everything: there is no other pid, and what kills it kills the tests"
        for test in (
            "test_a_crashed_worker_is_told",
            "test_a_replica_that_is_killed_has_a_successor",
            "test_a_crashed_worker_is_told_with_its_signal",
            "test_a_task_error_tells_where_it_was_raised",
            "test_a_task_runs_in_another_process",
            "test_a_task_that_asks_by_options_or_another_family_is_fresh_too",
            "test_a_task_whose_worker_dies_is_retried",
            "test_an_actor_ends_with_its_last_handle",
            "test_an_actor_is_restarted_as_often_as_it_may",
            "test_an_actor_whose_process_dies_fails_its_call",
            "test_a_class_to_retry_that_a_worker_cannot_import_is_an_error",
            "test_kill_ends_children_in_sessions_of_their_own",
            "test_each_accelerator_task_runs_in_a_fresh_process",
            "test_every_error_is_an_nbaccel_error",
            "test_max_calls_0_keeps_the_process",
            "test_one_failed_task_leaves_the_others",
        )
    }
    | {
        ("debug", test): "calls run inside .remote(), one after the other: nothing goes on while code waits"
        for test in (
            "test_a_custom_resource_limits_how_many_run",
            "test_what_other_tasks_have_submitted_and_can_never_begin_does_not_wait",
            "test_a_running_task_has_a_stack_and_one_that_waits_a_reason",
            "test_a_running_task_is_cancelled",
            "test_a_running_task_is_killed_by_force",
            "test_a_waiting_task_is_cancelled_and_never_runs",
            "test_a_watched_worker_that_runs_something_has_its_load",
            "test_calls_in_a_loop_or_in_threads_have_stacks",
            "test_an_actor_keeps_the_cpus_that_it_asked_for_while_it_waits",
            "test_fractions_are_packed_before_the_next_device_is_opened",
            "test_get_times_out",
            "test_giving_up_on_an_awaited_ref_leaves_the_task_alone",
            "test_snapshots_are_pushed_to_a_watcher",
            "test_the_snapshot_names_node_device_and_process_of_each_task",
            "test_threads_run_calls_at_the_same_time",
            "test_wait_returns_what_is_ready_in_the_given_order",
        )
    }
    | {
        (
            "debug",
            test,
        ): "worker groups and trials need processes of their own; the debug engine says so (tested here as well)"
        for test in (
            "test_a_failure_is_told_with_the_users_own_exception",
            "test_a_failure_waits_for_a_checkpoint_that_is_on_its_way",
            "test_ranks_may_bring_different_files_of_one_name",
            "test_a_failed_trial_and_a_restored_experiment_go_on_from_checkpoints",
            "test_a_trainers_trial_is_its_worker_group",
            "test_a_trial_whose_bundles_can_never_fit_together_is_refused",
            "test_a_trial_that_reports_nothing_has_ended_and_is_never_the_best",
            "test_a_worker_group_reports_and_keeps_checkpoints",
            "test_a_worker_group_that_fails_starts_again",
            "test_a_training_run_shows_its_workers_and_not_its_mailbox",
            "test_the_group_of_a_trial_and_of_a_worker_group_is_called_by_whose_it_is",
            "test_the_trials_of_an_experiment_are_all_its_tasks",
            "test_a_rank_that_never_reports_is_interrupted_when_the_run_is_stopped",
            "test_a_run_stops_after_the_same_report",
            "test_checkpoints_travel_where_the_workers_do_not_see_the_runs_folder",
            "test_ranks_hold_their_devices",
            "test_causes_come_with_the_error_of_a_rank",
            "test_causes_come_with_the_error_of_a_trial",
        )
    }
    | {
        ("ray", test): "Ray pickles the user's exception alone; what it was raised from comes as text"
        for test in (
            "test_a_cause_that_cannot_travel_costs_nothing_else",
            "test_causes_come_through_a_task_that_waited",
            "test_causes_come_with_the_error",
            "test_causes_come_with_the_error_of_a_rank",
            "test_causes_come_with_the_error_of_a_trial",
            "test_causes_come_with_the_error_of_an_actors_constructor",
            "test_the_causes_of_an_error_that_cannot_travel_itself_come",
        )
    }
)
