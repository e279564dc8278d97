"""``python -m reproduction``."""

from reproduction.command import app

if __name__ == "__main__":  # the processes that run cells import this file too
    app(prog_name="python -m reproduction")
