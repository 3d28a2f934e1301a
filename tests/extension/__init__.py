"""The Jupyter server extension `nbaccel_lab` of the folder extension/."""
