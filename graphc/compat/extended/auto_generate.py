"""Of `mindspore.ops.auto_generate`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(
    globals(),
    "acos_ext acosh_ext argmax_ext argmin_ext argsort_ext asin_ext asinh_ext atan2_ext atan_ext "
    "avg_pool1d_ext batch_norm_elemt batch_norm_gather_stats_with_counts batch_norm_stats bincount_ext "
    "bmm_ext broadcast_to_view=broadcast_to clone conv_tbc cummin_ext cumsum_ext diag_ext flatten_ext "
    "fold_ext frac_ext histc_ext index_select_ext inplace_addr=addr_ inplace_hardtanh=hardtanh_ "
    "inplace_threshold=threshold_ isneginf_ext leaky_relu_ext linalg_qr=qr log10_ext log2_ext "
    "logaddexp_ext logsumexp_ext max_unpool2d_ext mm_ext narrow_view=narrow npu_gelu outer_ext "
    "select_ext_view=select stack_ext topk_ext trace_ext transpose_ext_view=transpose triangular_solve "
    "unfold_ext vdot",
)
