"""Events of one key after another become one, all keys at once, in rounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.merge.protocol import Mask, Payload

I64 = npt.NDArray[np.int64]


def fold(
    rows: pa.Table, deleted: Mask, codes: I64, ranks: I64, payload: Payload, *, wins: Mask | None = None
) -> tuple[pa.Table, Mask]:
    """What each key ends as: its record, or that it goes (the row then stands for the key).

    :param rows: the events, in the order in which they happened.
    :param deleted: which of them are deletes without a record: after one, any record starts anew.
    :param codes: a number for the key of each, from 0 on.
    :param ranks: of their ordering values; 0 for none.
    :param wins: deletes that need no greater ordering value to win over a record; all of them where None.
    """
    if payload.mixes:
        return _report(rows, deleted, codes, ranks, payload, wins)
    winners = last_of_each(codes, ranks) if not payload.ties_to_older else _first_of_each(codes, ranks)
    # keys with a delete among several events are folded event by event: the first events of all keys, the second, ...
    mixed = np.zeros(int(codes.max(initial=-1)) + 1, bool)
    mixed[codes[deleted]] = True
    if mixed.any():
        chosen = _choose_with_deletes(np.flatnonzero(mixed[codes]), deleted, codes, ranks, payload.ties_to_older, wins)
        winners = np.concatenate([winners[~mixed[codes[winners]]], chosen])
    order = np.sort(winners)
    return rows.take(pa.array(order)), deleted[order]


def last_of_each(codes: I64, rank: I64) -> I64:
    """For each code the position of its highest rank, of equal ranks the last position; in the order of the codes."""
    order = np.lexsort((np.arange(len(codes)), rank, codes))
    return order[_ends(codes[order])]


def _first_of_each(codes: I64, rank: I64) -> I64:
    """The same, but of equal ranks the first position."""
    order = np.lexsort((-np.arange(len(codes)), rank, codes))
    return order[_ends(codes[order])]


def _ends(sorted_codes: I64) -> Mask:
    is_last = np.ones(len(sorted_codes), bool)
    is_last[:-1] = sorted_codes[1:] != sorted_codes[:-1]
    return is_last


class _Rounds:
    """The events of each key in their order: first those that come first, then, round by round, the next ones."""

    def __init__(self, events: I64, codes: I64) -> None:
        self._order = events[np.argsort(codes[events], kind="stable")]
        begins = np.flatnonzero(np.diff(codes[self._order], prepend=-1))
        self._ends = np.append(begins[1:], len(self._order))
        self._following = begins + 1
        self._keys = np.arange(len(begins))
        self.first = self._order[begins]

    def next(self) -> tuple[I64, I64]:
        """The numbers of the keys that go on, and their next events; empty at the end."""
        more = self._following < self._ends[self._keys]
        self._keys, self._following = self._keys[more], self._following[more] + 1
        return self._keys, self._order[self._following - 1]


def _choose_with_deletes(
    story: I64, deleted: Mask, codes: I64, ranks: I64, ties_to_older: bool, wins: Mask | None
) -> I64:
    """Positions of the events that stay, one for each key."""
    rounds = _Rounds(story, codes)
    state = rounds.first
    while True:
        keys, event = rounds.next()
        if not len(keys):
            return state
        before = state[keys]
        older = ranks[before] > ranks[event]
        ties = (ranks[before] == ranks[event]) & ~deleted[event] & ties_to_older
        stays = ~deleted[before] & (older | ties) & ~_always(deleted, event, wins)
        state[keys[~stays]] = event[~stays]


def _always(deleted: Mask, event: I64, wins: Mask | None) -> Mask:
    return deleted[event] if wins is None else deleted[event] & wins[event]


def _report(
    rows: pa.Table, deleted: Mask, codes: I64, ranks: I64, payload: Payload, wins: Mask | None
) -> tuple[pa.Table, Mask]:
    """The story of payloads that make new records; the pairs of a round are put before the payload together."""
    rounds = _Rounds(np.arange(len(codes)), codes)
    place = rounds.first.copy()  # of each key's record: a row of `pool`
    rank, gone = ranks[place], deleted[place]
    pool, made = [rows], rows.num_rows
    while True:
        keys, event = rounds.next()
        if not len(keys):
            break
        older = rank[keys] > ranks[event]
        stays = ~gone[keys] & deleted[event] & older & ~_always(deleted, event, wins)
        asked = ~gone[keys] & ~deleted[event]
        anew = ~stays & ~asked
        place[keys[anew]], rank[keys[anew]], gone[keys[anew]] = event[anew], ranks[event[anew]], deleted[event[anew]]
        if not asked.any():
            continue
        keys, event, older = keys[asked], event[asked], older[asked]
        everything = pa.concat_tables(pool)
        verdict = payload.pre_combine(everything.take(pa.array(place[keys])), rows.take(pa.array(event)), older)
        accepted = verdict.accepted
        keeps_rank = ~accepted if verdict.ordering_of_older is None else verdict.ordering_of_older
        rank[keys[~keeps_rank]] = ranks[event[~keeps_rank]]
        gone[keys[accepted]] = verdict.deleted[accepted]
        if verdict.rows is None:
            place[keys[accepted]] = event[accepted]
        else:
            pool.append(verdict.rows)
            place[keys[accepted]] = made + np.flatnonzero(accepted)
            made += verdict.rows.num_rows
    order = np.argsort(rounds.first, kind="stable")
    return pa.concat_tables(pool).take(pa.array(place[order])), gone[order]
