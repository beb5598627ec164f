"""Every module that declares ops: importing this one fills the registry."""

from graphc.ops import (  # noqa: F401
    casts,
    control,
    custom_grad,
    elementwise,
    image,
    linalg,
    loss,
    maths,
    more_elementwise,
    printing,
    random,
    reduce,
    scattering,
    shape,
    state,
)
