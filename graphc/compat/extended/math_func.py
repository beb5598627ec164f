"""Of `mindspore.ops.function.math_func`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(
    globals(),
    "acos_ext acosh_ext addbmm_ext addmm_ext addmv_ext amax_ext amin_ext arccos_ext arccosh_ext arcsin_ext "
    "arcsinh_ext arctan2_ext arctan_ext argmax_ext asin_ext asinh_ext atan2_ext atan_ext bincount_ext "
    "bitwise_and_ext bitwise_or_ext bitwise_xor_ext bmm_ext frac_ext histc_ext inverse_ext linalg_norm=linalg.norm "
    "matrix_norm_ext median_ext norm_ext pow_ext std_ext std_mean_ext var_ext var_mean_ext vector_norm_ext",
)
