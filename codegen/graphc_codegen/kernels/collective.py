"""What processes do together: a collective is begun by one kernel and waited for by another, MPI's nonblocking calls.
Between them MPI may be called to move data.

The first thread calls MPI by the addresses in `graphc_codegen.links`; others go on until they need what is received.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.errors import OtherMessage
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params, note_failure
from graphc_codegen.links import WORDS as LINKS
from graphc_codegen.links import exchange, take
from graphc_codegen.thread_context import WORDS
from graphc_codegen.writer import Writer

_REDUCING = ("all_reduce", "reduce", "reduce_scatter")


def start_operands(p: Params) -> tuple[Operand, ...]:
    """x and what is received, of `dtype` with `count` and `received` elements; a place for MPI's request.

    With `in_place` there is no x: what is received takes the place of what is sent, and `count` is what MPI counts.
    """
    x = Operand(p["dtype"], p["count"], "in")
    made = (Operand(p["dtype"], p["received"], "out"), Operand("int64", 1, "out"))
    return made if "in_place" in p else (x, *made)


def start_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Begin the collective `call` in group number `group`, of `size` processes."""
    table = links(w)
    *given, out, request = pointers
    x = given[0] if given else _pointer(w, table, "in_place")
    counted = p["received"] if p["call"] in ("reduce_scatter", "receive") and given else p["count"]
    if p["call"] == "all_to_all":
        counted //= p["size"]
    nbytes = counted * ITEMSIZE[p["dtype"]]
    reduces = p["call"] in _REDUCING
    number, type = (counted, p["dtype"]) if reduces else (nbytes, "bytes")
    if p["call"] == "broadcast":
        w.call_void("llvm.memcpy.p0.p0.i64", [("ptr", out), ("ptr", x), ("i64", f"{nbytes}"), ("i1", "false")])
    elif p["call"] == "reduce":
        w.call_void("llvm.memset.p0.i64", [("ptr", out), ("i8", "0"), ("i64", f"{nbytes}"), ("i1", "false")])
    n, kind = f"i64 {number}", f"i64 {_word(w, table, type)}"
    send, receive, root = f"ptr {x}, {n}, {kind}", f"ptr {out}, {n}, {kind}", f"i64 {p['root']}"
    both = f"ptr {x}, ptr {out}, {n}, {kind}"
    reduction = f"i64 {_word(w, table, p['reduction'])}" if reduces else ""
    arguments = {
        "all_reduce": [both, reduction],
        "reduce": [both, reduction, root],
        "reduce_scatter": [both, reduction],
        "all_gather": [send, receive],
        "all_to_all": [send, receive],
        "broadcast": [receive, root],
        "send": [send, root, f"i64 {p['tag']}"],
        "receive": [receive, root, f"i64 {p['tag']}"],
        "barrier": [],
    }[p["call"]]
    count(w, table, "begun")
    group = _load(w, table, LINKS["groups"] + p["group"])
    function = _pointer(w, table, p["call"])
    w.op(f"call i32 {function}({', '.join([*arguments, f'i64 {group}', f'ptr {request}'])})")


def start_twin(p: Params, *arrays: Array) -> None:
    """The whole collective at once."""
    *given, out, request = arrays
    exchange(p, given[0] if given else None, out)
    request[:] = 0


def wait_operands(p: Params) -> tuple[Operand, ...]:
    """The request; x, if there is a `count`, which must stay until then; what has been received."""
    x = (Operand(p["dtype"], p["count"], "in"),) if "count" in p else ()
    return (Operand("int64", 1, "in"), *x, Operand(p["dtype"], p["received"], "out"))


def wait_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Look until MPI says that the collective is done; others get the processor meanwhile."""
    _wait(w, pointers[0])


def message_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The same of a message from one process, which ends the step if it is shorter than what is received. (MPI ends the job for
    a longer one.)
    """
    table, status = _wait(w, pointers[0])
    place, function = w.op("alloca i64, align 8"), _pointer(w, table, "get_count")
    w.op(f"call i32 {function}(ptr {status}, i64 {_word(w, table, 'bytes')}, ptr {place})")
    came = w.op(f"sext i32 {w.load(place, 'i32')} to i64")
    other = w.op(f"icmp ne i64 {came}, {_nbytes(p)}")
    told = w.op(f"select i1 {other}, i64 {w.op(f'add i64 {came}, 1')}, i64 0")
    w.store(told, w.at(table, LINKS["came"], "i64"), "i64")
    note_failure(w, other)


def _nbytes(p: Params) -> int:
    return int(p["received"]) * ITEMSIZE[p["dtype"]]


def _wait(w: Writer, request: str) -> tuple[str, str]:
    """Wait for a request: the table of links, and MPI's status."""
    table = links(w)
    status, flag = w.op("alloca [32 x i64], align 16"), w.op("alloca i64, align 8")
    function = _pointer(w, table, "test")
    waits = w.at(table, LINKS["waits"], "i64")
    w.store("1", waits, "i64")

    def look() -> str:
        w.store("0", flag, "i64")
        w.op(f"call i32 {function}(ptr {request}, ptr {flag}, ptr {status})")
        done = w.op(f"icmp ne i32 {w.load(flag, 'i32')}, 0")
        # Elsewhere somebody may need this processor to get done.
        w.when(w.op(f"xor i1 {done}, true"), lambda: others_run(w))
        return done

    w.until(look)
    w.store("0", waits, "i64")
    count(w, table, "done")
    return table, status


def move_operands(p: Params) -> tuple[Operand, ...]:
    """The request of what has begun, which may become that of nothing."""
    return (Operand("int64", 1, "out"),)


def move_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Look once whether it is done: MPI moves messages, also others', when it is called."""
    status, flag = w.op("alloca [32 x i64], align 16"), w.op("alloca i64, align 8")
    w.op(f"call i32 {_pointer(w, links(w), 'test')}(ptr {pointers[0]}, ptr {flag}, ptr {status})")


def move_twin(p: Params, request: Array) -> None:
    """It is done already."""


def wait_twin(p: Params, *arrays: Array) -> None:
    """It is done already."""


def message_twin(p: Params, *arrays: Array) -> None:
    """It is done already. Raises OtherMessage where the compiled one has found one."""
    if came := take("came"):
        raise OtherMessage(came - 1, _nbytes(p))


def others_run(w: Writer) -> None:
    """Whoever else wants this processor gets it."""
    w.call("sched_yield", "i32", [])


def links(w: Writer) -> str:
    """The address of the table of links."""
    return w.load(w.at("%context", WORDS["links"], "i64"), "ptr")


def _load(w: Writer, table: str, place: int) -> str:
    return w.load(w.at(table, place, "i64"), "i64")


def _word(w: Writer, table: str, name: str) -> str:
    return _load(w, table, LINKS[name])


def _pointer(w: Writer, table: str, name: str) -> str:
    return w.load(w.at(table, LINKS[name], "i64"), "ptr")


def count(w: Writer, table: str, name: str) -> None:
    """Add one to a word of the table."""
    place = w.at(table, LINKS[name], "i64")
    w.store(w.op(f"add i64 {w.load(place, 'i64')}, 1"), place, "i64")


COLLECTIVE_START = Emitter(start_operands, start_emit, start_twin)
COLLECTIVE_MOVE = Emitter(move_operands, move_emit, move_twin)
COLLECTIVE_WAIT = Emitter(wait_operands, wait_emit, wait_twin)
MESSAGE_WAIT = Emitter(wait_operands, message_emit, message_twin)
