"""FlashAttentionScore in its layouts and modes, against the formula in float64; masks of dropout as bits."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

B, N, S, T, D, SCALE = 2, 4, 5, 8, 3, 0.5
RNG = np.random.default_rng(0)
TRIANGLE = np.triu(np.ones((2048, 2048), np.uint8), 1)
Q, K, V = (RNG.standard_normal(s) for s in ((B, N, S, D), (B, 2, T, D), (B, 2, T, D)))
MASK, SHIFT = RNG.random((B, 1, S, T)) < 0.3, RNG.standard_normal((1, N, S, T))
AHEAD = np.arange(T) - np.arange(S)[:, None]


def expected(q, k, v, scale=SCALE, hidden=None, shift=0.0, kept=None, keep=1.0):
    """(result, greatest scores, sums of exponentials)."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (q @ k.swapaxes(-1, -2) + shift) * scale
    scores = scores if hidden is None else np.where(hidden, -1e30, scores)
    greatest = scores.max(-1, keepdims=True)
    sums = np.exp(scores - greatest).sum(-1, keepdims=True)
    shares = np.exp(scores - greatest) / sums
    return (shares if kept is None else np.where(kept, shares / keep, 0)) @ v, greatest, sums


def laid_out(x, layout):
    if layout == "BNSD":
        return x
    rows = x.transpose(2, 0, 1, 3) if layout == "SBH" else x.transpose(0, 2, 1, 3)
    return rows if layout == "BSND" else rows.reshape(*rows.shape[:2], -1)


def tensors(*arrays, dtype=np.float32):
    return [Tensor(a.astype(dtype)) for a in arrays]


class Score(nn.Cell):
    def __init__(self, **attributes):
        super().__init__()
        self.score = ops.FlashAttentionScore(N, scale_value=SCALE, **attributes)

    def construct(self, *operands):
        return self.score(*operands)


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_layouts(layout):
    arrays = [laid_out(x, layout) for x in (Q, K, V)]
    want = laid_out(expected(Q, K, V, hidden=MASK, shift=SHIFT)[0], layout)
    options = {"scalar_value": SCALE, "input_layout": layout, "attn_mask": Tensor(MASK), "real_shift": Tensor(SHIFT)}
    exact = ops.flash_attention_score(*tensors(*arrays, dtype=np.float64), N, **options)
    np.testing.assert_allclose(exact.asnumpy(), want, rtol=1e-12)
    compiled = Score(input_layout=layout)(*tensors(*arrays, SHIFT), None, None, Tensor(MASK))
    np.testing.assert_allclose(compiled[3].asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dtypes_and_the_other_results(dtype):
    operands = [ops.cast(x, dtype) for x in tensors(Q, K, V)]
    want, greatest, sums = expected(*(ops.cast(x, "float64").asnumpy() for x in operands))
    made = Score(input_layout="BNSD")(*operands)
    assert [str(x.tensor_type.dtype) for x in made] == ["float32", "float32", dtype, dtype]
    assert [x.shape for x in made] == [(B, N, S, 8), (B, N, S, 8), (), (B, N, S, D)]
    for got, told in zip(made, (greatest, sums), strict=False):
        np.testing.assert_allclose(got.asnumpy(), np.repeat(told, 8, -1), rtol=1e-4, atol=1e-5)
    within = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5}[dtype]
    np.testing.assert_allclose(ops.cast(made[3], "float32").asnumpy(), want, rtol=within, atol=within)


MODES = {
    "band": ({"pre_tokens": 2, "next_tokens": 1}, MASK, MASK | (AHEAD > 1) | (AHEAD < -2)),
    "mask alone": ({"sparse_mode": 1, "pre_tokens": 0}, MASK.astype(np.uint8), MASK),
    "from the first": ({"sparse_mode": 2}, TRIANGLE, AHEAD > 0),
    "from the last": ({"sparse_mode": 3}, TRIANGLE, AHEAD > T - S),
    "band from the last": (
        {"sparse_mode": 4, "pre_tokens": 1, "next_tokens": 2},
        TRIANGLE,
        (AHEAD > T - S + 2) | (AHEAD < T - S - 1),
    ),
    "prefix": (
        {"sparse_mode": 5, "prefix": (6, 0)},
        MASK,
        MASK | ((AHEAD > T - S) & (np.arange(T) >= np.array([6, 0])[:, None, None, None])),
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode):
    options, mask, hidden = MODES[mode]
    made = ops.flash_attention_score(
        *tensors(Q, K, V), N, scalar_value=SCALE, input_layout="BNSD", attn_mask=Tensor(mask), **options
    )
    np.testing.assert_allclose(made.asnumpy(), expected(Q, K, V, hidden=hidden)[0], rtol=1e-4, atol=1e-5)


def test_a_query_that_sees_nothing_gets_the_mean():
    mask = np.zeros((S, T), bool)
    mask[2] = True
    made = ops.flash_attention_score(*tensors(Q, K, V), N, input_layout="BNSD", attn_mask=Tensor(mask)).asnumpy()
    np.testing.assert_allclose(made[:, :, 2], np.repeat(V, 2, 1).mean(2), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layout", ["TND", "TH"])
def test_sequences_one_behind_the_other(layout):
    ends, key_ends = (3, 7), (4, 9)
    q, k, v = (RNG.standard_normal(s) for s in ((7, N, D), (9, 2, D), (9, 2, D)))
    want, sums = [], []
    for (a, b), (c, e) in (((0, 3), (0, 4)), ((3, 7), (4, 9))):
        one = [x.transpose(1, 0, 2)[None] for x in (q[a:b], k[c:e], v[c:e])]
        hidden = np.arange(e - c) - np.arange(b - a)[:, None] > (e - c) - (b - a)
        y, _, s = expected(*one, hidden=hidden)
        want.append(y[0].transpose(1, 0, 2))
        sums.append(s[0].transpose(1, 0, 2))
    operands = [x if layout == "TND" else x.reshape(len(x), -1) for x in (q, k, v)]
    masks = (None, None, None, Tensor(TRIANGLE), None, ends, key_ends)
    made = Score(input_layout=layout, sparse_mode=3)(*tensors(*operands), *masks)
    np.testing.assert_allclose(made[3].asnumpy().reshape(q.shape), np.concatenate(want), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(made[1].asnumpy(), np.repeat(np.concatenate(sums), 8, -1), rtol=1e-4)


def test_dropout_by_bits():
    packed = np.packbits(RNG.random((B, N, S, T)) < 0.7, -1, bitorder="little")
    kept = np.unpackbits(packed, axis=-1, bitorder="little")
    made = Score(input_layout="BNSD", keep_prob=0.7)(*tensors(Q, K, V), None, Tensor(packed))[3]
    np.testing.assert_allclose(made.asnumpy(), expected(Q, K, V, kept=kept, keep=0.7)[0], rtol=1e-4, atol=1e-5)


def test_gradients():
    """Against differences of the formula, in a compiled step; heads that share a key among them."""
    weights = RNG.standard_normal(Q.shape)

    class Loss(nn.Cell):
        def construct(self, *operands):
            y = ops.flash_attention_score(
                *operands, N, scalar_value=SCALE, input_layout="BNSD", attn_mask=Tensor(TRIANGLE), sparse_mode=2
            )
            return (y * Tensor(weights.astype(np.float32))).sum()

    made = graphc.grad(Loss(), (0, 1, 2))(*tensors(Q, K, V))
    for i, gradient in enumerate(made):
        way = RNG.standard_normal((Q, K, V)[i].shape)

        def at(step, i=i, way=way):
            moved = [x + step * way if j == i else x for j, x in enumerate((Q, K, V))]
            return (expected(*moved, hidden=AHEAD > 0)[0] * weights).sum()

        want = (at(1e-5) - at(-1e-5)) / 2e-5
        np.testing.assert_allclose((gradient.asnumpy() * way).sum(), want, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"input_layout": "NBSD"}, ValueError, "input_layout must be one of BSH"),
        ({"sparse_mode": 6}, ValueError, r"\[GC112\].*sparse_mode=6"),
        ({"sparse_mode": 2}, ValueError, "sparse_mode 2 needs an attn_mask"),
        ({"attn_mask": Tensor(MASK), "sparse_mode": 3}, ValueError, r"expected \(2048, 2048\) with sparse_mode 3"),
        ({"attn_mask": Tensor(MASK.astype(np.float32))}, TypeError, "bool or uint8"),
        ({"attn_mask": Tensor(MASK), "pre_tokens": -3, "next_tokens": 1}, ValueError, "leave no key"),
        ({"prefix": (1, 2)}, ValueError, "prefix goes with sparse_mode 5"),
        ({"keep_prob": 0.5}, ValueError, "needs a drop_mask"),
        ({"keep_prob": 0.0}, ValueError, r"keep_prob must lie in \(0, 1\]"),
        ({"padding_mask": Tensor(MASK)}, ValueError, r"\[GC112\].*padding_mask"),
        ({"actual_seq_qlen": (1,)}, ValueError, r"\[GC112\].*actual_seq_qlen"),
        ({"real_shift": Tensor(SHIFT[:, :2])}, ValueError, "real_shift is"),
        ({"head_num": 3}, ValueError, "head_num is 3"),
        ({"head_num": True}, TypeError, "head_num must be an int"),
    ],
)
def test_what_does_not_fit_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        ops.flash_attention_score(*tensors(Q, K, V), **{"head_num": N, "input_layout": "BNSD", **options})


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match="of one float dtype"):
        ops.flash_attention_score(Tensor(Q), *tensors(K, V), N, input_layout="BNSD")
    with pytest.raises(ValueError, match="of one shape"):
        ops.flash_attention_score(*tensors(Q, K, V[:, :, 1:]), N, input_layout="BNSD")
    with pytest.raises(ValueError, match="expected the axes B, S, H"):
        ops.flash_attention_score(*tensors(Q, K, V), N)
    with pytest.raises(ValueError, match="heads of query do not divide"):
        ops.flash_attention_score(*tensors(Q, *(np.repeat(x, 3, 1)[:, :3] for x in (K, V))), N, input_layout="BNSD")


def test_masks_of_dropout():
    graphc.set_seed(1)
    packed = ops.DropoutGenMask()((3, 50), Tensor(0.25, graphc.float32))
    assert (packed.shape, str(packed.dtype)) == ((32,), "UInt8")
    bits = np.unpackbits(packed.asnumpy(), bitorder="little")[:150].reshape(3, 50)
    assert 0.1 < bits.mean() < 0.4
    x = RNG.standard_normal((3, 50)).astype(np.float32)
    for keep in (0.25, Tensor(0.25, graphc.float32)):
        made = ops.DropoutDoMask()(Tensor(x), packed, keep)
        np.testing.assert_allclose(made.asnumpy(), np.where(bits, x / 0.25, 0), rtol=1e-6)
    with pytest.raises(ValueError, match="of 600 bits"):
        ops.DropoutDoMask()(Tensor(np.ones(600, np.float32)), packed, 0.5)
