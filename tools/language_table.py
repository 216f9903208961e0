"""Scripted players in words on the first instances of the frozen set: an expert, random legal moves, and garbage.

python tools/language_table.py [INSTANCES] writes docs/results/language.csv.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

import puzzleport as pp
from puzzleport.language import Dialogue

OUT = Path(__file__).parents[1] / "docs" / "results" / "language.csv"
TURNS = 50


def expert(game: Dialogue, chance: random.Random) -> None:
    """Takes every hint."""
    game.solve()


def random_legal(game: Dialogue, chance: random.Random) -> None:
    """Says moves that are legal, as many as the expert could need."""
    for _ in range(TURNS):
        if game.done:
            return
        options = [text for kind in game.kinds[:-1] or game.kinds for text in kind.options(game.session.observe())]
        for text in chance.sample(options, min(len(options), 50)):
            if game.attempt(text) is not None:
                game.say(text)
                break


def garbage(game: Dialogue, chance: random.Random) -> None:
    """Says letters."""
    game.say("".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=80)))


def main(instances: int) -> None:
    """Play and write."""
    frozen = pp.evalset("v1")
    rows = []
    for name in pp.puzzles():
        row: dict[str, object] = {"puzzle": name, "params": frozen[name].params, "instances": instances}
        for player in (expert, random_legal, garbage):
            solved, score = 0, 0.0
            for seed in frozen[name].seeds[:instances]:
                with Dialogue(name, frozen[name].params, seed) as game:
                    player(game, random.Random(seed))
                    solved, score = solved + game.solved, score + game.score
            row[f"{player.__name__}_solved_percent"] = round(100 * solved / instances, 1)
            row[f"{player.__name__}_score"] = round(score / instances, 3)
        rows.append(row)
        print(row, flush=True)
    with OUT.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
