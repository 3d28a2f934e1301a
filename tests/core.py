"""Which tests with a real Ray or browser, and which slow ones, run at each commit: every promise once. All are run by
`make test-all`.

Below the path of a file stand its tests, without `test_`. `name[case]` chooses one case of a test, and a name alone all
of them. A case has the name that pytest gives it, without "ray".
"""

from __future__ import annotations

import re

import pytest

CORE = """
engines/test_actors.py
    an_actor_keeps_its_state_and_the_order_of_calls  a_generator_method_streams
    a_method_that_raises_leaves_the_actor_alive  a_handle_can_be_passed_to_a_task  async_methods_run_at_the_same_time
    threads_run_calls_at_the_same_time  a_named_actor_is_found  a_name_is_given_once  a_killed_actor_fails_its_calls
    an_actor_whose_process_dies_fails_its_call  an_actor_is_restarted_as_often_as_it_may  an_actor_ends_itself
    an_actor_that_fails_to_start_fails_its_calls  an_actor_ends_with_its_last_handle  an_async_call_is_cancelled
engines/test_chained_errors.py
    causes_come_through_a_task_that_waited
engines/test_choices.py
    an_error_of_the_device_is_answered_by_the_next_choice  when_the_last_choice_fails_its_error_is_the_result
    an_actor_whose_constructor_fails_on_the_device_is_made_without_it  a_probe_says_what_a_request_would_meet
    the_snapshot_says_which_choice_a_task_took
engines/test_context.py
    a_task_knows_who_and_where_it_is  a_group_of_bundles_is_placed_and_used  a_task_that_can_never_run_says_why
    the_snapshot_names_node_device_and_process_of_each_task  the_snapshot_shows_an_idle_actor_with_its_device
    snapshots_are_pushed_to_a_watcher  the_timeline_has_the_phases_of_a_task
engines/test_devices.py
    a_gpu_task_gets_ids_as_strings_and_the_variable  fractions_are_packed_before_the_next_device_is_opened
    an_actor_keeps_its_devices_and_gives_them_back  each_accelerator_task_runs_in_a_fresh_process
    max_calls_0_keeps_the_process  tpu_chips_are_assigned  a_cpu_task_keeps_its_environment
    the_cluster_counts_its_resources  a_task_is_told_the_devices_that_its_runtime_env_names[5,7-None]
engines/test_environments.py
    a_task_finds_the_files_and_modules_it_was_given  what_a_task_or_an_actor_submits_inherits_its_environment
    the_set_up_function_runs_before_the_task_and_before_the_actor
engines/test_errors.py
    a_task_error_is_also_what_the_task_raised  an_actors_error_names_its_class  an_error_tells_the_devices_of_its_task
    a_nested_error_shows_both_tasks_and_tells_of_the_outer  the_traceback_has_the_users_frames_only
    a_crashed_worker_is_told  one_failed_task_leaves_the_others  every_error_is_an_nbaccel_error
engines/test_executor.py
    calls_run_as_tasks_and_keep_their_order
engines/test_groups.py
    a_group_is_placed_by_every_strategy_that_one_node_can_keep[STRICT_PACK]  a_task_runs_on_the_devices_of_its_bundle
    bundles_on_nodes_of_their_own_wait_for_a_second_node  children_run_in_the_group_where_it_is_asked
    it_is_said_why_a_group_waits_and_who_holds_what_it_asks_for
engines/test_internal_work.py
    internal_work_is_in_no_count_and_no_list
engines/test_kinds_of_actors.py
    groups_of_calls_have_limits_of_their_own  names_belong_to_a_namespace  a_detached_actor_outlives_its_handle
    a_call_that_its_actor_did_not_survive_is_made_again  a_method_streams_and_returns_several
    the_constructor_of_an_asyncio_actor_runs_in_its_loop  a_name_is_free_when_its_actor_went_out_of_scope
engines/test_lives.py
    calls_keep_their_order_though_an_argument_is_late  more_calls_than_may_be_pending_are_refused_where_they_are_made
    many_that_get_or_create_get_the_same_one  a_restarted_actor_has_the_same_device_and_a_new_state
    a_handle_that_was_looked_up_does_not_keep_the_actor_alive[found by name]  an_actor_says_its_last_words
    an_actor_ends_with_the_process_that_created_it  a_method_is_called_again_for_the_errors_that_it_names
engines/test_objects.py
    put_and_get  a_large_array_arrives_whole_and_read_only  a_tensor_that_is_read_twice_is_two_tensors[1000000]
    a_ref_inside_an_object_keeps_its_value  a_ref_that_travels_twice_keeps_its_value  get_times_out
    wait_returns_what_is_ready_in_the_given_order  refs_are_awaited  a_generator_streams_its_values
    a_stream_is_slowed_down_by_its_reader
engines/test_observed.py
    an_observer_sees_what_waits_and_cancels_it
engines/test_processes.py
    children_are_cancelled_with_their_parent_unless_told_otherwise[True]  a_restart_storm_ends_in_words
    a_stream_whose_worker_dies_goes_on_where_it_was[-1]  a_constructor_that_hangs_can_be_killed
    what_a_dead_process_had_submitted_ends_with_it[killed]
    a_call_sees_that_it_is_cancelled_and_whoever_waits_for_it_is_told
engines/test_published.py
    the_last_record_of_an_id_is_in_the_snapshot_until_it_is_withdrawn
engines/test_resources_held.py
    an_actor_keeps_the_cpus_that_it_asked_for_while_it_waits  kill_ends_children_in_sessions_of_their_own
engines/test_seeing.py
    counters_of_all_processes_are_added_up  a_tasks_log_has_what_it_printed_and_the_whole_traceback
    tasks_are_listed_with_their_types_and_errors  actors_workers_nodes_jobs_and_groups_are_listed
    objects_are_listed_with_their_sizes_and_places  a_task_tells_what_it_has_gone_through
    a_pool_keeps_order_and_raises_the_first_error  joblib_runs_its_calls_here  tasks_that_failed_are_shown_as_failed
    the_history_says_what_ran_on_which_device  a_failed_task_is_run_again_where_its_call_is_kept
engines/test_streams.py
    a_generator_streams_by_itself_and_its_error_is_the_last_item  the_next_item_can_be_waited_for_with_a_timeout
    a_stream_runs_no_further_ahead_than_it_may  a_generator_stops_when_nobody_reads_on[1]
    a_generator_of_an_async_actor_streams_too  a_stream_that_is_run_again_goes_on_where_it_was
engines/test_tasks.py
    a_task_returns_its_value  a_task_returns_several_values  tasks_submit_tasks  a_blocked_parent_lends_its_cpu
    wrong_arguments_are_refused_at_once  what_cannot_be_pickled_is_named_with_its_place
    a_result_that_cannot_be_pickled_is_named  a_task_is_retried_for_the_exceptions_that_it_names
    a_task_whose_worker_dies_is_retried  a_waiting_task_is_cancelled_and_never_runs  a_running_task_is_cancelled
    a_running_task_is_killed_by_force  a_custom_resource_limits_how_many_run
engines/test_training.py
    a_worker_group_reports_and_keeps_checkpoints  ranks_hold_their_devices  a_worker_group_that_fails_starts_again[kill]
engines/test_tuning.py
    a_failed_trial_and_a_restored_experiment_go_on_from_checkpoints
engines/test_util.py
    a_queue_is_shared_by_tasks  a_pool_of_processes_maps
machines/kuberay/test_render.py
    rays_own_autoscaler_reads_the_same
notebook/test_kernel_on_ray.py
    a_line_of_the_first_cell_appears_under_it_while_the_second_runs
    what_can_never_be_met_is_told_at_once_under_its_cell  stop_ends_the_cell_and_cancels_what_it_waits_for[sleeps]
    a_cell_runs_as_a_task_and_its_result_comes_back  an_error_shows_the_users_line_and_where_it_ran
ray_engine/test_choices.py
    what_is_busy_for_too_long_is_answered_by_the_next_choice  an_actor_takes_what_is_free_and_else_the_next_choice
ray_engine/test_cluster.py
    a_type_of_accelerator_leads_to_its_node  fractions_share_one_device_of_the_node
    the_snapshot_names_node_and_device_of_each  a_task_falls_back_where_no_node_has_the_device
ray_engine/test_orphans.py
    nothing_is_left_of_a_ray_whose_notebook[killed]
reports/test_reports.py
    the_program_holds_in_a_kernel
test_cluster_utils.py
    added_nodes_are_part_of_the_cluster  bundles_lie_as_the_strategy_says
    lost_objects_are_made_again_with_what_they_were_made_from  actors_of_a_lost_node_restart_elsewhere_or_die
test_run_tests.py
    a_test_with_ray_that_passes_alone_is_listed_as_flaky
    a_lost_process_ends_neither_the_run_nor_the_second_chance_of_its_test
    a_test_of_our_own_engine_gets_no_second_chance  a_test_with_ray_that_fails_twice_has_failed
local_engine/driver/test_interrupts.py
    ten_thousand_interrupts_at_random_moments_break_nothing
notebook/test_displays.py
    the_nodes_under_a_cell_change_in_place_and_the_last_state_stays
never_hang/test_waiting_line.py
    a_task_that_waits_has_one_line_under_its_cell_until_it_starts
local_engine/test_idle_workers.py
    workers_with_the_users_modules_stay_and_others_end_when_they_are_idle
    an_idle_worker_gives_back_what_it_has_freed
tune/test_restore.py
    after_the_driver_was_killed_no_finished_trial_runs_again_and_none_is_lost
tune/test_population.py
    trials_that_overtake_each_other_all_end_with_a_checkpoint_and_the_config_of_their_last_report
train/test_elastic.py
    a_worker_group_that_waits_shrinks_to_what_fits
tune/test_optuna_search.py
    a_storage_keeps_what_it_knows
local_engine/test_deaths.py
    every_task_ends_while_processes_are_killed_at_random
test_notebooks.py
    a_tutorial_and_its_answers_run_and_it_runs_once_more_in_the_same_kernel[05_cells_as_tasks.ipynb]
    a_tutorial_and_its_answers_run_and_it_runs_once_more_in_the_same_kernel[11_when_things_go_wrong.ipynb]
browser/test_both_front_ends.py
    a_count_of_the_first_line_shows_its_tasks[lab]  a_column_sorts_the_tasks[lab]
    a_task_of_a_row_is_cancelled[notebook7]  an_actor_is_killed_only_after_a_question[lab]
    the_tasks_of_a_cell_are_cancelled[notebook7]  many_devices_are_tiles_with_a_card_and_a_row[lab]
    what_waits_says_why_and_what_failed_is_an_alert[lab]  the_timeline_is_moved_by_pointer_and_keys[notebook7]
    the_log_of_a_failed_task_begins_with_the_error[lab]  all_that_wait_are_cancelled_and_stop_says_what_it_did[lab]
browser/test_cockpit.py
    rows_show_the_ids_that_tasks_printed_also_after_a_kill[lab]  cancel_works_while_the_cell_is_busy[sleeps]
    a_failed_task_is_retried_and_leads_to_its_cell[lab]  a_reloaded_page_shows_what_is  the_keyboard_alone_suffices
    a_hostile_name_stays_text  a_view_whose_kernel_has_gone_says_so
browser/test_drawing.py
    sixty_four_devices_and_five_hundred_tasks_are_drawn  of_very_many_nodes_those_in_sight_are_drawn
    the_card_has_four_lines[8-480]  no_view_scrolls_sideways[40-480]
    a_log_opens_below_its_row_goes_on_and_is_searched  a_new_snapshot_keeps_the_rows_and_the_focus
    an_unchanged_snapshot_is_drawn_without_a_change  tiles_stand_below_the_name_of_their_node_eight_to_a_row[900-8]
browser/test_loaded_again.py
    a_page_that_is_loaded_again_draws_its_cards_without_the_kernel
browser/test_looks.py
    axe_finds_nothing_serious_in_any_view[light]  axe_finds_nothing_serious_in_any_view[dark]
browser/test_panel.py
    the_panel_and_the_widget_act_on_a_kernel_that_takes_no_message  a_shared_head_is_started_and_ended_from_the_panel
    the_servers_own_page_shows_the_cockpit_and_connects_again
browser/test_panel_and_ends.py
    the_end_of_a_killed_head_is_told_and_the_cell_that_starts_another_is_found
browser/test_past.py
    the_timeline_has_every_run_with_its_cell_and_a_card[1300]
browser/test_reopened.py
    a_notebook_that_was_saved_live_shows_its_cards_without_its_kernel[lab]
    after_a_shutdown_the_file_has_the_last_snapshot
browser/test_runs.py
    the_view_shows_a_run_and_its_stop_works_while_the_cell_runs[dark lab]
browser/test_saved.py
    a_notebook_that_nbconvert_ran_shows_the_card
browser/test_static_and_live.py
    tables_of_devices_tasks_and_actors_have_the_same_rows_in_order_and_colours[two busy devices]
    the_four_lines_of_the_card_say_the_same[8-failing-with alerts]
    each_level_keeps_the_words_that_the_page_shows[two busy devices]
browser/test_trials.py
    trials_are_seen_and_stopped_while_the_cell_runs
"""

# What `make test-ray-versions` runs with each version of Ray: 40 promises of the engine, and what a version lacks.
RAY_VERSIONS = """
engines/test_actors.py
    an_actor_keeps_its_state_and_the_order_of_calls  a_generator_method_streams  a_name_is_given_once
    async_methods_run_at_the_same_time  a_named_actor_is_found  a_killed_actor_fails_its_calls
    an_actor_is_restarted_as_often_as_it_may
engines/test_choices.py
    an_error_of_the_device_is_answered_by_the_next_choice  the_snapshot_says_which_choice_a_task_took
engines/test_context.py
    a_task_knows_who_and_where_it_is  a_group_of_bundles_is_placed_and_used  a_task_that_can_never_run_says_why
    the_snapshot_names_node_device_and_process_of_each_task  the_timeline_has_the_phases_of_a_task
engines/test_devices.py
    a_gpu_task_gets_ids_as_strings_and_the_variable  each_accelerator_task_runs_in_a_fresh_process
    an_actor_keeps_its_devices_and_gives_them_back
engines/test_environments.py
    a_task_finds_the_files_and_modules_it_was_given
engines/test_errors.py
    a_task_error_is_also_what_the_task_raised  the_traceback_has_the_users_frames_only
engines/test_objects.py
    put_and_get  a_large_array_arrives_whole_and_read_only  a_ref_inside_an_object_keeps_its_value
    wait_returns_what_is_ready_in_the_given_order
engines/test_observed.py
    an_observer_sees_what_waits_and_cancels_it
engines/test_seeing.py
    a_tasks_log_has_what_it_printed_and_the_whole_traceback  objects_are_listed_with_their_sizes_and_places
    tasks_are_listed_with_their_types_and_errors  actors_workers_nodes_jobs_and_groups_are_listed
engines/test_streams.py
    a_generator_streams_by_itself_and_its_error_is_the_last_item  the_next_item_can_be_waited_for_with_a_timeout
engines/test_tasks.py
    a_task_returns_its_value  a_task_returns_several_values  tasks_submit_tasks  a_running_task_is_cancelled
    a_waiting_task_is_cancelled_and_never_runs  a_task_is_retried_for_the_exceptions_that_it_names
    a_task_whose_worker_dies_is_retried  a_custom_resource_limits_how_many_run
engines/test_training.py
    a_worker_group_reports_and_keeps_checkpoints
ray_engine/test_internals.py
    this_ray_lacks_what_is_known_and_nothing_else
"""


def _read(text: str) -> dict[str, set[str]]:
    """The names below each file."""
    chosen: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            names = chosen.setdefault(line, set())
        else:
            names |= {f"test_{name}" for name in re.split(r"  +", line.strip())}
    return chosen


CHOSEN, OF_VERSIONS = _read(CORE), _read(RAY_VERSIONS)
OUTSIDE = ("ray", "browser", "real", "slow")


def mark(item: pytest.Item, file: str) -> None:
    """Mark a test that runs at each commit or with each version of Ray, `file` being its path below tests/."""
    if item.originalname in OF_VERSIONS.get(file, set()) and "[" not in item.name.removesuffix("[ray]"):
        item.add_marker(pytest.mark.ray_versions)
    if not file.startswith("browser/") and not any(item.get_closest_marker(each) for each in OUTSIDE):
        return
    name, _, case = item.name.partition("[")
    without_ray = "-".join(part for part in case.removesuffix("]").split("-") if part != "ray")
    if {name, f"{name}[{without_ray}]"} & CHOSEN.get(file, set()):
        item.add_marker(pytest.mark.core)
