"""Fills in what the command line leaves open: variables first, then the configuration file.

Owns the order of precedence, the clusters that have a name, and the origin that an error names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from metashell import commands
from metashell.cli.arguments import BY_NAME, DEMO, TUI, Arguments
from metashell.cli.settings import (
    NO_CONFIG,
    SOURCE_FLAGS,
    OptionSetting,
    read_variables,
    wants_no_config,
)
from metashell.commands.framework.aliases import clusters_text
from metashell.errors import MetashellError, SourceError, UsageError

if TYPE_CHECKING:
    from metashell.cli.config_file import ConfigFile, NamedCluster

_CHOOSING: Final = ("--directory", "--snapshot", "--config", "--bootstrap-controllers")
_WHERE_IT_ENDS: Final = frozenset({"--at", "--record", "--committed-only"})
_OF_SPARK: Final = frozenset({"--master", "--spark-conf", "--spark-threshold"})

Layer = Mapping[str, OptionSetting]


class Defaults:
    """Variables and the configuration file, as far as they count.

    Args:
        environ: The environment.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._is_off = False

    @cached_property
    def config(self) -> ConfigFile:
        """The configuration file.

        Raises:
            UsageError: It can't be read, or something in it is wrong.
        """
        # Not at the top: `--help` reads no file.
        from metashell.cli.config_file import ConfigFile, read_config_file

        if self._is_off or wants_no_config(self._environ):
            return ConfigFile()
        return read_config_file(self._environ)

    def leave_out(self) -> None:
        """Let neither the file nor variables count."""
        self._is_off = True

    def is_cluster(self, word: str) -> bool:
        """Whether a word chooses a cluster. The name of a command is no cluster.

        Raises:
            UsageError: The configuration file is wrong, see `config`.
        """
        if commands.is_command(word) or word == TUI or word in self.config.habits.aliases:
            return False
        return word in self.config.clusters

    def fill_in(self, arguments: Arguments) -> Arguments:
        """The arguments with all that they leave open.

        Raises:
            UsageError: A variable or the file is wrong, no cluster has the name, or two sources are
                chosen in one place.
        """
        if arguments.has(NO_CONFIG):
            self.leave_out()
        _refuse_two(arguments)
        off = self._is_off or wants_no_config(self._environ)
        variables: Layer = {} if off else read_variables(self._environ)
        filled = _Filling(arguments)
        for layer in (variables, self.config.options):
            filled.take_source(layer)
        cluster = self._cluster(filled.values.get("--cluster"))
        if cluster is not None:
            filled.take(cluster.settings, SOURCE_FLAGS)
        for layer in (variables, {} if cluster is None else cluster.settings, self.config.options):
            filled.take_rest(layer)
        return arguments._replace(values=filled.values, origins=filled.origins)

    def _cluster(self, names: Sequence[str] | None) -> NamedCluster | None:
        if names is None:
            return None
        found = self.config.clusters.get(names[0])
        if found is not None:
            return found
        from metashell.spelling import near

        close = near(names[0], self.config.clusters)
        if close is not None:
            hint = f"did you mean `{close}`?"
        elif self.config.clusters:
            hint = clusters_text(self.config.clusters)
        elif self.config.path:
            hint = f"name a cluster with [clusters.NAME] in {self.config.path}"
        else:
            hint = "the configuration file names clusters, and it is not read"
        raise UsageError(f"unknown cluster `{names[0]}`", hint=hint)


class _Filling:
    """Options, to which those of one layer after the other are added."""

    def __init__(self, arguments: Arguments) -> None:
        self.values = dict(arguments.values)
        self.origins: dict[str, str] = {}
        self._off: set[str] = set()
        self._has_source = arguments.demo or not self.values.keys().isdisjoint(SOURCE_FLAGS)

    def take(self, layer: Layer, longs: Sequence[str]) -> None:
        """Add those of the options that are neither given nor turned off by now."""
        for long in longs:
            setting = layer.get(long)
            if setting is None or long in self.values or long in self._off:
                continue
            if setting.values is None:
                self._off.add(long)
            else:
                self.values[long] = setting.values
                self.origins[long] = setting.origin

    def take_source(self, layer: Layer) -> None:
        """Add what chooses the source, unless a source is chosen by now.

        All of it comes from one place, so that no credentials go to another cluster's address.
        """
        if self._has_source:
            return
        given = [long for long in SOURCE_FLAGS if long in layer]
        others = [long for long in given if long in _CHOOSING]
        if "--cluster" in given and others:
            names = f"{layer['--cluster'].origin} and {layer[others[0]].origin}"
            raise UsageError(f"{names} each choose a source", hint="set one of them")
        self.take(layer, given)
        self._has_source = any(layer[long].values is not None for long in given)

    def take_rest(self, layer: Layer) -> None:
        """Add the other options, but for those that contradict what ranks higher."""
        refused = set(SOURCE_FLAGS)
        if not self.values.keys().isdisjoint(_WHERE_IT_ENDS):
            refused |= _WHERE_IT_ENDS
        if self.values.get("--engine") == ("local",):
            refused |= _OF_SPARK
        engine = layer.get("--engine")
        is_local = engine is not None and engine.values == ("local",)
        if is_local and not self.values.keys().isdisjoint(_OF_SPARK):
            refused.add("--engine")
        self.take(layer, [long for long in layer if long not in refused])


def _refuse_two(arguments: Arguments) -> None:
    """Refuse a cluster's name beside another source on the command line."""
    names = arguments.values.get("--cluster")
    if names is None:
        return
    given = [BY_NAME[long].title for long in _CHOOSING if arguments.has(long)]
    given += [DEMO] * arguments.demo
    if given:
        raise UsageError(
            f"`{given[0]}` and the cluster `{names[0]}` each choose a source",
            hint="leave one out, or put `--` before a command with the name of a cluster",
        )


def explain(error: MetashellError, arguments: Arguments) -> None:
    """Let an error say where an option that it is about came from, if not the command line."""
    hints = [] if error.hint is None else [error.hint]
    if isinstance(error, SourceError):
        about = [long for long in _CHOOSING if long in arguments.origins][:1]
    elif isinstance(error, UsageError):
        about = [long for long in arguments.origins if _names(error.message, long)]
    else:
        return
    hints += [f"`{long}` comes from {arguments.origins[long]}" for long in about]
    error.hint = "; ".join(hints) or None


def _names(message: str, long: str) -> bool:
    option = BY_NAME[long]
    return any(f"`{name}" in message for name in (option.long, option.short, option.title) if name)


def without_source(arguments: Arguments) -> Arguments:
    """The arguments without a source that they did not choose themselves."""
    values = {
        long: given
        for long, given in arguments.values.items()
        if long not in SOURCE_FLAGS or long not in arguments.origins
    }
    return arguments._replace(values=values)
