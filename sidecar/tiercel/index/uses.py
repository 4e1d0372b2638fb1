"""How often the workspace uses an attribute, by the text of its receiver: what ranks candidates."""

from __future__ import annotations

from collections.abc import Mapping

from .files import unpack


class Uses:
    """Counts over the files of the workspace, brought up to date when they are asked for.

    Invariant: after `update()`, the counts are the sums over the files that were added and not dropped.
    """

    def __init__(self) -> None:
        self._receivers: dict[str, dict[str, int]] = {}
        self._attributes: dict[str, int] = {}
        self._waiting: dict[str, bytes] = {}
        self._gone: list[tuple[str, bytes]] = []

    def add(self, path: str, packed: bytes) -> None:
        """Count a file's uses at the next update."""
        self._waiting[path] = packed

    def drop(self, path: str, packed: bytes | None) -> None:
        """Count a file's uses no more."""
        if self._waiting.pop(path, None) is None and packed is not None:
            self._gone.append((path, packed))

    def update(self, limit: int | None = None) -> bool:
        """Count what is waiting, at most `limit` files; returns whether all is counted."""
        done = 0
        while self._gone and (limit is None or done < limit):
            self._count(*self._gone.pop(), -1)
            done += 1
        while self._waiting and (limit is None or done < limit):
            self._count(*self._waiting.popitem(), 1)
            done += 1
        return not self._waiting and not self._gone

    def of_receiver(self, receiver: str) -> Mapping[str, int]:
        """Return the attributes used on receivers of this text, counted over the workspace's files."""
        return self._receivers.get(receiver, {})

    def of_attribute(self, attribute: str) -> int:
        """Return how often an attribute of this name is used in the workspace's files."""
        return self._attributes.get(attribute, 0)

    def attributes(self) -> Mapping[str, int]:
        """Return every attribute that the workspace's files use, with its count."""
        return self._attributes

    def _count(self, path: str, packed: bytes, sign: int) -> None:
        module = unpack(path, packed)
        for receiver, counts in module.uses.items() if module is not None else ():
            total = self._receivers.setdefault(receiver, {})
            for attribute, count in counts.items():
                for sums in (total, self._attributes):
                    left = sums.get(attribute, 0) + sign * count
                    if left > 0:
                        sums[attribute] = left
                    else:
                        sums.pop(attribute, None)
            if not total:
                del self._receivers[receiver]
