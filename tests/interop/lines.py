"""A process that takes one JSON request a line on stdin and answers on a descriptor of its own: both its ends.

A request is ``{"command": NAME, "args": {...}}``, its answer ``{"ok": true, "result": ..., "seconds": S}`` or
``{"ok": false, "error": "one line", "trace": "..."}``. Stdout and stderr are free for Spark to talk.
Standard library only: the serving end runs in environments of other versions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class ServerError(Exception):
    """The serving end raised, or is gone; ``trace`` has all that is known."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class LineClient:
    """The asking end: starts the process, which leads a process group of its own.

    :param command: the serving end's command; ``--answers N`` is added.
    :param variables: its whole environment.
    :param log: takes its stdout and stderr.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], log: Path, directory: Path) -> None:
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        reader, writer = os.pipe()
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                [*command, "--answers", str(writer)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=[writer],
                cwd=directory,
                env=dict(variables),
                start_new_session=True,
                text=True,
            )
        os.close(writer)
        self._answers = os.fdopen(reader)
        self.seconds = 0.0
        self.receive()

    def ask(self, command: str, **args: Any) -> Any:
        """Send a command, wait for its result; ``seconds`` is then what it took over there.

        :raises ServerError: it raised.
        """
        self.tell(command, **args)
        return self.receive()

    def tell(self, command: str, **args: Any) -> None:
        """Send a command without waiting, for whoever wants to kill it under way."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command, "args": args}) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Wait for the answer to the oldest command that has none."""
        line = self._answers.readline()
        if not line:
            tail = self._log.read_text(errors="replace").splitlines()[-5:]
            raise ServerError(f"the process ended: see {self._log}", "\n".join(tail))
        answer = json.loads(line)
        if not answer["ok"]:
            raise ServerError(answer["error"], answer["trace"])
        self.seconds = answer["seconds"]
        return answer["result"]

    def kill(self) -> None:
        """SIGKILL the whole process group, as a lost machine would."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._answers.close()

    def stop(self) -> None:
        """Let it end by itself; kill it where it does not within a minute."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
        self._answers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(commands: object, descriptor: int) -> None:
    """Answer until stdin ends; each public method of ``commands`` is a command, its keyword arguments are the args."""
    with os.fdopen(descriptor, "w", buffering=1) as answers:
        answers.write(json.dumps({"ok": True, "result": "ready", "seconds": 0.0}) + "\n")
        for line in sys.stdin:
            answers.write(json.dumps(_answer(commands, json.loads(line)), default=str) + "\n")


def _answer(commands: object, request: Mapping[str, Any]) -> dict[str, Any]:
    begun = time.monotonic()
    try:
        name = str(request["command"])
        command: Callable[..., Any] | None = None if name.startswith("_") else getattr(commands, name, None)
        if command is None:
            raise ValueError(f"no command {name!r}")
        result = command(**request.get("args", {}))
        return {"ok": True, "result": result, "seconds": time.monotonic() - begun}
    except Exception as error:  # whatever the JVM throws is an answer, not the server's end
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        causes = [line for line in lines[2:] if line.startswith("Caused by:")]
        message = " ".join([*lines[:2], *causes[-1:]])[:700] or type(error).__name__
        return {"ok": False, "error": message, "trace": traceback.format_exc()}
