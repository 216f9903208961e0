"""What games in words say: ``python -m tests.golden_words`` writes tests/golden/words.txt anew."""

from __future__ import annotations

from pathlib import Path

import puzzleport as pp
from puzzleport.language import Dialogue

PATH = Path(__file__).parent / "golden" / "words.txt"
MOST = 12
# Messages that are almost moves, in the forms of all puzzles: places outside of the board, values that do not exist.
ODD = (
    *("R1C1", "R0C1=1", "R99C1=1", "R1C1=0", "R1C1=1", "R1C1=99", "R1C1=A", "R1C1-R1C2", "R1C1-R1C1", "R1C1-R1C2-R1C3"),
    *(
        "R1C2-R2C2*2",
        "R1C1 clear",
        "R1C1 SELECT",
        "guess 0 1 1",
        "guess 1 1",
        "guess 1 1 1",
        "slide row 1 left",
        "P1=1",
    ),
    *("slide row 0 left", "slide column 99 up", "LEFT", "left*2", "RIGHT*0", "UNDO", "1", "colour 1", "fire 1", "E1"),
)


def lines(puzzle: str) -> list[str]:
    """Examples, legal moves, the expert's way, and the answers to odd messages."""
    about = pp.spec(puzzle)
    with Dialogue(puzzle, about.human_params, seed=4) as dialogue:
        told = [f"== {puzzle} {about.human_params}", f"example: {dialogue.example()}", f"hint: {dialogue.hint()}"]
        legal = dialogue.legal()
        told += [f"legal: {len(legal)}", *(f"  {move}" for move in legal[:: max(len(legal) // MOST, 1)][:MOST])]
        for message in ODD:
            reply = dialogue.say(message)
            told.append(f"> {message}")
            told += [f"  played {move}" for move in reply.moves] + [f"  {problem}" for problem in reply.problems]
            if dialogue.done:
                break
    with Dialogue(puzzle, about.human_params, seed=4) as dialogue:
        moves = dialogue.solve()
        told += [f"solved: {dialogue.solved} by {len(moves)}", *(f"  {move}" for move in moves[:MOST])]
        told += [f"verdict: {dialogue.verdict_line()}"]
    return told


def main() -> None:
    """Write the file."""
    PATH.write_text("\n".join(line for puzzle in pp.puzzles() for line in lines(puzzle)) + "\n")


if __name__ == "__main__":
    main()
