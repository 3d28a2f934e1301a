"""The notebook's side of nbaccel: the magics that IPython users type, and the views that they see.

    %accel_init num_gpus=2                     a person at a cell
            │
        magics ──► arguments ──► options       one line of text becomes checked keywords; tab reads options too
            │
            ▼
        nbaccel.init(), nbaccel.snapshot()     public names only; this room decides nothing about devices
            │
            ▼
        views ► view ► card, static_tables, …      a Snapshot becomes text/plain and text/html, nothing else is asked
                             └► blocks, curves ► theme      what all HTML is made of (docs/design.md)
        dashboards ► widget ► publishing ► drawn   the same, live: frontend/ draws it, built into static/cockpit.js
                            └► displays            over the saved card, so that a file names no widget

Only `nbaccel.load_ipython_extension` and the context that `init()` returns come here, and only when they are used.
"""
