"""Pack recorded fixtures into tests/data, one compressed archive each.

Usage: python scripts/pack_fixtures.py SOURCE DESTINATION

SOURCE holds a directory per fixture; whatever lies beside them is left out. The archives depend on
the files' names and bytes alone (sorted, no times, no owners), so packing again changes nothing.
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
from pathlib import Path


def pack(fixture: Path) -> bytes:
    """Pack a fixture's directory, its empty files and its preallocated index files included."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(fixture.rglob("*")):
            info = tarfile.TarInfo(path.relative_to(fixture.parent).as_posix())
            if path.is_dir():
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            else:
                info.size, info.mode = path.stat().st_size, 0o644
                with path.open("rb") as file:
                    archive.addfile(info, file)
    # A preallocated index file of many zeros costs next to nothing this way.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    return lzma.compress(buffer.getvalue(), check=lzma.CHECK_CRC64, filters=filters)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, destination = Path(sys.argv[1]), Path(sys.argv[2])
    fixtures = sorted(path for path in source.iterdir() if path.is_dir())
    if not fixtures:
        print(f"{source}: holds no directories", file=sys.stderr)
        return 1
    destination.mkdir(parents=True, exist_ok=True)
    wanted = {f"{fixture.name}.tar.xz" for fixture in fixtures}
    for stale in destination.glob("*.tar.xz"):
        if stale.name not in wanted:
            stale.unlink()
    total_bytes = 0
    for fixture in fixtures:
        packed = pack(fixture)
        (destination / f"{fixture.name}.tar.xz").write_bytes(packed)
        total_bytes += len(packed)
        print(f"{len(packed):>9} {fixture.name}")
    print(f"{total_bytes:>9} total")
    return 0


if __name__ == "__main__":
    sys.exit(main())
