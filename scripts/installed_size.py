#!/usr/bin/env python3
"""Print the packages that metashell installs, with their sizes on disk, the largest first.

Give names of extras to count their packages too. docs/design/dependencies.md has the result.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(extras: Iterable[str] = ()) -> list[Distribution]:
    """The installed packages that metashell needs with some extras, without itself, by name."""
    found: dict[str, Distribution] = {}
    pending = [("metashell", frozenset(extras))]
    seen = set()
    while pending:
        name, wanted = pending.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        package = distribution(name)
        if name != "metashell":
            found[name] = package
        for text in package.requires or ():
            required = Requirement(text)
            marker = required.marker
            environments = [{"extra": extra} for extra in wanted | {""}]
            if marker is None or any(map(marker.evaluate, environments)):
                pending.append((canonicalize_name(required.name), frozenset(required.extras)))
    return [found[name] for name in sorted(found)]


def size(package: Distribution) -> int:
    """Bytes on disk of a package's files, without bytecode."""
    paths = [package.locate_file(file) for file in package.files or () if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())  # type: ignore[attr-defined]


def main() -> int:
    """Print the table; returns the exit status."""
    try:
        packages = needed(sys.argv[1:])
    except PackageNotFoundError as error:
        print(f"{error.name}: not installed", file=sys.stderr)
        return 1
    sizes = sorted(((size(package), package) for package in packages), key=lambda pair: -pair[0])
    for n_bytes, package in sizes:
        print(f"{n_bytes / 1e6:7.1f} MB  {package.name} {package.version}")
    total = sum(n_bytes for n_bytes, _ in sizes) / 1e6
    print(f"{total:7.1f} MB  in all, {sysconfig.get_platform()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
