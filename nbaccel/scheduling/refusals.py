"""Who was refused where; and, when something comes back to a place, whom to try there again.

```
  a place refuses a choice ──► it is remembered at the place, and its needs in one tree of all who were refused
                                   │ something comes back: the place is *open*
             the tree finds ───────┼── nobody who could use what is left ──► the place is closed
             among those refused   ├── few ──► the one whose turn it is gets an offer, and its lines are woken
             there                 └── many ──► the dispatcher goes through the lines in the order of their turns
                                                (and looks again after each task that it tries)
```
With a thousand kinds of demand, hundreds could use a device that comes back, and one gets it. An open place therefore
costs the lines that are tried, not those that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.scheduling.ledger import Place

if TYPE_CHECKING:
    from nbaccel.scheduling.placement import PlaceableChoice
    from nbaccel.scheduling.tasks import Shape

FEW = 16  # so many are compared with each other; with more, lines are gone through in order

Amounts = dict[str, int]


class OpenPlace(msgspec.Struct, eq=False):
    """A place to which something came back: who has been tried there since, and who else could use what is left."""

    tried: dict[PlaceableChoice, None] = {}
    wanted: dict[PlaceableChoice, None] = {}


class NeedTree:
    """Choices by what they need: those that fit into some amounts are found without looking at the others.

    Choices that name the same resources share a tree with a level for each resource: need ─► … ─► choices.
    """

    def __init__(self) -> None:
        self._trees: dict[tuple[str, ...], dict[Any, Any]] = {}

    def add(self, ask: PlaceableChoice) -> None:
        level = self._trees.setdefault(tuple(ask.needs), {})
        for need in ask.needs.values():
            level = level.setdefault(need, {})
        level[ask] = None

    def remove(self, ask: PlaceableChoice) -> None:
        names = tuple(ask.needs)
        if self._prune(self._trees[names], [*ask.needs.values(), ask]):
            del self._trees[names]

    def _prune(self, level: dict[Any, Any], path: list[Any]) -> bool:
        """Take the end of the path out. Returns whether the level is empty now."""
        if len(path) == 1 or self._prune(level[path[0]], path[1:]):
            del level[path[0]]
        return not level

    def fitting(self, left: Amounts) -> Iterator[PlaceableChoice]:
        """The choices that need no more than is left."""
        for names, tree in self._trees.items():
            if all(name in left for name in names):
                yield from _fitting(tree, [left[name] for name in names], 0)


def _fitting(level: dict[Any, Any], amounts: list[int], depth: int) -> Iterator[PlaceableChoice]:
    if depth == len(amounts):
        yield from list(level)
        return
    amount = amounts[depth]
    for below in [below for need, below in level.items() if need <= amount]:
        yield from _fitting(below, amounts, depth + 1)


class Refusals:
    """The refusals at all places, and the places that are open."""

    def __init__(self, offer: Callable[[PlaceableChoice, Place], None]) -> None:
        self._offer = offer  # offers a place to a choice again, and wakes its lines
        self.few = FEW
        self._tree = NeedTree()  # of all who were refused somewhere
        self.open: dict[Place, OpenPlace] = {}

    def add(self, ask: PlaceableChoice, place: Place) -> None:
        """The place has too little of something for the choice."""
        place.refused[ask] = None
        ask.refusals += 1
        if ask.refusals == 1:
            self._tree.add(ask)

    def remove(self, ask: PlaceableChoice, place: Place) -> None:
        """The place is no longer refused to the choice, if it was."""
        if ask in place.refused:
            del place.refused[ask]
            ask.refusals -= 1
            if not ask.refusals:
                self._tree.remove(ask)

    def clear(self, place: Place) -> None:
        """The place is gone."""
        for ask in list(place.refused):
            self.remove(ask, place)
        self.open.pop(place, None)

    def came_back(self, place: Place) -> None:
        """Something came back: those who were refused may fit now."""
        if len(place.refused) == 1 and place not in self.open:  # one kind of work waits: there is nobody to compare
            ask = next(iter(place.refused))
            if all(need <= place.most_left(name) for name, need in ask.needs.items()):
                self._again(place, [ask])
        elif place.refused:
            self.open.setdefault(place, OpenPlace()).tried.clear()

    def look(self, rank: Callable[[Shape], Any]) -> bool:
        """See for whom it is enough what is left at the open places. Returns whether they are too many to compare."""
        many = False
        for place, opened in list(self.open.items()):
            opened.wanted = dict.fromkeys(self._candidates(place, opened))
            if len(opened.wanted) > self.few:
                many = True
            else:
                self._compare(place, opened, list(opened.wanted), rank)
        return many

    def _compare(
        self, place: Place, opened: OpenPlace, found: list[PlaceableChoice], rank: Callable[[Shape], Any]
    ) -> None:
        """Offer the place to the choice whose turn it is, and to those for which nobody waits now."""
        waiting = [ask for ask in found if ask.is_waited_for]
        best = min(waiting, key=lambda ask: min(rank(shape) for shape in ask.shapes if shape.size), default=None)
        self._again(place, [ask for ask in found if ask is best or not ask.is_waited_for])
        if best is not None:
            opened.tried[best] = None
        if len(waiting) < 2:
            del self.open[place]

    def _candidates(self, place: Place, opened: OpenPlace) -> Iterator[PlaceableChoice]:
        """Those who were refused there, fit now and have not been tried since."""
        refused, tried = place.refused, opened.tried
        fitting = self._tree.fitting(amounts_left(place))
        return (ask for ask in fitting if ask in refused and ask not in tried)

    def _again(self, place: Place, asks: list[PlaceableChoice]) -> None:
        for ask in asks:
            self.remove(ask, place)
            self._offer(ask, place)

    def try_for(self, shape: Shape) -> bool:
        """Offer one open place to the line, if it was refused there and fits now."""
        for ask in shape.asks:
            for place, opened in self.open.items():
                if ask in opened.wanted:
                    del opened.wanted[ask]
                    opened.tried[ask] = None
                    self._again(place, [ask])
                    return True
        return False

    def close(self) -> None:
        """No line can use what is left. Choices for which nobody waits get their offers, for those who come later."""
        for place, opened in self.open.items():
            self._again(place, list(opened.wanted))
        self.open.clear()

    def someone_waits(self) -> bool:
        """Whether a line waits for what has come back."""
        return any(
            ask in place.refused and ask.is_waited_for
            for place in self.open
            for ask in self._tree.fitting(amounts_left(place))
        )


def amounts_left(place: Place) -> Amounts:
    """Of each resource, the largest amount that a demand might get here now."""
    return {name: place.most_left(name) for name in (*place.totals, *place.devices)}
