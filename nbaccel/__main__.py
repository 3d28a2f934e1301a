"""`python -m nbaccel` is the command `nbaccel`."""

from nbaccel.command import main

if __name__ == "__main__":
    main()
