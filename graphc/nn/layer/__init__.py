"""Layers: Cells with parameters, activations, pooling, containers. No losses, no optimizers."""

from typing import TYPE_CHECKING

from graphc.nn.layer import (
    activation,
    adaptive_pooling,
    attention,
    combined,
    container,
    conv,
    conv3d,
    conv_transpose,
    embedding,
    functions,
    images,
    linear,
    normalization,
    padding,
    pooling,
    pooling_ext,
    rearrange,
    recurrent,
    regularization,
    sparse,
    transformer,
)
from graphc.nn.layer.activation import *
from graphc.nn.layer.adaptive_pooling import *
from graphc.nn.layer.attention import *
from graphc.nn.layer.combined import *
from graphc.nn.layer.container import *
from graphc.nn.layer.conv import *
from graphc.nn.layer.conv3d import *
from graphc.nn.layer.conv_transpose import *
from graphc.nn.layer.embedding import *
from graphc.nn.layer.functions import *
from graphc.nn.layer.images import *
from graphc.nn.layer.linear import *
from graphc.nn.layer.normalization import *
from graphc.nn.layer.padding import *
from graphc.nn.layer.pooling import *
from graphc.nn.layer.pooling_ext import *
from graphc.nn.layer.rearrange import *
from graphc.nn.layer.recurrent import *
from graphc.nn.layer.regularization import *
from graphc.nn.layer.sparse import *
from graphc.nn.layer.transformer import *

if not TYPE_CHECKING:
    __all__ = [
        name
        for module in (
            activation,
            adaptive_pooling,
            attention,
            combined,
            container,
            conv,
            conv3d,
            conv_transpose,
            embedding,
            functions,
            images,
            linear,
            normalization,
            padding,
            pooling,
            pooling_ext,
            pooling_ext,
            rearrange,
            recurrent,
            regularization,
            sparse,
            transformer,
        )
        for name in module.__all__
    ]
