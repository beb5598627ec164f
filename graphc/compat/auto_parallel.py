"""`mindspore.parallel.auto_parallel`: a network divided over processes, of which there is one here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import parallel
from graphc.compat.checkparam import check_string
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.validation.unused_arguments import no_effect, only

_MODES = ("semi_auto", "sharding_propagation", "recursive_programming")
_ONE = "there is one process"


class AutoParallel(Cell):
    """The network itself, under its own names (MindSpore: parallel.auto_parallel.AutoParallel).

    parallel_mode: "semi_auto", "sharding_propagation" or "recursive_programming". What its methods set is said once to have no
    effect. Raises ArgumentTypeError for what is no Cell, ArgumentValueError for other modes, and in one of several processes.
    """

    def __init__(self, network: Cell, parallel_mode: str = "semi_auto") -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise ArgumentTypeError(
                f"AutoParallel: network must be a Cell, got {type(network).__name__}", loc=user_loc()
            )
        check_string(parallel_mode, _MODES, "parallel_mode", "AutoParallel")
        if parallel.get_group_size() > 1:
            raise ArgumentValueError(
                "AutoParallel: a network is not divided over several processes by itself",
                code="GC112",
                loc=user_loc(),
                help="use data parallel training, or layers with shard= (docs/parallel.md)",
            )
        self.network = network

    def construct(self, *inputs: Any, **named: Any) -> Any:
        return self.network(*inputs, **named)

    def get_pipeline_stages(self) -> int:
        """1."""
        return 1

    def pipeline(
        self, stages: int = 1, output_broadcast: bool = False, interleave: bool = False, scheduler: str = "1f1b"
    ) -> None:
        """One stage is one network; ArgumentValueError GC112 for more."""
        only("pipeline", "stages", stages, 1)
        for name, value, usual in (
            ("output_broadcast", output_broadcast, False),
            ("interleave", interleave, False),
            ("scheduler", scheduler, "1f1b"),
        ):
            if value != usual:
                no_effect("AutoParallel.pipeline", name, _ONE)


def _setting(name: str) -> Callable[..., None]:
    """A method that takes what MindSpore's takes, and says once that it does nothing."""

    def method(self: AutoParallel, *args: Any, **kwargs: Any) -> None:
        no_effect("AutoParallel", name, _ONE)

    method.__name__, method.__doc__ = name, f"Nothing, said once: {_ONE}."
    return method


for _name in (
    "comm_fusion", "dataset_strategy", "disable_gradient_fp32_sync", "disable_loss_repeated_mean",
    "disable_strategy_file_only_for_trainable_params", "dump_local_norm", "enable_device_local_norm",
    "enable_fp32_communication", "enable_gradients_mean", "hsdp", "load_operator_strategy_file",
    "load_param_strategy_file", "no_init_parameters_in_compile", "print_local_norm", "save_operator_strategy_file",
    "save_param_strategy_file", "set_group_ckpt_save_file", "transformer_opt",
):  # fmt: skip
    setattr(AutoParallel, _name, _setting(_name))

__all__ = ["AutoParallel"]
