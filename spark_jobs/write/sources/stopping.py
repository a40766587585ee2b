"""The end of a run that has none of its own: SIGTERM or Ctrl-C is noted, and obeyed between two batches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

_SIGNALS = {"TERM": signal.SIGTERM, "INT": signal.SIGINT}


class Stopping:
    """Whether a run was asked to end. Any thread may ask, and look."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self.by = ""

    def __bool__(self) -> bool:
        return self._asked.is_set()

    def ask(self, by: str) -> None:
        """
        :param by: who asks, for the reader of the log.
        """
        self.by = self.by or by
        self._asked.set()

    def wait(self, seconds: float) -> None:
        """Until somebody asks, or so long."""
        self._asked.wait(seconds)

    @contextmanager
    def listening(self, spark: SparkSession) -> Iterator[None]:
        """Take SIGTERM and SIGINT as a wish, here and in the JVM; a second one that comes here is obeyed at once.

        spark-submit's process is the JVM: a signal to it would end Spark under the batch in flight, and one to the
        process group (as Ctrl-C is) reaches both.
        """
        with _in_jvm(spark, self.ask):
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            before = {number: signal.getsignal(number) for number in _SIGNALS.values()}

            seen: list[int] = []  # the JVM may have passed on the same signal already

            def note(number: int, frame: FrameType | None) -> None:
                seen.append(number)
                if len(seen) > 1 and callable(again := before[signal.Signals(number)]):
                    again(number, frame)
                self.ask(signal.Signals(number).name)

            for number in before:
                signal.signal(number, note)
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)


class _JvmHandler:
    """Java's ``sun.misc.SignalHandler`` that tells this process."""

    def __init__(self, ask: Callable[[str], None]) -> None:
        self._ask = ask

    def handle(self, sent: Any) -> None:
        self._ask(f"SIG{sent.getName()}")

    class Java:
        implements = ("sun.misc.SignalHandler",)


@contextmanager
def _in_jvm(spark: SparkSession, ask: Callable[[str], None]) -> Iterator[None]:
    gateway: Any = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    java: Any = gateway.jvm.sun.misc.Signal
    handler = _JvmHandler(ask)
    before = {name: java.handle(java(name), handler) for name in _SIGNALS}
    try:
        yield
    finally:
        for name, old in before.items():
            with suppress(Py4JError, OSError):  # a JVM that is gone has no handlers
                java.handle(java(name), old)
