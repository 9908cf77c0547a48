"""Programs that start Spark, run as processes of their own; all that they start has a mark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from support.programs import ended
from support.waiting import LIMIT_S, wait_until

MARK = "METASHELL_TEST_RUN"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass(frozen=True)
class Marked:
    """Runs programs and knows which of their processes are there.

    Args:
        mark: What tells these processes from others.
        cwd: Where they run, and where their temporary files and cache are.
    """

    mark: str
    cwd: Path

    @property
    def cache(self) -> Path:
        """The program's cache."""
        return self.cwd / "cache"

    @property
    def environment(self) -> dict[str, str]:
        """The surroundings of each program."""
        return {
            **os.environ,
            MARK: self.mark,
            "METASHELL_CACHE_DIR": str(self.cache),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "TMPDIR": str(self.cwd),
        }

    def start(
        self, arguments: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start Python with arguments, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            env={**self.environment, **(env or {})},
            start_new_session=True,
        )

    def run(
        self, arguments: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Run Python to its end: its status, and what it wrote."""
        with ended(self.start(arguments, env=env)) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err

    def metashell(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Run metashell."""
        return self.run(["-m", "metashell", *arguments], env=env)

    def program(self, text: str, *arguments: str) -> tuple[int, str, str]:
        """Run a program's text."""
        file = self.cwd / "program.py"
        file.write_text(text, encoding="utf-8")
        return self.run(["-W", "error", str(file), *arguments])

    @contextmanager
    def cluster(self, *, workers: int) -> Iterator[str]:
        """A master of Spark's own and its workers, each with one core; gives the master's URL."""
        with ExitStack() as stack:
            own = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
            master = self._daemon(
                stack, "master", [MASTER, *own], r"Starting Spark master at (\S+)"
            )
            for number in range(workers):
                more = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.cwd / "work")]
                registered = f"Successfully registered with master ({re.escape(master)})"
                self._daemon(stack, f"worker-{number}", [WORKER, *own, *more, master], registered)
            yield master

    def _daemon(self, stack: ExitStack, name: str, arguments: list[str], told: str) -> str:
        """Start a program of Spark; returns the text that it tells when it is up."""
        import pyspark

        home, log = Path(pyspark.__file__).parent, self.cwd / f"{name}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env={**self.environment, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
                start_new_session=True,
            )
        stack.enter_context(ended(process))
        found: list[str] = []

        def is_up() -> bool:
            assert process.poll() is None, log.read_text()
            found.extend(re.findall(told, log.read_text()))
            return bool(found)

        wait_until(is_up, log.read_text)
        return found[0]

    def running(self) -> dict[int, str]:
        """Command lines of the processes that are there, by their ids."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (place / "environ").read_bytes():
                    command = (place / "cmdline").read_text().replace("\0", " ")
                    if command:
                        found[int(place.name)] = command
        return found
