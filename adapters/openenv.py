"""OpenEnv: games in words behind a web server with many sessions. ``puzzleport serve`` starts it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import puzzleport as pp
from puzzleport.language import Dialogue
from puzzleport.language.dialogue import MAX_MESSAGE
from puzzleport.limits import DEFAULT_TIMEOUT

try:
    import uvicorn
    from fastapi import HTTPException
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from openenv.core.env_server.types import ConcurrencyConfig
    from pydantic import Field
except ImportError as error:
    raise ImportError("the OpenEnv adapter needs an extra: pip install 'puzzleport[openenv]'") from error


MAX_BODY = 4 * MAX_MESSAGE
"""The longest message that the server reads, in bytes: a character takes up to four."""


class Message(Action):
    """What the player says."""

    message: str = Field(max_length=MAX_MESSAGE)


class Told(Observation):
    """What the player is told. The reward is what the message added to the score."""

    text: str = ""
    """The prompt at first, then the reply to each message."""
    moves: list[str] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    score: float = 0.0
    solved: bool = False


class Game(State):
    """Which game is played."""

    puzzle: str = ""
    params: str = ""
    turns: int = 0


class PuzzleEnvironment(Environment[Message, Told, Game]):
    """One game after the other.

    Args:
        puzzle: what is played unless a reset says otherwise.
        params: its parameters; ``None`` for the default.
        max_turns: how many messages a game takes; 0 for no limit.
        timeout: seconds that generating a puzzle may take.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, puzzle: str = "solo", params: str | None = None, *, max_turns: int = 0, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        super().__init__()
        self.puzzle, self.params, self.max_turns, self.timeout = puzzle, params, max_turns, timeout
        self._dialogue: Dialogue | None = None
        self._state = Game()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        puzzle: str | None = None,
        params: str | None = None,
        **kwargs: Any,  # noqa: ANN401 (what a client sends)
    ) -> Told:
        """Start a game: of this seed, or of any; of another puzzle if a client asks for it."""
        self.close()
        which = puzzle or self.puzzle
        params = params or (self.params if which == self.puzzle else None)
        try:
            dialogue = Dialogue(which, params, seed, max_turns=self.max_turns, timeout=self.timeout)
        except (pp.PuzzleError, ValueError) as error:
            return Told(done=True, reward=0.0, text=str(error), problems=[str(error)])
        self._dialogue = dialogue
        self._state = Game(episode_id=episode_id or str(uuid4()), puzzle=which, params=dialogue.session.params)
        return Told(text=dialogue.prompt(), reward=0.0)

    def step(self, action: Message, timeout_s: float | None = None, **kwargs: Any) -> Told:  # noqa: ANN401
        """Say something."""
        dialogue = self._dialogue
        if dialogue is None:
            return Told(done=True, reward=0.0, text="reset starts a game", problems=["reset starts a game"])
        reply = dialogue.say(action.message)
        self._state.step_count += 1
        self._state.turns = dialogue.turns
        return Told(
            done=reply.done,
            reward=dialogue.gained,
            text=str(reply),
            moves=list(reply.moves),
            problems=list(reply.problems),
            score=dialogue.score,
            solved=dialogue.solved,
        )

    @property
    def state(self) -> Game:
        """Which game is played."""
        return self._state

    def close(self) -> None:
        """Free the game."""
        if self._dialogue is not None:
            self._dialogue.close()
            self._dialogue = None


def application(
    puzzle: str = "solo",
    params: str | None = None,
    *,
    max_turns: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
    max_sessions: int = 1000,
    session_timeout: float = 600.0,
) -> Any:  # noqa: ANN401 (a FastAPI application)
    """The web application: ``max_sessions`` games at once, each closed after ``session_timeout`` idle seconds."""
    pp.spec(puzzle)
    app = create_app(
        lambda: PuzzleEnvironment(puzzle, params, max_turns=max_turns, timeout=timeout),
        Message,
        Told,
        env_name="puzzleport",
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=max_sessions, session_timeout=session_timeout),
        state_cls=Game,
    )
    app.add_middleware(BoundedBody)
    return app


class BoundedBody:
    """Refuses requests whose body is too long, before the framework has read all of it."""

    def __init__(self, app: Any) -> None:  # noqa: ANN401 (an ASGI application)
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 (ASGI's)
        """Pass a request on, up to the bound."""
        if scope["type"] != "http":  # uvicorn bounds the messages of websockets
            await self._app(scope, receive, send)
            return
        size = 0

        async def bounded() -> Any:  # noqa: ANN401
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY:
                raise HTTPException(413, f"a body has at most {MAX_BODY} bytes")
            return message

        await self._app(scope, bounded, send)


def serve(
    puzzle: str = "solo",
    params: str | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    **options: Any,  # noqa: ANN401 (those of application)
) -> None:
    """Serve until the process is ended; options are those of ``application``."""
    uvicorn.run(application(puzzle, params, **options), host=host, port=port, log_level="warning", ws_max_size=MAX_BODY)
