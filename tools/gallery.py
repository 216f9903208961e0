"""The contact sheet of all puzzles: ``python tools/gallery.py OUTPUT.png [SIZE]``."""

from __future__ import annotations

import sys
from pathlib import Path

from puzzleport.animation import gallery, save_picture

if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    save_picture(gallery(int(sys.argv[2]) if len(sys.argv) > 2 else 128), output)
