"""A game in words: what the player reads, says and is told."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..agents.expert import ExpertPolicy
from ..errors import NoPlan
from ..limits import DEFAULT_MAX_STEPS, DEFAULT_TIMEOUT, check_limit
from ..session import Session, Status
from .board import Board
from .grammar import Grammar, grammar
from .hand import ARROWS, Change, Hand, Refused, place_name
from .moves import Key, Move, kinds, parse
from .progress import Progress
from .rules import broken_rules

MAX_MESSAGE = 20_000
"""The longest message that is read, in characters."""
MAX_MOVES = 500
"""The most moves of one message that are played."""
MAX_PROBLEMS = 8
MAX_TRIED = 20_000
"""How many moves ``legal`` tries unless told otherwise."""


@dataclass(frozen=True)
class Reply:
    """What became of a message."""

    done: bool
    """Whether the game is over, or a limit is reached."""
    moves: tuple[str, ...]
    """The moves that were understood and played."""
    problems: tuple[str, ...]
    """What was not understood or could not be played, and why; then the rules that the board breaks now."""
    board: str

    def __str__(self) -> str:
        told = [f"Played: {'; '.join(self.moves) or 'nothing'}."]
        told += [f"Problem: {problem}." for problem in self.problems]
        return "\n".join([*told, self.board])


class LegalMoves(list[str]):
    """A list of moves, and whether it is all of them."""

    complete = True


class Dialogue:
    """One game of one puzzle in words.

        >>> game = Dialogue("slant", "2x2de", seed=1)
        >>> game.say("R1C1=/").moves
        ('R1C1=/',)

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: as a ``Session`` takes them; also ``"7x7#42"``.
        seed: decides the instance; ``None`` draws one.
        game_id: instead of params and seed.
        undo: whether the key UNDO can be said, where the puzzle has it.
        max_steps: how many keys may be pressed; 0 for no limit. A move in words presses several.
        max_repeats: at how many repeats of a state the game is cut off; 0 for never.
        max_turns: how many messages are answered; 0 for no limit. The last one counts in full.
        timeout: seconds that generating a puzzle may take; 0 for no limit.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        seed: int | None = None,
        *,
        game_id: str | None = None,
        undo: bool = False,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_repeats: int = 0,
        max_turns: int = 0,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        self.max_turns = check_limit("max_turns", max_turns)
        self.turns = 0
        self.keys: list[int] = []
        """The keys that the moves so far have pressed."""
        self.gained = 0.0
        """What the last message added to the score."""
        self._begin(
            Session(
                puzzle,
                params,
                seed,
                game_id=game_id,
                undo=undo,
                max_steps=max_steps,
                max_repeats=max_repeats,
                timeout=timeout,
            )
        )

    def _begin(self, session: Session) -> None:
        self._session = session
        self.grammar: Grammar = grammar(session.puzzle, session.params)
        self.kinds = kinds(self.grammar)
        self._board = Board(self.grammar)
        self._progress = Progress(session)
        self._expert: dict[bytes, str] = {}

    @property
    def session(self) -> Session:
        """The game itself, as it stands. Another one takes its place with each move."""
        return self._session

    # ---- what the player reads

    def board(self) -> str:
        """The present board: every field of the observation, with coordinates."""
        return self._board.write(self._session.observe(copy=False))

    def prompt(self) -> str:
        """The rules, the legend, the moves, an example and the board."""
        about = self._session.spec
        legend = [f"- {layer.legend}" for layer in self.grammar.layers.values()]
        drawn = self.grammar.layers
        legend += [f"- {field.name}: {field.about}" for field in self.grammar.fields if field.name not in drawn]
        moves = [f"- {kind.help}" for kind in self.kinds]
        place = place_name(self.grammar, (1, 2))
        where = (
            f"{place} is number {place[1:]}, counted from 0."
            if self.grammar.letter
            else f"{place} is row 2, column 3; row 1 is at the top, column 1 at the left."
        )
        return "\n".join(
            [
                f"{about.title}. {about.rules}",
                "",
                "The board, line by line. A place shows the symbols of several fields one after the other, and . for none:",
                *legend,
                "",
                "Moves in words; the cursor travels by itself. Several moves go on lines of their own or between "
                "semicolons; *2 behind a move says it twice; in a message with a ``` block only the last block counts.",
                *moves,
                where,
                f"For example: {self.example()}",
                "",
                self.board(),
            ]
        )

    def example(self) -> str:
        """One legal move that says nothing about the solution: the first that there is."""
        for kind in self.kinds:
            for text in kind.options(self._session.observe(copy=False)):
                if self.attempt(text) is not None:
                    return text
        return self._session.actions[0]

    # ---- what the player says

    def say(self, text: str) -> Reply:
        """Play the moves of a message up to the first that cannot be played. Never raises for what a message says."""
        problems: list[str] = []
        played: list[str] = []
        before = self.score
        if self.done:
            problems.append("the game is over")
        else:
            self.turns += 1
            moves = self._understand(text, problems)
            for move in moves:
                try:
                    hand = Hand(self.grammar, self._session)
                    self._play(hand, move)
                except Refused as why:
                    problems.insert(0, _about(move, why))
                    break
                self.adopt(hand)
                played.append(move.text)
                if hand.session.ended:
                    break
        self.gained = self.score - before
        problems = problems[:MAX_PROBLEMS] + self.broken_rules()[:MAX_PROBLEMS]
        return Reply(self.done, tuple(played), tuple(problems), self.board())

    def _understand(self, text: object, problems: list[str]) -> list[Move]:
        """The moves before the first piece of a message that is not understood; all such pieces are told."""
        if not isinstance(text, str):
            problems.append("a message is a text")
            return []
        if len(text) > MAX_MESSAGE:
            problems.append(f"the message has {len(text)} characters; {MAX_MESSAGE} is the most")
            return []
        moves: list[Move] = []
        said = 0
        for piece in re.split(r"[;,\n\r]+", last_block(text)):
            if not piece.strip():
                continue
            try:
                found = parse(self.kinds, piece)
            except Refused as why:
                problems.append(str(why))
                if len(problems) >= MAX_PROBLEMS:
                    break
                continue
            said += sum(move.times for move in found)
            if said > MAX_MOVES:
                problems.append(f"a message has at most {MAX_MOVES} moves")
                break
            if not problems:
                moves.extend(found)
        if not moves and not problems:
            problems.append("the message has no move")
        return moves

    def _play(self, hand: Hand, move: Move) -> None:
        """Play a move with a hand, or raise Refused."""
        if isinstance(move.kind, Key):
            move.play(hand)
            return
        held = [name for name in self.grammar.idle if np.any(hand.seen[name])]
        if held:
            raise Refused(f"{held[0]} is not 0: finish or drop with keys what was begun with keys")
        before = hand.board()
        move.play(hand)
        if hand.keys and hand.board() == before:
            raise Refused("that changes nothing")

    def attempt(self, text: str, session: Session | None = None) -> Hand | None:
        """What a move would lead to, or None where it is not possible or changes nothing."""
        hand = Hand(self.grammar, session or self._session)
        try:
            for move in parse(self.kinds, text):
                self._play(hand, move)
        except Refused:
            return None
        return hand if hand.keys else None

    def adopt(self, hand: Hand) -> None:
        """Go on with the game that an attempt has led to."""
        self._session = hand.session
        self.keys += hand.keys

    # ---- how it stands

    @property
    def status(self) -> Status:
        """Solved, failed, or neither yet."""
        return self._session.status

    @property
    def solved(self) -> bool:
        """Whether the game is solved."""
        return self._session.status == Status.SOLVED

    @property
    def done(self) -> bool:
        """Whether nothing more can be said: solved, failed, a limit reached, or no key left."""
        over = bool(self._session.ended) or not self._session.mask(copy=False).any()
        return over or bool(self.max_turns and self.turns >= self.max_turns)

    @property
    def score(self) -> float:
        """Between 0 at the start and 1 when solved: the share of the solution that is there."""
        return self._progress(self._session)

    def verdict_line(self) -> str:
        """How the game stands, in a line."""
        told = "Solved." if self.solved else "Lost." if self.status == Status.FAILED else "Not solved yet."
        return told + (" The game is over." if self.done and not self.solved else "")

    def broken_rules(self) -> list[str]:
        """The rules that the board visibly breaks."""
        return broken_rules(self.grammar, self._session.observe(copy=False))

    def legal(self, most: int = MAX_TRIED) -> LegalMoves:
        """The moves that can be said now and change something, keys last; of paths those of one step.

        Args:
            most: how many moves are tried; 0 for all, which may take long: Guess has millions on a large board. Whether
                all were tried is told by ``complete``.
        """
        found = LegalMoves()
        if self.done:
            return found
        texts = (text for kind in self.kinds for text in kind.options(self._session.observe()))
        for tried, text in enumerate(texts):
            if most and tried >= most:
                found.complete = False
                break
            if self.attempt(text) is not None:
                found.append(text)
        return found

    # ---- the expert

    def hint(self) -> str:
        """The expert's next move, just as ``say`` takes it. NoPlan where it knows none."""
        now = self._session.record(copy=False).tobytes()
        if now not in self._expert:
            self._expert = self._plan_in_words()
        return self._expert[now]

    def solve(self) -> list[str]:
        """Let the expert play to the end; returns what it said. NoPlan where it knows no way on."""
        said = []
        while not self.done:
            said.append(self.hint())
            self.say(said[-1])
        return said

    def plan(self) -> list[str]:
        """The expert's whole way in words. NoPlan where there is none, or where something is hidden."""
        if self._session.spec.hidden:
            raise NoPlan(f"{self._session.puzzle}: what is hidden cannot be planned")
        return list(self._plan_in_words().values())

    def _plan_in_words(self) -> dict[bytes, str]:
        """For each state on the expert's way the next move; where something is hidden, for the present state only."""
        session, expert = self._session, ExpertPolicy(self._session.puzzle)
        if session.ended or session.status == Status.SOLVED:
            raise NoPlan(f"{session.puzzle}: the game is over")
        said: dict[bytes, str] = {}
        if session.spec.hidden:
            keys = _until_change(session.clone(), expert)
            self._in_words(session, keys, said)
            return said
        keys, anew = session.plan(), 0
        follow = session.clone()
        here = session
        while keys and not here.ended:
            size = _group(follow, keys)
            while True:  # more keys at the same place may be part of the same move
                longer = size + _group(follow, keys[size:], keys[:size])
                if longer == size or self._words_for(here, follow, keys[:longer]) is None:
                    break
                if here.actions[keys[size]] in ARROWS and size:
                    break
                size = longer
            text = self._words_for(here, follow, keys[:size])
            if text is None and not np.array_equal(here.record(copy=False), follow.record(copy=False)) and anew < 100:
                keys, follow, anew = here.plan(), here.clone(), anew + 1
                continue
            if text is not None:
                said[here.record(copy=False).tobytes()] = text
                hand_ = self.attempt(text, here)
                assert hand_ is not None
                here = hand_.session
            else:
                here = here.clone()
                for key in keys[:size]:
                    said[here.record(copy=False).tobytes()] = here.actions[key]
                    here.act(key)
            for key in keys[:size]:
                follow.act(key)
            keys = keys[size:]
        return said

    def _in_words(self, session: Session, keys: list[int], said: dict[bytes, str]) -> None:
        """Say keys as one move, or key by key."""
        text = self._words_for(session, session, keys)
        if text is not None:
            said[session.record(copy=False).tobytes()] = text
            return
        copy = session.clone()
        for key in keys:
            said[copy.record(copy=False).tobytes()] = copy.actions[key]
            copy.act(key)

    def _words_for(self, here: Session, follow: Session, keys: list[int]) -> str | None:
        """A move that does from here what the keys do from a session with the same board; None where there is none."""
        copy = follow.clone()
        before, seen = copy.observe(), copy.observe(copy=False)
        names, cursors = [copy.actions[key] for key in keys], []
        for key in keys:
            cursors.append((int(seen["cursor_y"]), int(seen["cursor_x"])) if "cursor_y" in seen else (0, 0))
            copy.act(key)
        change = Change(before, copy.observe(), names, cursors)
        wanted = copy.record(copy=False)[: self.grammar.ui_offset].tobytes()
        for kind in self.kinds:
            for text in kind.describe(change):
                hand = self.attempt(text, here)
                if hand is not None and hand.board() == wanted:
                    return text
        return None

    # ---- copies

    def close(self) -> None:
        """Free the game now."""
        self._session.close()

    def __enter__(self) -> Dialogue:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def undo(self) -> bool:
        """Take back the last change of the board, whether or not UNDO can be said."""
        return self._session.undo()


def last_block(text: str) -> str:
    """The last block between lines of ``` in a message, or the whole of it where there is none."""
    blocks = text.split("```")
    return re.sub(r"^[a-z]*\n", "", blocks[-2 if len(blocks) % 2 else -1]) if len(blocks) > 2 else text


def _about(move: Move, why: Refused) -> str:
    told = str(why)
    return told if told.startswith(move.text.split("=")[0].split("*")[0]) else f"{move.text}: {told}"


def _group(session: Session, keys: list[int], first: list[int] | None = None) -> int:
    """How many keys it takes to the next change of the board, after some that come first."""
    copy = session.clone()
    for key in first or ():
        copy.act(key)
    moves = copy.moves
    for at, key in enumerate(keys):
        copy.act(key)
        if copy.moves != moves:
            return at + 1
    return len(keys) if first is None else 0


def _until_change(copy: Session, expert: ExpertPolicy) -> list[int]:
    keys: list[int] = []
    moves = copy.moves
    while copy.moves == moves and not copy.ended and len(keys) < 1000:
        keys.append(expert(copy))
        copy.act(keys[-1])
    return keys
