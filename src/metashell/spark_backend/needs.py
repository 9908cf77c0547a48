"""The requirements of a Spark session on this machine, checked without importing PySpark.

Owns the errors that say what to install.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from metashell.errors import SourceError

JAVA_MIN: Final = 17
INSTALL_LINE: Final = "pip install 'metashell[spark]'"
PYSPARK_MIN: Final = (4, 2)
"""The extra `spark` has it too; docs/design/dependencies.md says why."""

_JAVA_HINT: Final = (
    f"install Java {JAVA_MIN} or newer (such as the package openjdk-17-jre-headless), "
    "or let JAVA_HOME name the directory of one"
)
_JAVA_TIMEOUT_S: Final = 30.0
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')


def check(master: str) -> None:
    """Check that a session with a master can be made here.

    Cost: starts ``java`` once, but for Spark Connect, which needs none.

    Raises:
        SourceError: PySpark or Java is missing or too old; the hint says what to install.
    """
    check_pyspark(connect=is_connect(master))
    if not is_connect(master):
        check_java(os.environ)


def missing_requirement(master: str) -> SourceError | None:
    """The requirement that is missing here, None where none is."""
    if "pyspark.worker" in sys.modules:
        return SourceError("Spark can't be used: this is one of its tasks")
    try:
        check(master)
    except SourceError as error:
        return error
    return None


def is_connect(master: str) -> bool:
    """Whether a master is a Spark Connect server."""
    return master.startswith("sc://")


def check_pyspark(*, connect: bool) -> None:
    """Check that PySpark and what it needs is installed.

    Raises:
        SourceError: It is not, or is too old.
    """
    needed = ("pyspark", *(("pandas", "grpc", "grpc_status", "google.rpc") if connect else ()))
    for name in needed:
        if not _is_installed(name):
            what = "PySpark" if name == "pyspark" else f"{name.replace('google.rpc', 'googleapis')}"
            raise SourceError(
                f"Spark can't be used: {what} is not installed", hint=f"`{INSTALL_LINE}`"
            )
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return  # On the path as a directory, such as that of a Spark distribution.
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers < PYSPARK_MIN:
        wanted = ".".join(map(str, PYSPARK_MIN))
        raise SourceError(
            f"Spark can't be used: PySpark {wanted} is needed, and {found} is installed",
            hint=f"`{INSTALL_LINE}`",
        )


def check_java(environment: Mapping[str, str]) -> None:
    """Check that Spark's scripts will find a Java that is new enough.

    Raises:
        SourceError: There is none, or it is too old.
    """
    java = _java(environment)
    told = _version_text(java)
    version = _VERSION.search(told)
    if version is None:
        raise SourceError(
            f"Spark can't be used: {java} does not tell its version of Java",
            hint=_JAVA_HINT,
        )
    if int(version[1]) < JAVA_MIN:
        raise SourceError(
            f"Spark can't be used: it needs Java {JAVA_MIN} or newer, and {java} is Java "
            f"{version[1]}",
            hint=_JAVA_HINT,
        )


def _java(environment: Mapping[str, str]) -> str:
    """The ``java`` that Spark's scripts take: of JAVA_HOME, else of the PATH."""
    home = environment.get("JAVA_HOME")
    if home:
        java = os.path.join(home, "bin", "java")
        if not os.access(java, os.X_OK):
            raise SourceError(
                f"Spark can't be used: JAVA_HOME is {home}, which holds no bin/java",
                hint=_JAVA_HINT,
            )
        return java
    found = shutil.which("java", path=environment.get("PATH", os.defpath))
    if found is None:
        raise SourceError("Spark can't be used: there is no Java here", hint=_JAVA_HINT)
    return found


def _version_text(java: str) -> str:
    """The output of ``java -version``."""
    try:
        ran = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_JAVA_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            f"Spark can't be used: {java} does not answer", hint=_JAVA_HINT
        ) from error
    except OSError as error:
        raise SourceError(
            f"Spark can't be used: {java} does not run: {error.strerror}", hint=_JAVA_HINT
        ) from error
    text = ran.stdout.decode("utf-8", "replace")
    if ran.returncode:
        # Such as macOS's own `java`, which only says where to get one.
        raise SourceError("Spark can't be used: there is no Java here", hint=_JAVA_HINT)
    return text


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
