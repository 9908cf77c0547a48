"""The focus of a view that comes into sight, or that gets it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.tui.view import View

if TYPE_CHECKING:
    from collections.abc import Collection

    from textual.widget import Widget


def take_focus(view: View) -> None:
    """Focus a view's content where the focus is nowhere, or in a view that is not seen."""
    explorer = view.explorer
    if explorer.view is not view or explorer.screen is not view.screen:
        return
    focused = explorer.focused
    if focused is None or any(isinstance(a, View) and a is not view for a in focused.ancestors):
        view.focus_content()


def leave_timeline(view: View) -> None:
    """Focus a view's content where the timeline has the focus: another view was asked for."""
    timeline = view.explorer.timeline
    if timeline is not None and view.explorer.focused is timeline:
        view.focus_content()


def give_back(content: View, before: Widget | None) -> None:
    """Focus the part of a content that had the focus before, else where its user goes on."""
    around: Collection[object] = () if before is None else before.ancestors
    if before is not None and before.focusable and content in around:
        before.focus()
    else:
        content.focus_content()
