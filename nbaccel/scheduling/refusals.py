"""Who found room nowhere; and, when something comes back to a place, whom to try there again.

```
  no place has room for a choice ──► it is exhausted, and its needs are in one tree of all that are
                                       │ something comes back: the place is *open*
             the tree finds ───────────┼── nobody who could use what is left ──► the place is closed
             among the exhausted ones  ├── few ──► the one whose turn it is gets an offer, and its lines are woken
             that may use the place    └── many ──► the line whose turn it is is found in a tree of the lines
                                                    (line_tree.py; and again after each task that it tries)
```
With a thousand kinds of demand, hundreds could use a device that comes back, and one gets it. An open place therefore
costs the lines that are tried, not those that wait; and nobody keeps a list of who was refused where.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.scheduling.ledger import Place

if TYPE_CHECKING:
    from nbaccel.scheduling.line_order import LineOrder, Rank
    from nbaccel.scheduling.placement import PlaceableChoice
    from nbaccel.scheduling.tasks import Shape

FEW = 16  # so many are compared with each other; of more, the line whose turn it is is looked for in a tree

MAX_OFFERS = 16  # with more places on offer, it is quicker to look at all in order
ENOUGH = 1 << 62  # more than any place has

Amounts = dict[str, int]
Accepts = Callable[["PlaceableChoice"], bool]


class OpenPlace(msgspec.Struct, eq=False):
    """A place to which something came back: who has been tried there since, and what was left when it was this old."""

    tried: dict[PlaceableChoice, None] = {}
    looked: bool = False  # a line was looked for already
    left: Amounts = {}
    version: int = -1

    def left_at(self, place: Place) -> Amounts:
        """What is left there now."""
        if self.version != place.version or place.group_id is not None:
            self.left, self.version = amounts_left(place), place.version
        return self.left


class NeedTree:
    """Choices by what they need: those that fit into some amounts are found without looking at the others.

    Choices that name the same resources share a tree with a level for each resource: need ─► … ─► choices. Of a few
    choices each one is looked at, so that no tree is made for the work of one machine.
    """

    def __init__(self) -> None:
        self.asks: dict[PlaceableChoice, None] = {}
        self._trees: dict[tuple[str, ...], dict[Any, Any]] = {}
        self._has_trees = False

    def add(self, ask: PlaceableChoice) -> None:
        self.asks[ask] = None
        if self._has_trees:
            self._plant(ask)

    def _plant(self, ask: PlaceableChoice) -> None:
        level = self._trees.setdefault(tuple(ask.needs), {})
        for need in ask.needs.values():
            level = level.setdefault(need, {})
        level[ask] = None

    def remove(self, ask: PlaceableChoice) -> None:
        del self.asks[ask]
        if self._has_trees:
            names = tuple(ask.needs)
            if self._prune(self._trees[names], [*ask.needs.values(), ask]):
                del self._trees[names]
            self._has_trees = bool(self.asks)

    def _prune(self, level: dict[Any, Any], path: list[Any]) -> bool:
        """Take the end of the path out. Returns whether the level is empty now."""
        if len(path) == 1 or self._prune(level[path[0]], path[1:]):
            del level[path[0]]
        return not level

    def fitting(self, left: Amounts, accepts: Accepts, most: int | None = None) -> list[PlaceableChoice]:
        """The accepted choices that need no more than is left; no more than so many of them."""
        if len(self.asks) <= FEW and not self._has_trees:
            return [ask for ask in self.asks if _fits(ask.needs, left) and accepts(ask)][:most]
        if not self._has_trees:
            self._has_trees = True
            for ask in self.asks:
                self._plant(ask)
        found: list[PlaceableChoice] = []
        for names, tree in self._trees.items():
            if not all(name in left for name in names):
                continue
            if _collect(tree, [left[name] for name in names], 0, accepts, most, found):
                break
        return found[:most]


def _fits(needs: Amounts, left: Amounts) -> bool:
    return all(need <= left.get(name, -1) for name, need in needs.items())


def _collect(
    level: dict[Any, Any],
    amounts: list[int],
    depth: int,
    accepts: Accepts,
    most: int | None,
    found: list[PlaceableChoice],
) -> bool:
    """Add what fits to what was found. Returns whether it is enough."""
    if depth == len(amounts):
        found += [ask for ask in level if accepts(ask)]
        return most is not None and len(found) >= most
    amount = amounts[depth]
    for need, below in level.items():
        if need <= amount and _collect(below, amounts, depth + 1, accepts, most, found):
            return True
    return False


class Refusals:
    """The exhausted choices, and the places that are open."""

    def __init__(self, woken: dict[Shape, None]) -> None:
        self._woken = woken  # the lines that are to be tried
        self.few = FEW
        self.open: dict[Place, OpenPlace] = {}
        self._tree = NeedTree()  # of the exhausted ones
        self.exhausted = self._tree.asks

    def exhaust(self, ask: PlaceableChoice) -> None:
        """No place has room for the choice."""
        ask.exhausted = True
        self._tree.add(ask)

    def forget(self, ask: PlaceableChoice) -> None:
        """The choice looks at all of its places again."""
        ask.offers = {}
        if ask.exhausted:
            ask.exhausted = False
            self._tree.remove(ask)

    def gone(self, place: Place) -> None:
        """The place is gone."""
        self.open.pop(place, None)

    def came_back(self, place: Place) -> None:
        """Something came back: those who found no room may fit now."""
        exhausted = self.exhausted
        if len(exhausted) == 1 and place not in self.open:  # one kind of work waits: there is nobody to compare
            ask = next(iter(exhausted))
            if ask.wants(place) and all(need <= place.most_left(name) for name, need in ask.needs.items()):
                self._again(place, [ask])
        elif exhausted:
            self.open.setdefault(place, OpenPlace()).tried.clear()

    def others_wait_for(self, shape: Shape, place: Place, names: set[str]) -> bool:
        """Whether another line waits for some of these resources there, and for nothing else."""
        exhausted = self.exhausted
        if len(exhausted) < 2 and all(shape in ask.shapes and len(ask.shapes) == 1 for ask in exhausted):
            return False
        left = amounts_left(place)
        any_amount = {**left, **dict.fromkeys(names, ENOUGH)}

        def wait(ask: PlaceableChoice) -> bool:
            return (
                any(other.size and other is not shape for other in ask.shapes)
                and any(need > left.get(name, 0) for name, need in ask.needs.items())
                and ask.wants(place)
            )

        return bool(self._tree.fitting(any_amount, wait, 1))

    def started(self, ask: PlaceableChoice, place: Place) -> bool:
        """A task was started at this place. Returns whether its line is found again when something is left for it."""
        opened = self.open.get(place)
        if opened is not None and (place in ask.offers or ask.lasting is not None):
            ask.offers.pop(place, None)
            opened.tried.pop(ask, None)
        if ask.offers:
            self.wake(ask)
        return not ask.offers

    def look(self, rank: Callable[[Shape], Any]) -> bool:
        """See for whom it is enough what is left at the open places. Returns whether they may be too many for that."""
        if len(self.exhausted) > self.few:
            return True
        for place, opened in list(self.open.items()):
            self._compare(place, opened, self._candidates(place, opened), rank)
        return False

    def _compare(
        self, place: Place, opened: OpenPlace, found: list[PlaceableChoice], rank: Callable[[Shape], Any]
    ) -> None:
        """Offer the place to the choice whose turn it is, and to those for which nobody waits now."""
        waiting = [ask for ask in found if ask.is_waited_for]
        best = min(waiting, key=lambda ask: min(rank(shape) for shape in ask.shapes if shape.size), default=None)
        lines = [shape for shape in best.shapes if shape.size] if best is not None else []
        tried = [ask for ask in waiting if ask is best or any(ask in shape.asks for shape in lines)]
        opened.tried.update(dict.fromkeys(tried))
        self._again(place, [*tried, *(ask for ask in found if not ask.is_waited_for)])
        if len(waiting) == len(tried):
            del self.open[place]

    def _candidates(self, place: Place, opened: OpenPlace, most: int | None = None) -> list[PlaceableChoice]:
        """Those who may use the place, fit now and have not been tried since."""
        tried = opened.tried
        return self._tree.fitting(opened.left_at(place), lambda ask: ask not in tried and ask.wants(place), most)

    def _again(self, place: Place, asks: list[PlaceableChoice]) -> None:
        """Offer the place to them, and wake their lines."""
        for ask in asks:
            self._offer(place, ask)
            self.wake(ask)

    def _offer(self, place: Place, ask: PlaceableChoice) -> bool:
        """Put the place on offer. Returns False if the choice is to look at all of its places instead."""
        ask.offers[place] = None
        if len(ask.offers) < min(MAX_OFFERS, len(ask.order.entries)):
            return True
        self.forget(ask)
        return False

    def wake(self, ask: PlaceableChoice) -> None:
        """Its lines are to be tried."""
        for shape in ask.shapes:
            if shape.size:
                self._woken[shape] = None

    def next_line(self, order: LineOrder, before: Shape | None) -> Shape | None:
        """The line whose turn it is, of those that were refused at an open place and fit now; it is offered the places.

        If there is none whose turn is before that of this woken line, it is this one, or None without such a line.
        """
        rank = order.rank(before) if before is not None else None
        best = before
        for place, opened in list(self.open.items()):
            found = self._first_at(place, opened, order)
            if found is not None and (rank is None or found[0] < rank):
                rank, best = found
        if best is not None:
            self._offer_line(best)
        return best

    def _offer_line(self, shape: Shape) -> None:
        """Offer this line every open place where it fits, each of its choices: the first of them is taken that can be,
        at its best place.
        """
        for place, opened in self.open.items():
            left = opened.left_at(place)
            fitting = [
                ask
                for ask in dict.fromkeys(shape.asks)
                if ask not in opened.tried and ask.wants(place) and _fits(ask.needs, left)
            ]
            opened.tried.update(dict.fromkeys(fitting))
            for ask in fitting:
                if self._offer(place, ask) and len(shape.asks) == 1:
                    self._woken[shape] = None  # others that ask the same are found when it is their turn
                else:
                    self.wake(ask)

    def _first_at(self, place: Place, opened: OpenPlace, order: LineOrder) -> tuple[Rank, Shape] | None:
        """The line whose turn it is, of those that may get this open place; it is closed when nobody can use it."""
        if opened.looked and not self._candidates(place, opened, 1):
            del self.open[place]
            return None
        opened.looked, tried = True, opened.tried
        found = order.first_fitting(opened.left_at(place), lambda ask: ask not in tried and ask.wants(place))
        return found[:2] if found is not None else None

    def close(self) -> None:
        """No line can use what is left. Choices for which nobody waits get their offers, for those who come later."""
        for place, opened in self.open.items():
            self._again(place, self._candidates(place, opened))
        self.open.clear()

    def someone_waits(self) -> bool:
        """Whether a line waits for what has come back."""
        return any(self._waited_for_at(place) for place in self.open)

    def _waited_for_at(self, place: Place) -> bool:
        def accepts(ask: PlaceableChoice) -> bool:
            return ask.is_waited_for and ask.wants(place)

        return bool(self._tree.fitting(amounts_left(place), accepts, 1))


def amounts_left(place: Place) -> Amounts:
    """Of each resource, the largest amount that a demand might get here now."""
    if place.commons is not None:
        return {name: place.most_left(name) for name in (*place.totals, *place.devices)}
    return place.free | {name: place.most_left(name) for name in place.devices}
