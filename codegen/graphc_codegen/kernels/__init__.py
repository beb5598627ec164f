"""The named kernels, by the name a `NamedKernel` gives. Not here: what planners must know of them (`kernel_facts`).

Operands of a call must not overlap. Every size is at least 1.
"""

from __future__ import annotations

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.assignment import ASSIGNMENT
from graphc_codegen.kernels.attention.backward import ATTENTION_GRAD
from graphc_codegen.kernels.attention.forward import ATTENTION
from graphc_codegen.kernels.banded import BANDED
from graphc_codegen.kernels.base import Emitter
from graphc_codegen.kernels.border import BORDER_PAD, BORDER_PAD_GRAD
from graphc_codegen.kernels.bounds import IN_BOUNDS
from graphc_codegen.kernels.cholesky import CHOLESKY
from graphc_codegen.kernels.collective import COLLECTIVE_MOVE, COLLECTIVE_START, COLLECTIVE_WAIT, MESSAGE_WAIT
from graphc_codegen.kernels.conv.channels import CONV2D_CHANNELS
from graphc_codegen.kernels.conv.filter_grad import CONV2D_FILTER_GRAD
from graphc_codegen.kernels.conv.forward import CONV2D
from graphc_codegen.kernels.conv.pairing import PAIR_CHANNELS
from graphc_codegen.kernels.cumulative import CUMSUM
from graphc_codegen.kernels.custom import CUSTOM
from graphc_codegen.kernels.diagonal_form import DIAGONAL_FORM
from graphc_codegen.kernels.eigh import EIGH
from graphc_codegen.kernels.elements import GATHER_ELEMENTS, SCATTER_ELEMENTS
from graphc_codegen.kernels.exchanges import EXCHANGES, ROW_ORDER
from graphc_codegen.kernels.fourier.kernel import FOURIER, FOURIER_HALF, FOURIER_REAL
from graphc_codegen.kernels.fourier.rows import FOURIER_ROWS, FOURIER_ROWS_HALF, FOURIER_ROWS_REAL
from graphc_codegen.kernels.gemm.packed import PACK_FACTOR, PACK_PANELS
from graphc_codegen.kernels.gemm.product import GEMM
from graphc_codegen.kernels.grouped import ADD_ROWS, LIST_ROWS
from graphc_codegen.kernels.index import ARGMAX, FLOAT_STATUS, GATHER, GATHER_GRAD
from graphc_codegen.kernels.lu import LU, LU_SOLVE
from graphc_codegen.kernels.narrow import has_halves, on_halves
from graphc_codegen.kernels.nonzero import NONZERO
from graphc_codegen.kernels.partial_sort import PARTIAL_ARGSORT
from graphc_codegen.kernels.pinv import PINV
from graphc_codegen.kernels.pool.average import AVG_POOL, AVG_POOL_GRAD
from graphc_codegen.kernels.pool.maximum import MAX_POOL, MAX_POOL_GRAD
from graphc_codegen.kernels.running import CUMEXTREMUM, CUMPROD, RECURRENCE
from graphc_codegen.kernels.scatter import LOG, SCATTER
from graphc_codegen.kernels.select import FIRST_PLACES
from graphc_codegen.kernels.softmax.rows import (
    LOG_SOFTMAX,
    LOG_SOFTMAX_GRAD,
    SOFTMAX,
    SOFTMAX_CROSS_ENTROPY,
    SOFTMAX_GRAD,
)
from graphc_codegen.kernels.sort import ARGSORT, SEARCH
from graphc_codegen.kernels.sparse import CSR_PRODUCT
from graphc_codegen.kernels.triangular import TRIANGULAR_SOLVE
from graphc_codegen.kernels.window import WINDOW_CLOSE, WINDOW_FOLD, WINDOW_OPEN, WINDOW_PUT, WINDOW_TAKE
from graphc_codegen.kernels.winograd.batch import CONV2D_BATCH_WINOGRAD
from graphc_codegen.kernels.winograd.batch_filter_grad import CONV2D_FILTER_GRAD_BATCH_WINOGRAD
from graphc_codegen.kernels.winograd.filter_grad import CONV2D_FILTER_GRAD_WINOGRAD
from graphc_codegen.kernels.winograd.forward import CONV2D_WINOGRAD
from graphc_codegen.kernels.winograd.line_filter_grad import CONV2D_FILTER_GRAD_LINE_WINOGRAD
from graphc_codegen.kernels.winograd.line_forward import CONV2D_LINE_WINOGRAD
from graphc_codegen.program import NamedKernel

#: By name; `kernel_facts` has a row for each.
EMITTERS: dict[str, Emitter] = {
    "gemm": GEMM,
    "pack_factor": PACK_FACTOR,
    "pack_panels": PACK_PANELS,
    "conv2d": CONV2D,
    "conv2d_channels": CONV2D_CHANNELS,
    "pair_channels": PAIR_CHANNELS,
    "conv2d_filter_grad": CONV2D_FILTER_GRAD,
    "conv2d_winograd": CONV2D_WINOGRAD,
    "conv2d_batch_winograd": CONV2D_BATCH_WINOGRAD,
    "conv2d_filter_grad_batch_winograd": CONV2D_FILTER_GRAD_BATCH_WINOGRAD,
    "conv2d_filter_grad_winograd": CONV2D_FILTER_GRAD_WINOGRAD,
    "conv2d_line_winograd": CONV2D_LINE_WINOGRAD,
    "conv2d_filter_grad_line_winograd": CONV2D_FILTER_GRAD_LINE_WINOGRAD,
    "max_pool": MAX_POOL,
    "max_pool_grad": MAX_POOL_GRAD,
    "avg_pool": AVG_POOL,
    "avg_pool_grad": AVG_POOL_GRAD,
    "softmax": SOFTMAX,
    "log_softmax": LOG_SOFTMAX,
    "softmax_grad": SOFTMAX_GRAD,
    "log_softmax_grad": LOG_SOFTMAX_GRAD,
    "softmax_cross_entropy": SOFTMAX_CROSS_ENTROPY,
    "attention": ATTENTION,
    "attention_grad": ATTENTION_GRAD,
    "argmax": ARGMAX,
    "banded": BANDED,
    "border_pad": BORDER_PAD,
    "border_pad_grad": BORDER_PAD_GRAD,
    "cumsum": CUMSUM,
    "cumprod": CUMPROD,
    "cumextremum": CUMEXTREMUM,
    "recurrence": RECURRENCE,
    "float_status": FLOAT_STATUS,
    "in_bounds": IN_BOUNDS,
    "gather": GATHER,
    "gather_grad": GATHER_GRAD,
    "scatter": SCATTER,
    "list_rows": LIST_ROWS,
    "add_rows": ADD_ROWS,
    "gather_elements": GATHER_ELEMENTS,
    "scatter_elements": SCATTER_ELEMENTS,
    "argsort": ARGSORT,
    "partial_argsort": PARTIAL_ARGSORT,
    "first_places": FIRST_PLACES,
    "assignment": ASSIGNMENT,
    "eigh": EIGH,
    "pinv": PINV,
    "diagonal_form": DIAGONAL_FORM,
    "exchanges": EXCHANGES,
    "row_order": ROW_ORDER,
    "nonzero": NONZERO,
    "search": SEARCH,
    "fourier": FOURIER,
    "fourier_real": FOURIER_REAL,
    "fourier_half": FOURIER_HALF,
    "fourier_rows": FOURIER_ROWS,
    "fourier_rows_real": FOURIER_ROWS_REAL,
    "fourier_rows_half": FOURIER_ROWS_HALF,
    "cholesky": CHOLESKY,
    "lu": LU,
    "lu_solve": LU_SOLVE,
    "triangular_solve": TRIANGULAR_SOLVE,
    "log": LOG,
    "csr_product": CSR_PRODUCT,
    "custom": CUSTOM,
    "collective_start": COLLECTIVE_START,
    "collective_move": COLLECTIVE_MOVE,
    "collective_wait": COLLECTIVE_WAIT,
    "message_wait": MESSAGE_WAIT,
    "window_put": WINDOW_PUT,
    "window_open": WINDOW_OPEN,
    "window_fold": WINDOW_FOLD,
    "window_take": WINDOW_TAKE,
    "window_close": WINDOW_CLOSE,
}


def emitter(kernel: NamedKernel) -> Emitter:
    """What writes a kernel. Raises CodegenError for an unknown one."""
    if kernel.name not in EMITTERS:
        raise CodegenError(f"there is no kernel named {kernel.name!r}; known are {', '.join(sorted(EMITTERS))}")
    made = EMITTERS[kernel.name]
    return on_halves(made) if has_halves(dict(kernel.params)) else made
