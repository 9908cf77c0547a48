"""The text of the status line, the most important pieces first. A text too long is cut at its end.

This module knows nothing of Textual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from metashell.commands.shared.columns import display_width
from metashell.commands.shared.status import (
    SECRETS_SHOWN,
    SourceStatus,
    epoch_texts,
    lag_texts,
    leader_text,
    time_texts,
)
from metashell.dataclass import dataclass
from metashell.fs.escape import diagnostic, escape

Kind = Literal["place", "fact", "note", "problem", "work"]

GAP: Final = "  "
ELLIPSIS: Final = "…"
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_OF_A_MOMENT: Final = "at offset "
"""How a source's note begins that says what stands here anyway."""
_LEAST_TITLE: Final = 12
_WIDEST_NAME: Final = 24


@dataclass(frozen=True, slots=True)
class StatusPiece:
    """A few words of the line."""

    text: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LineState:
    """All that the line tells of."""

    status: SourceStatus | None = None
    """Where the view state stands; None while that is computed."""
    is_newest: bool = True
    """Whether it is the end of the log."""
    newest_key: str = "E"
    """The key that goes to the end of the log."""
    n_clusters: int | None = None
    """A fleet's number of clusters, set while none of them is current."""
    cluster: str = ""
    """The name of the current cluster of a fleet."""
    is_paused: bool = False
    n_newer_states: int = 0
    """States that came while it was paused."""
    n_newer_records: int = 0
    """Records up to the newest of them."""
    problem: str | None = None
    """Why a directory can't be read again."""
    show_secrets: bool = False


def pieces(standing: LineState) -> list[StatusPiece]:
    """The pieces of the status line, the most important first."""
    status = standing.status or SourceStatus()
    problems = [text for text in (status.problem, standing.problem) if text]
    lag = [(text, "fact") for text in lag_texts(status)] if status.is_live else []
    # How long nothing came is short, and says how bad it is; why may be a long sentence.
    said = [*lag, *((text, "problem") for text in problems)] if problems else []
    if standing.is_paused:
        said.append((_paused(standing), "note"))
    if standing.cluster:
        # Names of copies differ at their end.
        said.append((cut_front(standing.cluster, _WIDEST_NAME), "place"))
    said += [(text, "place") for text in _place(standing, status)]
    if not standing.is_newest:
        said.append((f"{standing.newest_key}: newest", "note"))
    if standing.status is None and standing.n_clusters is None:
        said.append((ELLIPSIS, "fact"))
    if status.offset is not None:
        said.append((f"offset {status.offset}", "fact"))
    if status.is_live:
        said.append((leader_text(status), "fact" if status.leader is not None else "problem"))
        said += [] if problems else lag
    said += [(text, "note") for text in status.notes if not text.startswith(_OF_A_MOMENT)]
    if standing.show_secrets:
        said.append((SECRETS_SHOWN, "note"))
    said += [(text, "fact") for text in (*time_texts(status), *epoch_texts(status))]
    if status.metadata_version:
        said.append((status.metadata_version, "fact"))
    return [StatusPiece(diagnostic(text), kind) for text, kind in said]  # type: ignore[arg-type]


def _paused(standing: LineState) -> str:
    if not standing.n_newer_states:
        return "paused"
    states = _counted(standing.n_newer_states, "newer state")
    if standing.n_newer_records <= 0:
        return f"paused: {states}"
    return f"paused: {states}, {_counted(standing.n_newer_records, 'record')}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _place(standing: LineState, status: SourceStatus) -> Sequence[str]:
    if standing.n_clusters is not None:
        return [f"fleet of {_counted(standing.n_clusters, 'directory')}".replace("ys", "ies")]
    if not standing.is_newest:
        return ["earlier state"]
    if standing.is_paused:
        return []
    return ["live" if status.is_live else "end of the log"]


def work_text(
    title: str,
    progress: tuple[int, int] | None,
    *,
    n_more: int = 0,
    frame: int = 0,
    stop: str = "esc cancels",
    width: int = 80,
) -> str:
    """The text about the running jobs: the newest job, its progress, and the key that stops it.

    Args:
        title: The newest job's title.
        progress: (done, in all); None if the job does not tell.
        n_more: The number of other jobs.
        frame: Counts up, and moves the spinner.
        stop: The key that stops the job, and its action.
        width: The width of the line in columns.
    """
    rest = ""
    if progress is not None and progress[1] > 0:
        rest = f" {min(100 * progress[0] // progress[1], 100)}%"
    if n_more:
        rest += f" +{n_more}"
    tail = f"{rest}{GAP}{stop}"
    room = width - 2 - len(tail)
    if room < _LEAST_TITLE:
        tail, room = rest, width - 2 - len(rest)
    return f"{_FRAMES[frame % len(_FRAMES)]} {cut(escape(title), room)}{tail}"


def cut(text: str, width: int) -> str:
    """A text of at most so many columns, with … where it is cut."""
    if display_width(text) <= width:
        return text
    while text and display_width(text) >= width:
        text = text[: min(len(text) - 1, max(width, 1))]
    return f"{text}{ELLIPSIS}" if width > 0 else ""


def cut_front(text: str, width: int) -> str:
    """The end of a text, of at most so many columns, with … where it is cut."""
    return cut(text[::-1], width)[::-1]


def fit(said: Sequence[StatusPiece], width: int) -> list[StatusPiece]:
    """The pieces that fit into a number of columns, gaps included; the last one may be cut.

    A problem may name a long path: its end is shown, and a third of the line is left for the rest.
    """
    kept: list[StatusPiece] = []
    left = width
    for whole in said:
        piece = whole
        if piece.kind == "problem":
            piece = StatusPiece(
                cut_front(piece.text, max(2 * width // 3, _LEAST_TITLE)), piece.kind
            )
        gap = len(GAP) if kept else 0
        taken = display_width(piece.text) + gap
        if taken > left:
            if left - gap > 1:
                kept.append(StatusPiece(cut(piece.text, left - gap), piece.kind))
            elif kept and left:
                last = kept.pop()
                kept.append(StatusPiece(f"{last.text}{ELLIPSIS}", last.kind))
            break
        kept.append(piece)
        left -= taken
    return kept
