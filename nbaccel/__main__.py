"""`python -m nbaccel` is the command `nbaccel`."""

from nbaccel.cli import main

if __name__ == "__main__":
    main(prog_name="nbaccel")
