"""Where Ray Train 2.60 keeps JaxTrainer; everything else of its second version is in `nbaccel.train`."""
