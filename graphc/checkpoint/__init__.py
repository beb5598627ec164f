"""Checkpoints: state of a Cell in one file, in MindSpore's .ckpt format or as safetensors.

A training cell's parameters include the optimizer's state, the loss scale and its counters, and the random states of
its layers are saved with them, so a run continues exactly where it was saved.
"""

from graphc.checkpoint.converting import ckpt_to_safetensors, safetensors_to_ckpt
from graphc.checkpoint.into_net import load_param_into_net
from graphc.checkpoint.loading import load_checkpoint, load_checkpoint_async
from graphc.checkpoint.saving import async_ckpt_thread_status, save_checkpoint
from graphc.checkpoint.torch_names import TORCH_NAMES, Rule, rename_torch
from graphc.validation.signatures import accept

__all__ = [
    "TORCH_NAMES",
    "Rule",
    "async_ckpt_thread_status",
    "ckpt_to_safetensors",
    "load_checkpoint",
    "load_checkpoint_async",
    "load_param_into_net",
    "rename_torch",
    "safetensors_to_ckpt",
    "save_checkpoint",
]

accept(globals(), __all__, __name__)
