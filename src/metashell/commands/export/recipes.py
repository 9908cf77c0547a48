"""Scripts and resources that make the same again: what of an image, written how and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.answers.recipes import KAFKA_CLI, RECIPES, STRIMZI
from metashell.answers.recipes.contents import RecipeParts, RecipeReport, everything
from metashell.answers.recipes.kafka_cli import kafka_cli
from metashell.answers.recipes.strimzi import Document, strimzi
from metashell.commands.framework.targets import matches, stop_if_cancelled
from metashell.commands.rows.yaml_text import yaml_text
from metashell.commands.shared.topic_arguments import topics_like
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.sources.fleet.rows import cluster_id_of

if TYPE_CHECKING:
    from metashell.commands.export.destination import ExportPlace
    from metashell.commands.framework.command import Context
    from metashell.commands.framework.options import Parsed
    from metashell.sources.source import Source

_LABEL: Final = re.compile("[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_MOST_TOLD: Final = 10


def export_recipe(context: Context, parsed: Parsed, place: ExportPlace) -> int:
    """Write a script or resources.

    Returns:
        1 where something could not be expressed.
    """
    form = parsed.values["--as"]
    if form not in RECIPES:
        raise UsageError(f"--as {form}: not one of {', '.join(RECIPES)}")
    # A plain text, which words of a command line are not.
    cluster = str(parsed.values.get("--cluster-name", "my-cluster"))
    if not _LABEL.fullmatch(cluster):
        raise UsageError(f"--cluster-name {cluster}: not the name of a Kubernetes resource")
    if form == STRIMZI and "--with-assignment" in parsed.switches:
        raise UsageError("--with-assignment: a KafkaTopic has no assignment")
    choice, report = _choice(context, parsed, place.source), RecipeReport()
    pieces = _pieces(place.source, choice, report, parsed, cluster)
    to = parsed.values.get("--to")
    with place.open(to, executable=form == KAFKA_CLI, has_secrets=False) as sink:
        for piece in pieces:
            stop_if_cancelled(context)
            sink.text(piece)
    return _tell(context, report)


def _pieces(
    source: Source, choice: RecipeParts, report: RecipeReport, parsed: Parsed, cluster: str
) -> Iterator[str]:
    origin = _origin(source)
    if parsed.values["--as"] == KAFKA_CLI:
        assigned = "--with-assignment" in parsed.switches
        return kafka_cli(source.image, choice, report, origin=origin, with_assignment=assigned)
    documents = strimzi(source.image, choice, report, origin=origin, cluster=cluster)
    return map(_document_text, documents)


def _document_text(document: Document) -> str:
    comments = "".join(f"# {escape(comment)}\n" for comment in document.comments)
    return comments if document.body is None else f"---\n{comments}{yaml_text(document.body)}"


def _origin(source: Source) -> str:
    cluster = cluster_id_of(source)
    offset = source.status().offset
    which = "a cluster" if cluster is None else f"cluster {cluster}"
    return which if offset is None else f"{which} at offset {offset}"


def _tell(context: Context, report: RecipeReport) -> int:
    for sentence in report.left_out[:_MOST_TOLD]:
        context.warn(escape(f"export: left out: {sentence}"))
    n_more = len(report.left_out) - _MOST_TOLD
    if n_more > 0:
        context.warn(f"export: left out {n_more:,} more: see the comments in the output")
    if report.n_secrets:
        context.warn(
            f"export: {report.n_secrets:,} secrets are not written: comments mark their places"
        )
    return ExitCode.FAILED if report.left_out else ExitCode.OK


# The parts of an image.


def _choice(context: Context, parsed: Parsed, source: Source) -> RecipeParts:
    image = source.image
    whole = everything(image, with_internal="--internal" in parsed.switches)
    globs = parsed.values.get("--topics")
    if globs is not None and parsed.arguments:
        raise UsageError("--topics and paths: one of the two")
    if globs is not None:
        chosen = topics_like(image, globs.split(","))
        if not chosen.any():
            raise UsageError(f"--topics {globs}: no topic has such a name")
        if not (chosen & whole.topics).any():
            raise UsageError(f"--topics {globs}: Kafka's own topics", hint="--internal takes them")
        return RecipeParts(chosen & whole.topics)
    if not parsed.arguments:
        return whole
    return _of_paths(context, parsed, source, whole)


def _of_paths(context: Context, parsed: Parsed, source: Source, whole: RecipeParts) -> RecipeParts:
    topics = np.zeros_like(whole.topics)
    resources: set[tuple[str, str]] | None = set()
    parts = set()
    for argument in parsed.arguments:
        for match in matches(context, argument):
            names = match.place.names()
            names = names[names.index("image") :] if "image" in names else ()
            match names:
                case ("image",):
                    return whole
                case ("image", "topics") | ("image", "topics", "byName" | "byId"):
                    topics |= whole.topics
                case ("image", "topics", by, key):
                    find = source.image.topics.find_id if by == "byId" else None
                    index = (find or source.image.topics.find_name)(key)
                    if index is not None:
                        topics[index] = True
                case ("image", "configs"):
                    resources = None
                case ("image", "configs", name) if not name.startswith("TOPIC:"):
                    if resources is not None:
                        kind, _, resource = name.partition(":")
                        resources.add((kind, resource))
                case ("image", ("scram" | "clientQuotas" | "acls") as part):
                    parts.add(part)
                case _:
                    raise UsageError(
                        f"{argument}: cannot be exported alone",
                        hint="topics, configs of one resource, /image/acls, /image/clientQuotas"
                        " and /image/scram are",
                    )
    return RecipeParts(
        topics,
        None if resources is None else frozenset(resources),
        users="scram" in parts,
        quotas="clientQuotas" in parts,
        acls="acls" in parts,
    )
