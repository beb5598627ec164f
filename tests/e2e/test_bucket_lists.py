"""Lists of as many items as a call brings: what Python does with lists, and loops that count, in one step for all lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphc
from graphc import Tensor, ops
from graphc.errors import PaddingError
from tests.e2e.changing import close
from tests.e2e.test_bucket_lengths import both_ways
from tests.e2e.test_buckets import Net, floats


def of_tuples(x: Any) -> Any:
    c, outs, named = ops.zeros((4,)), [(x[0], 0)], []
    for i, row in enumerate(x):
        h, k = outs[-1]
        c = c * 0.5 + row
        outs.append((ops.tanh(h + c), k + i))
        named.append({"h": h, "rest": [row, None]})
    hs, ks = zip(*outs, strict=False)
    s = ops.zeros((4,))
    for (h, k), each in zip(outs, named, strict=False):
        s = s + h * k + each["h"] * each["rest"][0]
    return ops.stack(hs), sum(ks), s, outs[-1][1], named[0]["rest"][1] is None


def changed_behind(x: Any) -> Any:
    outs = []
    for row in x:
        outs.append(row)
        outs.extend([row * 2])
    outs.append(x.sum(0))
    first, last = outs.pop(0), outs.pop()
    kept = outs[:]
    outs.insert(0, last)
    outs.reverse()
    outs += [first, x[-1]]
    outs[1] = outs[1] * 3
    return ops.stack(outs), ops.stack([*[x[0]], *[x[-1]]]), ops.stack(kept + [last]), ops.stack(list(reversed(kept)))  # noqa: RUF005


def in_front(x: Any) -> Any:
    outs, others = [x[0]], []
    for row in x:
        outs.insert(0, row)
        outs = [row * 2, row * 3] + outs  # noqa: RUF005
        outs.append(row + outs[-1])
        if row.sum() > 0:
            others.insert(0, row)
        else:
            others.insert(0, row * 2)
    return ops.stack(outs), ops.stack(others)


def one_behind_the_other(x: Any) -> Any:
    n, outs = x.shape[0], []
    for row in x:
        outs.append(row.sum())
    for row in x:
        outs.append(row.max() + outs[-1])
    for i in range(n):
        for j in range(n):
            outs.append((x[i] * x[j]).sum())
        for j in range(2):
            outs.append(x[i, j])
    return ops.stack(outs), len(outs)


def comprehended(x: Any) -> Any:
    n = x.shape[0]
    pairs = [(x[i] * x[j]).sum() for i in range(n) for j in range(n)]
    parts = [row[k] * (k + 1) for row in x for k in range(4)] + [row[k] for k in range(2) for row in x]
    kept = [row * i for i, row in enumerate(x) if i % 2 == 0 for _ in range(2)]
    return ops.stack(pairs), ops.stack(parts), sum(kept), sum(a * b for a, b in [(row, row.sum()) for row in x])


def beside_lists(x: Any) -> Any:
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    s = ops.zeros((4,))
    for row, w in zip(x, weights, strict=False):
        s = s + row * w
    return s, ops.stack([row * w for w, row in zip(weights, x, strict=False)]), ops.stack(list(x)[::-1])


def replaced(x: Any) -> Any:
    hs, outs = [ops.zeros((4,))], []
    for row in x:
        hs = [ops.tanh(hs[-1] * 0.5 + row)]
        outs.append(hs[-1])
    return hs[-1], len(hs), ops.stack(hs), ops.stack(outs)


def by_other_names(x: Any) -> Any:
    d, first = {"s": ops.zeros((4,))}, [x[0]]
    e, f, g = d, (first, 1), first
    for row in x:
        d["s"] = d["s"] * 0.5 + row
        first = [first[0] + row]
    if x.shape[0] > 4:
        first = [first[0] * 2]
    before = {"s": e["s"]}
    while d["s"].sum() < 5:
        d["s"] = d["s"] + 1
    return e["s"], f[0][0], g[0], first[0], before["s"]


def in_ways(x: Any) -> Any:
    outs = [row * 2 for row in x]
    for i in range(1, x.shape[0]):
        outs[i] = outs[i] + outs[i - 1] * 0.5
    if x.sum() > 0:
        outs.append(x[0])
        outs.reverse()
    else:
        outs[0] = x[-1] * 7
        outs.append(x[0] * 3)
    return ops.stack(outs), outs[-1]


def returned(x: Any) -> Any:
    outs = []
    for i, row in enumerate(x):
        outs.append((i, row * 2))
    return outs, [row.sum() for row in x], {"n": len(outs), "rows": tuple(r * 3 for r in x)}


def counting(x: Any) -> Any:
    n, i, h, outs = x.shape[0], 0, ops.zeros((4,)), []
    while i < n:
        h = ops.tanh(h + x[i])
        outs.append(h)
        i += 1
    k, s = len(outs) - 1, ops.zeros((4,))
    while k >= 0:
        k -= 2
        s = s * 0.5 + outs[k + 2]
    j, y = 1, x * 1
    while x.shape[0] - 1 >= j:
        y[j] = y[j] + y[j - 1] * 0.5
        j = j + 1
    return ops.stack(outs), i, s, k, y[:j], x[: i - 1].sum(0)


def not_counting(x: Any) -> Any:
    n, i, s = x.shape[0], 0, x.sum(0)
    while i < n:
        s, n = s + i, n - 1
        i += 1
    k = 0
    while k < x.shape[0]:
        if k == 2:
            s = s * 2
            k += 1
        k += 1
    m = 7
    while m < x.shape[0]:
        s = s * m
        m += 1
    return s, i, n, k, m


def of_other_sizes(x: Any) -> Any:
    n, k, y = x.shape[0], 5, x * 2
    if n > 6:
        x = x[:6]
    elif n < 4:
        k = n
    z = y[2:] if n > 2 else y
    s = ops.zeros((4,))
    for row in x:
        s = s * 0.5 + row
    return s, x, z.mean(0), y[:k].sum(0) if k < n else y[0], k


def decoded(x: Any) -> Any:
    n, token, layers = x.shape[0], ops.zeros((), graphc.int32), [ops.zeros((4,)), ops.ones((4,))]
    seen, tokens, states = ops.zeros((n,)), [], []
    for row in x:
        token = (x @ row - seen * 100 + token).argmax()
        seen = seen + ops.one_hot(token, n)
        new = []
        for h in layers:
            row = ops.tanh(h + row)
            new.append(row)
        layers = new
        tokens.append(token)
        states.append(layers[-1])
    if n > 2:
        states = [s * 2 for s in [*states, x[0]]]
    return ops.stack(tokens), seen, ops.vstack(states), ops.hstack(tokens), layers[0]


def windows(x: Any) -> Any:
    outs = []
    for i in range(x.shape[0] - 2):
        outs.append(x[i : i + 3].mean(0))
    return ops.stack(outs).sum(0) if x.shape[0] > 2 else x.sum(0)


def in_dicts(x: Any) -> Any:
    d, e = {"h": [x[0]], "sums": []}, {"m": ops.zeros((4,)), "n": 0, "all": []}
    other = e
    for row in x:
        if row.sum() > 0:
            e["m"] = e["m"] * 0.5 + row
        e["all"].append((e["m"], e["n"]))
        e["n"] += 1
    for row in x:
        d["h"].append(row + d["h"][-1])
        for v in row:
            d["sums"].append(v * 2)
    return ops.stack(d["h"]), ops.stack(d["sums"]), other["m"], other["n"], ops.stack([a * b for a, b in other["all"]])


CASES = (
    of_tuples, changed_behind, in_front, one_behind_the_other, comprehended, beside_lists, replaced, by_other_names, in_ways,
    returned, decoded, windows, in_dicts, counting, not_counting, of_other_sizes,
)  # fmt: skip


@pytest.mark.parametrize("body", CASES)
def test_lists_and_loops_of_as_many_as_a_call_brings(body: Callable[[Any], Any]) -> None:
    net = both_ways(body)
    with graphc.debug(canary=True):
        step = graphc.compile(net, floats(8, 4), buckets=(4, 8))
        for n in (8, 5, 7, 6, 4, 3, 2, 1):
            close(step(floats(n, 4)), graphc.compile(net, floats(n, 4))(floats(n, 4)), 1e-4)
    assert len(step.steps) == 2


def read_by_another_name(x: Any) -> Any:
    d = {"s": ops.zeros((4,))}
    e, t = d, ops.zeros((4,))
    for row in x:
        d["s"] = d["s"] * 0.5 + row
        t = t + e["s"]
    return t


def changed_by_both_names(x: Any) -> Any:
    d = {"s": ops.zeros((4,))}
    e = d
    for row in x:
        d["s"] = d["s"] * 0.5 + row
        e["s"] = e["s"] + 1
    return e["s"]


def one_many_times(x: Any) -> Any:
    outs, d = [], {"s": x[0]}
    for row in x:
        d["s"] = d["s"] * 0.5 + row
        outs.append(d)
    return ops.stack([each["s"] for each in outs])


def of_several_kinds(x: Any) -> Any:
    outs = []
    for row in x:
        outs.append(row)
        outs.append(row.sum())
    return outs[0]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (read_by_another_name, "e is changed in place"),
        (changed_by_both_names, "has two names is changed by both"),
        (one_many_times, "would hold the same one many times"),
        (of_several_kinds, "has items of different kinds"),
    ],
)
def test_what_would_be_another_list_is_refused(body: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(PaddingError, match=f"with sizes as numbers of the run: .*{why}"):
        graphc.compile(Net(lambda self, x: body(x)), floats(8, 4), buckets=(8,))


@pytest.mark.parametrize("room", [8, 16])
def test_the_first_few_of_a_length_that_may_have_fewer(room: int) -> None:
    net = Net(lambda self, x: (x[:6].sum(0), x[:7] * 2, x[1:5].mean()))
    step = graphc.compile(net, floats(8, 4), buckets=(room,))
    for n in (8, 3, 7, 6, 2):
        close(step(floats(n, 4)), net.body(net, Tensor(floats(n, 4))))
