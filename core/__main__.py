"""``python -m core``: run scenarios, list presets, replay recordings, measure speed."""

import sys

from core.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
