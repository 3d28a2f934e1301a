"""Places in the order in which work is put there: the first one that has room is found without trying all of them.

```
  blocks of at most 128 places, in order     each knows the most of each resource that any of its places may have left:
  ┌──────────┬──────────┬──────────┐         one that has too little is passed as a whole
  │ n0 n4 n1 │ n9 n3 …  │ …        │
  └──────────┴──────────┴──────────┘
```
All demands that name the same resources under the same conditions share one order, so a cluster of many nodes with many
kinds of demand has few. A place that was taken from is put further back when it is looked at; one that got something
back is told to its orders, and is put further forward when the next place is looked for.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from operator import le
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.scheduling.ledger import Hold, Place, SplitDemand

if TYPE_CHECKING:
    from nbaccel.scheduling.placement import PlaceableChoice
    from nbaccel.scheduling.terms import Placement

# Below this share in use, nodes are filled in their order; above it, the least used one is next.
SPREAD_THRESHOLD = 0.5
BLOCK = 64  # places in a new block; one of twice as many is split

Entry = tuple[int, float, int, int, Place]  # penalty, score, order, the version of the place then, the place


class _Block(msgspec.Struct, eq=False):
    """Neighbours in the order; `most` may be left of each resource at any of them, None before somebody looked."""

    entries: list[Entry]
    most: list[int] | None = None


class PlaceOrder:
    """The places that demands of one sort may use, the best one first."""

    def __init__(
        self,
        placement: Placement,
        asked: SplitDemand,
        places: Iterable[Place],
        turns: dict[Place, int] | None = None,
    ) -> None:
        self.placement = placement
        self.asks: dict[PlaceableChoice, None] = {}
        self.entries: dict[Place, Entry] = {}
        self.kinds: dict[int, dict[Place, None]] = {}  # places that are alike when they are empty
        self.freed: dict[Place, None] = {}  # places that got something back since the last search
        self._asked = asked
        self._names = tuple(asked.needs())
        self.turns = turns or {}  # SPREAD: who was used when
        for place in places:
            if self.may_have(place):
                self._enter(place)
        entries = sorted(self.entries.values())
        self._blocks = [_Block(entries[start : start + BLOCK]) for start in range(0, len(entries), BLOCK)]

    # --- which places ---------------------------------------------------------------------------------------------

    def may_have(self, place: Place) -> bool:
        """Whether the place offers any of each resource that is named, and has the labels."""
        totals, devices = place.totals, place.devices
        named = all(name in devices or name in totals for name in self._names)
        return named and place.meets(self.placement.labels)

    def _enter(self, place: Place) -> Entry:
        entry = self.entries[place] = self.entry_of(place)
        self.kinds.setdefault(place.kind, {})[place] = None
        place.orders[self] = None
        return entry

    def add(self, place: Place) -> bool:
        """One more place. Returns whether it is the first of its kind."""
        is_new = place.kind not in self.kinds
        self._insert(self._enter(place))
        return is_new

    def remove(self, place: Place) -> bool:
        """The place may not be used any more. Returns whether it was the last of its kind."""
        self._take_out(self.entries.pop(place))
        del place.orders[self]
        alike = self.kinds[place.kind]
        del alike[place]
        self.freed.pop(place, None)
        self.turns.pop(place, None)
        if not alike:
            del self.kinds[place.kind]
        return not alike

    def end(self) -> None:
        """Nobody asks for this order any more."""
        for place in self.entries:
            del place.orders[self]

    def used(self, place: Place, turn: int) -> None:
        """SPREAD: the place was used at this turn, and is the last one until the others were."""
        self.turns[place] = turn

    # --- the order ------------------------------------------------------------------------------------------------

    def entry_of(self, place: Place) -> Entry:
        """Where the place belongs now."""
        placement = self.placement
        if placement.strategy == "SPREAD":
            score = float(self.turns.get(place, 0))
        else:
            share = place.utilisation(self._asked)
            score = share if share >= SPREAD_THRESHOLD else 0.0
        misses = bool(placement.soft_labels) and not place.meets(placement.soft_labels)
        wasteful = not self._asked.devices and place.has_accelerators and placement.strategy == "DEFAULT"
        return (2 * misses + wasteful, score, place.order, place.version, place)

    def take(self, ask: PlaceableChoice, owner: Any, now: float) -> Hold | None:
        """A hold on the first place that has room; None if there is none."""
        if len(self.entries) == 1:  # there is nothing to put in order
            got = next(iter(self.entries)).take(ask.asked, owner, now)
            return got if isinstance(got, Hold) else None
        if self.freed:
            self._put_forward()
        needs = list(ask.needs.values())
        blocks, number = self._blocks, 0
        while number < len(blocks):
            block = blocks[number]
            if not _has_room(block, needs):
                number += 1
                continue
            hold, later = self._take_in(block, ask, owner, now)
            if block.entries:
                number += 1
            else:
                del blocks[number]
            for entry in later:
                self._insert(entry)
            if hold is not None:
                return hold
        return None

    def _take_in(self, block: _Block, ask: PlaceableChoice, owner: Any, now: float) -> tuple[Hold | None, list[Entry]]:
        """A hold on the first place of a block that has room, and the places that belong behind this block by now."""
        entries, at, later = block.entries, 0, list[Entry]()
        while at < len(entries):
            entry = entries[at]
            place = entry[4]
            if entry[3] != place.version:
                fresh = self.entries[place] = self.entry_of(place)
                if fresh[:3] != entry[:3]:
                    del entries[at]
                    if block is self._blocks[-1] or (entries and fresh < entries[-1]):
                        insort(entries, fresh)
                    else:
                        later.append(fresh)
                    continue
                entries[at] = fresh
            got = place.take(ask.asked, owner, now)
            if isinstance(got, Hold):
                return got, later
            at += 1
        block.most = [max(amounts) for amounts in zip(*map(self._left, entries), strict=True)]
        return None, later

    def _left(self, entry: Entry) -> list[int]:
        """The most of each resource that a demand might get there now."""
        place = entry[4]
        return [place.most_left(name) for name in self._names]

    def _put_forward(self) -> None:
        """Put the places that got something back where they belong now."""
        for place in self.freed:
            entry, fresh = self.entries[place], self.entry_of(place)
            if fresh[:3] == entry[:3]:
                block = self._blocks[self._number_of(entry)]
                block.entries[bisect_left(block.entries, entry)] = fresh
                self._raise(block, fresh)
            else:
                self._take_out(entry)
                self._insert(fresh)
            self.entries[place] = fresh
        self.freed.clear()

    # --- the blocks -----------------------------------------------------------------------------------------------

    def _number_of(self, entry: Entry) -> int:
        """The block in which the entry is, or belongs."""
        return min(bisect_left(self._blocks, entry, key=_last), len(self._blocks) - 1)

    def _insert(self, entry: Entry) -> None:
        if not self._blocks:
            self._blocks.append(_Block([entry]))
            return
        number = self._number_of(entry)
        block = self._blocks[number]
        insort(block.entries, entry)
        self._raise(block, entry)
        if len(block.entries) >= 2 * BLOCK:
            most = None if block.most is None else list(block.most)
            self._blocks.insert(number + 1, _Block(block.entries[BLOCK:], most))
            del block.entries[BLOCK:]

    def _raise(self, block: _Block, entry: Entry) -> None:
        if block.most is not None:
            block.most = list(map(max, block.most, self._left(entry)))

    def _take_out(self, entry: Entry) -> None:
        number = self._number_of(entry)
        entries = self._blocks[number].entries
        del entries[bisect_left(entries, entry)]
        if not entries:
            del self._blocks[number]

    def check(self) -> None:
        """For tests: the blocks have all places in order, and none is said to have less room than its places have."""
        entries = [entry for block in self._blocks for entry in block.entries]
        assert entries == sorted(self.entries.values()), "the places are out of order"
        assert all(block.entries for block in self._blocks), "an empty block was left"
        for block in self._blocks:
            for entry in block.entries if block.most is not None else ():
                place = entry[4]
                enough = _has_room(block, self._left(entry))
                assert enough or place in self.freed, f"{place.name} has more room than its block is said to have"


def _last(block: _Block) -> Entry:
    return block.entries[-1]


def _has_room(block: _Block, needs: list[int]) -> bool:
    """Whether a place of the block may have so much of everything."""
    most = block.most
    return most is None or all(map(le, needs, most))
