"""Trees of names and texts: Kafka's from the golden files, ours from the product, and printing.

A tree is plain data, so that comparing two of them names the path that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from metashell.fs.node import Directory, Leaf
from support.fixtures import Golden

Path: TypeAlias = tuple[str, ...]
"""Names from the root, such as ``("image", "topics")``; a name can hold anything, a slash too."""


@dataclass
class Tree:
    """A part of a file system."""

    children: dict[Path, list[str]] = field(default_factory=dict)
    """Child names of every directory, in the order in which they are listed."""
    texts: dict[Path, str] = field(default_factory=dict)
    """Text of every leaf, without the newline that is printed after it."""

    def put(self, path: Path, text: str) -> None:
        """Set a leaf's text, making it and the directories above it as needed."""
        self.put_directory(path[:-1])
        self._list(path)
        self.texts[path] = text

    def put_directory(self, path: Path) -> None:
        """Make a directory and those above it as needed."""
        for length in range(len(path) + 1):
            self.children.setdefault(path[:length], [])
        for length in range(1, len(path) + 1):
            self._list(path[:length])

    def remove(self, path: Path) -> None:
        """Take away a leaf or a directory with all that is in it."""
        if path in self.children:
            self.clear(path)
            del self.children[path]
        self.texts.pop(path, None)
        self.children[path[:-1]].remove(path[-1])

    def clear(self, path: Path) -> None:
        """Leave a directory empty."""
        self.put_directory(path)
        for kind in (self.children, self.texts):
            for inner in [p for p in kind if len(p) > len(path) and p[: len(path)] == path]:
                del kind[inner]
        self.children[path] = []

    def walk(self, start: Path) -> Iterator[Path]:
        """Yield a path and those below it, depth first, also of children that have no node."""
        yield start
        for name in self.children.get(start, ()):
            yield from self.walk((*start, name))

    def _list(self, path: Path) -> None:
        siblings = self.children[path[:-1]]
        if path[-1] not in siblings:
            siblings.append(path[-1])
            siblings.sort()


def kafka_tree(golden: Golden) -> Tree:
    """Build the tree of Kafka's ``/image``; listed children may have no node, or stand twice."""
    tree = Tree(children={(): ["image"]})
    for node in golden.nodes:
        path = tuple(node["segments"])
        if path[:1] != ("image",) or node.get("nullChild"):
            continue
        if node["dir"]:
            tree.children[path] = list(node.get("children", ()))
        else:
            tree.texts[path] = node["text"].removesuffix("\n")
    return tree


def product_tree(root: Directory, start: Path) -> Tree:
    """Walk the product's nodes from a path on, by nothing but `names` and `child`."""
    tree = Tree()
    node: Directory | Leaf | None = root
    for name in start:
        assert isinstance(node, Directory), start
        node = node.child(name)
    pending: list[tuple[Path, Directory | Leaf | None]] = [(start, node)]
    while pending:
        path, node = pending.pop()
        assert node is not None, f"{path} is listed and has no node"
        if isinstance(node, Directory):
            names = list(node.names())
            tree.children[path] = names
            pending += [((*path, name), node.child(name)) for name in names]
        else:
            tree.texts[path] = node.text()
    tree.children.setdefault((), list(start[:1]))
    return tree


def joined(path: Path) -> str:
    """Write a path as Kafka prints it."""
    return "/" + "/".join(path)


def find_output(tree: Tree, start: Path) -> str:
    """Give the output of ``find`` from a path on."""
    return "".join(f"{joined(path)}\n" for path in tree.walk(start))


def tree_output(tree: Tree, start: Path, indent: str = "") -> str:
    """Give the output of ``tree`` of a directory: of a text's lines the first is indented."""
    lines: list[str] = []
    for name in tree.children[start]:
        path = (*start, name)
        lines.append(f"{indent}{name}:\n")
        if path in tree.children:
            lines.append(tree_output(tree, path, indent + "  "))
        elif path in tree.texts:
            lines.append(f"{indent}  {tree.texts[path]}\n")
    return "".join(lines)
