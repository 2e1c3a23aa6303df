"""Directed acyclic graphs of causes and effects."""

from collections.abc import Iterable, Mapping
from functools import cached_property

__all__ = ["Graph"]


class Graph:
    """A directed acyclic graph over named nodes.

    Args:
        parents: For every node, its direct causes.

    Raises:
        ValueError: If a parent is no node, or there is a cycle.
    """

    def __init__(self, parents: Mapping[str, Iterable[str]]) -> None:
        self.parents = {node: tuple(causes) for node, causes in parents.items()}
        for node, causes in self.parents.items():
            for cause in causes:
                if cause not in self.parents:
                    raise ValueError(f"'{node}' has the unknown cause '{cause}'")

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """For every node, its direct effects."""
        return {
            node: tuple(n for n, causes in self.parents.items() if node in causes)
            for node in self.parents
        }

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, causes before effects; among equals, as they were given.

        Raises:
            ValueError: If there is a cycle.
        """
        done: dict[str, None] = {}
        while len(done) < len(self.parents):
            ready = [
                node
                for node, causes in self.parents.items()
                if node not in done and all(cause in done for cause in causes)
            ]
            if not ready:
                left = sorted(set(self.parents) - set(done))
                raise ValueError(f"the graph has a cycle among {', '.join(left)}")
            done |= dict.fromkeys(ready)
        return tuple(done)

    def descendants(self, nodes: Iterable[str]) -> frozenset[str]:
        """Return what lies downstream of any of the nodes; the nodes themselves only if so."""
        return self._reach(nodes, self.children)

    def ancestors(self, nodes: Iterable[str]) -> frozenset[str]:
        """Return what lies upstream of any of the nodes; the nodes themselves only if so."""
        return self._reach(nodes, self.parents)

    def path(self, sources: Iterable[str], target: str) -> tuple[str, ...]:
        """Return a shortest directed path from one of the sources to a node; empty if none."""
        paths: list[tuple[str, ...]] = [(source,) for source in dict.fromkeys(sources)]
        seen = {path[0] for path in paths}
        while paths:
            longer = []
            for path in paths:
                if path[-1] == target:
                    return path
                for child in self.children[path[-1]]:
                    if child not in seen or child == target:
                        seen.add(child)
                        longer.append((*path, child))
            paths = longer
        return ()

    @staticmethod
    def _reach(nodes: Iterable[str], step: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        found: set[str] = set()
        edge = [near for node in nodes for near in step[node]]
        while edge:
            node = edge.pop()
            if node not in found:
                found.add(node)
                edge += step[node]
        return frozenset(found)
