"""The transformer (Vaswani et al., "Attention is all you need", 2017): its layers, stacks of them, both together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from graphc import ops
from graphc.errors import KindError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.activation import get_activation
from graphc.nn.layer.attention import MultiheadAttention
from graphc.nn.layer.container import CellList
from graphc.nn.layer.linear import Dense
from graphc.nn.layer.normalization import LayerNorm
from graphc.nn.layer.regularization import Dropout
from graphc.ops.tensor.seed import new_state
from graphc.ops.tensor.tensor import Tensor

Activation = str | Cell | Callable[[Tensor], Tensor]


class _Layer(Cell):
    """What layers of encoder and decoder share: attention of a sequence to itself, then two Dense layers.

    Each part is added to what it is computed from; behind each sum, or with norm_first before each part, the last axis is
    normalized.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        #: All arguments, for stacks of such layers.
        self.options: tuple[Any, ...] = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
        )
        self.options += (norm_first, dtype)
        self.d_model, self.nhead, self.dim_feedforward, self.batch_first = d_model, nhead, dim_feedforward, batch_first
        self.norm_first = checks.boolean(owner, "norm_first", norm_first)
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self._make_cross_attention()
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=float(dropout))
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(p=float(dropout)), Dropout(p=float(dropout))
        # Of the name "gelu" this is the exact function, not the approximation that nn.GELU begins with.
        named = ops.gelu if activation == "gelu" else None
        self.activation: Any = named or get_activation(activation, owner) if isinstance(activation, str) else activation
        if not callable(self.activation):
            raise KindError(
                f"{owner}: activation must be a name, a Cell or a function, got {type(activation).__name__}",
                loc=user_loc(),
            )

    def _make_cross_attention(self) -> None:
        """The decoder's attention to what it decodes from; its parameters come before those of the Dense layers."""

    def _attended(self, x: Tensor, mask: Any, padding: Any) -> Tensor:
        made: Tensor = self.dropout1(self.self_attn(x, x, x, padding, False, mask)[0])
        return made

    def _forward(self, x: Tensor, drop: Cell) -> Tensor:
        made: Tensor = drop(self.dense2(self.dropout(self.activation(self.dense1(x)))))
        return made

    def _added(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: Cell) -> Tensor:
        made: Tensor = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return made


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two Dense layers, each with a residual connection and LayerNorm (MindSpore:
    nn.TransformerEncoderLayer).

    src [L, N, d_model], [N, L, d_model] with batch_first, or [L, d_model]; masks as for MultiheadAttention. norm_first
    normalizes before each part instead of behind it. Raises ArgumentTypeError or ArgumentValueError for arguments, ShapeError
    or DTypeError for inputs.
    """

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        x = self._added(src, lambda y: self._attended(y, src_mask, src_key_padding_mask), self.norm1)
        return self._added(x, lambda y: self._forward(y, self.dropout2), self.norm2)


class TransformerDecoderLayer(_Layer):
    """As TransformerEncoderLayer, with attention to `memory`, what the encoder has made, in between (MindSpore:
    nn.TransformerDecoderLayer).

    tgt [T, N, d_model] and memory [S, N, d_model], or as for TransformerEncoderLayer; tgt_mask [T, T], memory_mask [T, S],
    tgt_key_padding_mask [N, T], memory_key_padding_mask [N, S]. The result has the shape of tgt.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype
        )
        self.norm3 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout3 = Dropout(p=float(dropout))

    def _make_cross_attention(self) -> None:
        d_model, nhead, _, dropout, *_, batch_first, _, dtype = self.options
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        def look(y: Tensor) -> Tensor:
            found = self.multihead_attn(y, memory, memory, memory_key_padding_mask, False, memory_mask)[0]
            made: Tensor = self.dropout2(found)
            return made

        x = self._added(tgt, lambda y: self._attended(y, tgt_mask, tgt_key_padding_mask), self.norm1)
        x = self._added(x, look, self.norm2)
        return self._added(x, lambda y: self._forward(y, self.dropout3), self.norm3)


Kind = TypeVar("Kind", bound=_Layer)


def _stack(owner: str, layer: Any, kind: type[Kind], count: int) -> CellList:
    """A new layer with the given one's options, `count` times: equal weights, masks of their own."""
    if not isinstance(layer, kind):
        raise checks.wrong_type(owner, "the layer", f"a {kind.__name__}", layer)
    first = kind(*layer.options)
    layers = [first, *(copy.deepcopy(first) for _ in range(checks.integer(owner, "num_layers", count) - 1))]
    for made in layers[1:]:
        for _, cell in made.cells_and_names():
            if isinstance(cell, Dropout):
                object.__setattr__(cell, "state", new_state("Dropout"))
    return CellList(layers)


class TransformerEncoder(Cell):
    """num_layers encoder layers, one behind the other, and `norm` at the end (MindSpore: nn.TransformerEncoder).

    encoder_layer is a pattern: the layers have its options and new weights, equal ones at the start. Inputs as for
    TransformerEncoderLayer.
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _stack("TransformerEncoder", encoder_layer, TransformerEncoderLayer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        x = src
        for layer in self.layers:
            x = layer(x, src_mask, src_key_padding_mask)
        made: Tensor = x if self.norm is None else self.norm(x)
        return made


class TransformerDecoder(Cell):
    """num_layers decoder layers, one behind the other, and `norm` at the end (MindSpore: nn.TransformerDecoder).

    decoder_layer is a pattern, as for TransformerEncoder. Inputs as for TransformerDecoderLayer.
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _stack("TransformerDecoder", decoder_layer, TransformerDecoderLayer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        x = tgt
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        made: Tensor = x if self.norm is None else self.norm(x)
        return made


class Transformer(Cell):
    """Encoder and decoder (MindSpore: nn.Transformer).

    src [S, N, d_model] and tgt [T, N, d_model], with batch_first [N, S, d_model] and [N, T, d_model], or without N; the
    result has the shape of tgt. Masks as for the decoder layer, True or minus infinity where nothing is attended to.
    custom_encoder, custom_decoder: Cells to use instead, called with the same arguments. Weights of two and more axes start
    as XavierUniform. Raises ShapeError for sequences of other sizes, and what the layers raise.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self.d_model, self.nhead = checks.integer("Transformer", "d_model", d_model), nhead
        self.batch_first = checks.boolean("Transformer", "batch_first", batch_first)
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)

        def norm() -> LayerNorm:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        # What is given is used, whatever it says of its own length or truth.
        self.encoder: Any = custom_encoder
        if custom_encoder is None:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        self.decoder: Any = custom_decoder
        if custom_decoder is None:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        for p in self.get_parameters():
            if p.ndim > 1:
                p.set_data(initializer("xavier_uniform", p.shape, p.dtype))

    def construct(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        self._check(src, tgt)
        memory = self.encoder(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        made: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
        )
        return made

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        axis = 0 if self.batch_first else 1
        sizes = all(x.ndim in (2, 3) and x.shape[-1] == self.d_model for x in (src, tgt))
        if not sizes or src.ndim != tgt.ndim or (src.ndim == 3 and src.shape[axis] != tgt.shape[axis]):
            raise ShapeError(
                f"Transformer: src and tgt must have a last axis of d_model = {self.d_model}, and one batch size",
                loc=user_loc(),
                details=[f"src: {src.tensor_type}", f"tgt: {tgt.tensor_type}", f"the axis of the batch is {axis}"],
            )


__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
