"""What compiled steps know of other processes: addresses of MPI's functions, and its handles, in one table of words.

The table is this process's own and is filled at run time (`connect`), so that object code holds no address and stays valid from
one run to the next, whatever the implementation of MPI: a handle is an int in one of them and a pointer in another, and a word
is passed either way (an int is read from the lower half of a register or of a place on the stack).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphc_codegen.errors import CodegenError

Array = np.ndarray[Any, np.dtype[Any]]

#: MPI's functions that steps call, by the collective that they begin.
FUNCTIONS = {
    "all_reduce": "MPI_Iallreduce", "reduce": "MPI_Ireduce", "all_gather": "MPI_Iallgather",
    "reduce_scatter": "MPI_Ireduce_scatter_block", "all_to_all": "MPI_Ialltoall", "broadcast": "MPI_Ibcast",
    "send": "MPI_Isend", "receive": "MPI_Irecv", "barrier": "MPI_Ibarrier", "test": "MPI_Test",
    "get_count": "MPI_Get_count",
}  # fmt: skip
#: What is added up, by dtype; other data travel as bytes.
DATATYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bytes")
REDUCTIONS = ("sum", "max", "min", "prod")
#: So many groups of processes there may be; their communicators, and what tells of their windows, stand at
#: the end of the table.
GROUPS = 256

#: Bytes that a process may share with the others of a group, of which only those that are used are ever taken.
WINDOW_BYTES = 256 << 20
#: How many processes of a group may read each other's windows.
WINDOWS = 64
#: Where in a window its counters are, a line of the cache each: how many collectives the process has opened to the others, and
#: parts of sums, and how many it has read. Data begin at WINDOW_DATA.
WINDOW_WORDS = {"ready": 0, "folded": 64, "read": 128}
WINDOW_DATA = 4096
#: Parts of sums have a multiple of so many elements: whole vectors, and whole lines of the cache.
FOLDED = 64
#: What the words of a group's windows are: this process's number, and from WINDOWS_FROM on the addresses by rank.
RANK, WINDOWS_FROM = 0, 1

#: The words by name: "steps" counts steps that talk to others, "begun" and "done" the collectives of compiled steps; "waits" is 1
#: while a step waits for others; "in_place" is what MPI takes for an operand that the result replaces; "came" is one more than
#: the bytes of a message that has another length than was expected.
WORDS = {
    name: place
    for place, name in enumerate(
        ["steps", "begun", "done", "waits", "in_place", "came", *FUNCTIONS, *DATATYPES, *REDUCTIONS, "groups"]
    )
}
WORDS["windows"] = WORDS["groups"] + GROUPS

#: Zeros mean that there is nobody to talk to.
table: Array = np.zeros(WORDS["windows"] + GROUPS, np.int64)

#: The words that the table has the addresses of, by the number of the group.
_kept: dict[int, Array] = {}
#: What stands for windows in the checked mode, by group and place.
_held: dict[tuple[int, int], Array] = {}

#: (call, operand, result): what the checked mode, which is Python, calls instead. Set by `connect`.
_exchange: Callable[[Mapping[str, Any], Array | None, Array], None] | None = None


def connect(words: Mapping[str, int], exchange: Callable[[Mapping[str, Any], Array | None, Array], None]) -> None:
    """Fill the table: addresses and handles by name."""
    global _exchange
    for name, word in words.items():
        table[WORDS[name]] = _signed(word)
    _exchange = exchange


def add_group(number: int, communicator: int) -> None:
    """The handle of a group's communicator. Raises CodegenError where there are too many groups."""
    if not 0 <= number < GROUPS:
        raise CodegenError(f"there can be {GROUPS} groups of processes")
    table[WORDS["groups"] + number] = _signed(communicator)


def add_windows(number: int, rank: int, addresses: Sequence[int]) -> None:
    """Where the windows of a group's processes are, by rank; this one has the number `rank`."""
    words = np.array([rank, *map(_signed, addresses)], np.int64)
    _kept[number] = words
    table[WORDS["windows"] + number] = words.ctypes.data


def remove_group(number: int) -> None:
    """There is no group of that number any more, and no step that knows it."""
    table[WORDS["groups"] + number] = table[WORDS["windows"] + number] = 0
    _kept.pop(number, None)


def take(name: str) -> int:
    """A word of the table, which is 0 from then on."""
    word, table[WORDS[name]] = int(table[WORDS[name]]), 0
    return word


def require_group(number: int) -> None:
    """CodegenError unless this process is connected with a group of that number."""
    if not 0 <= number < GROUPS or not table[WORDS["groups"] + number]:
        raise CodegenError(f"this process is in no group number {number}: the step was made for several processes")


def require_window(number: int, end: int) -> None:
    """CodegenError unless the processes of a group share so many bytes of memory each."""
    if not table[WORDS["windows"] + number] or end > WINDOW_BYTES:
        raise CodegenError(f"the processes of group number {number} do not share the memory that the step was made for")


def hold(number: int, at: int, data: Array) -> None:
    """What the checked mode has put into the window of a group, for `held`."""
    _held[number, at] = data


def held(number: int, at: int) -> Array:
    """What lies there, once."""
    return _held.pop((number, at))


def exchange(call: Mapping[str, Any], x: Array | None, out: Array) -> None:
    """A whole collective of the checked mode, on flat arrays; without x in place. CodegenError for a process alone."""
    if _exchange is None:
        raise CodegenError("the step was made for several processes, this one is alone")
    _exchange(call, x, out)


def _signed(word: int) -> int:
    """A word of 64 bits as a number with a sign."""
    return word - (1 << 64) if word >= 1 << 63 else word
