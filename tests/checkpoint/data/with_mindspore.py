"""Run by a Python that has MindSpore 2.10: `write DIR` writes the files beside this one, `read FILE` prints one as
JSON, `train FILE` loads one into a training cell and prints what is not loaded.
"""

import json
import sys
from pathlib import Path

import mindspore as ms
import numpy as np

DTYPES = ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool_")
FOREIGN = ("uint16", "uint32", "uint64")


def parameters(names):
    arrays = ((name, np.array([[1, 0, 2], [3, 1, 0]])) for name in names)
    return {name: ms.Parameter(ms.Tensor(array, getattr(ms, name)), name=name) for name, array in arrays}


def training():
    """A training cell with what optimizers, loss scales and layers keep."""
    net = ms.nn.SequentialCell(ms.nn.Dense(3, 2), ms.nn.BatchNorm1d(2), ms.nn.LayerNorm((2,)), ms.nn.Embedding(5, 2))
    loss = ms.nn.WithLossCell(net, ms.nn.MSELoss())
    optimizer = ms.nn.Adam(net.trainable_params(), 0.01)
    return ms.nn.TrainOneStepWithLossScaleCell(loss, optimizer, ms.nn.DynamicLossScaleUpdateCell(1024.0, 2, 100))


def train(file):
    print(json.dumps(ms.load_param_into_net(training(), ms.load_checkpoint(file), strict_load=True)))


def write(folder):
    ms.set_seed(1)
    ms.save_checkpoint(training(), f"{folder}/training.ckpt")
    everything = parameters(DTYPES)
    everything["scalar"] = ms.Parameter(ms.Tensor(np.float32(2.5)), name="scalar")
    everything["text"] = "häß 权"
    appended = {"epoch_num": 3, "lr": 0.1, "flag": True, "name": "résumé"}
    ms.save_checkpoint(everything, f"{folder}/mindspore.ckpt", append_dict=appended)
    ms.save_checkpoint(everything, f"{folder}/crc.ckpt", crc_check=True)
    ms.save_checkpoint(parameters(DTYPES), f"{folder}/mindspore.safetensors", format="safetensors")
    # MindSpore's CRC of safetensors fails for bfloat16.
    kept = [n for n in DTYPES if n != "bfloat16"]
    ms.save_checkpoint(parameters(kept), f"{folder}/crc.safetensors", crc_check=True, format="safetensors")
    ms.save_checkpoint(parameters(("float32", *FOREIGN)), f"{folder}/foreign.ckpt")
    for mode in ("AES-GCM", "AES-CBC", "SM4-CBC"):
        ms.save_checkpoint(parameters(["int8"]), f"{folder}/{mode}.ckpt", enc_key=b"0123456789abcdef", enc_mode=mode)
    for file in (*Path(folder).glob("*.ckpt"), *Path(folder).glob("*.safetensors")):
        file.chmod(0o644)


def shown(value):
    """A text, or dtype, shape and the first and last eight bytes of a parameter, and the sum of all."""
    if isinstance(value, str):
        return value
    # A view of the bytes: NumPy has no bfloat16, and MindSpore's is not ml_dtypes'.
    data = bytes(value.get_bytes())
    return [
        str(value.dtype).lower(),
        list(value.shape),
        data[:8].hex(),
        data[-8:].hex(),
        int(np.frombuffer(data, "u1").sum()),
    ]


def read(file):
    loaded = ms.load_checkpoint(file, format=file.rpartition(".")[2], crc_check="crc" in file)
    print(json.dumps({name: shown(value) for name, value in loaded.items()}))


if __name__ == "__main__":
    {"write": write, "read": read, "train": train}[sys.argv[1]](sys.argv[2])
