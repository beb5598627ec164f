"""MindSpore's .ckpt messages in the library of Protocol Buffers, which tells what their bytes mean."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_OPTIONAL, _REQUIRED, _REPEATED = 1, 2, 3
_INT64, _STRING, _MESSAGE, _BYTES = 3, 9, 11, 12
#: Message -> fields: name, number, label, type, name of a message, which oneof.
_MESSAGES: dict[str, list[tuple[Any, ...]]] = {
    "Checkpoint": [("value", 1, _REPEATED, _MESSAGE, ".Checkpoint.Value")],
    "Checkpoint.Value": [
        ("tag", 1, _REQUIRED, _STRING),
        ("tensor", 2, _OPTIONAL, _MESSAGE, ".TensorProto", 0),
        ("maptensor", 3, _OPTIONAL, _MESSAGE, ".MapTensorProto", 0),
    ],
    "TensorProto": [
        ("dims", 1, _REPEATED, _INT64),
        ("tensor_type", 2, _REQUIRED, _STRING),
        ("tensor_content", 3, _REQUIRED, _BYTES),
    ],
    "MapTensorProto": [("tensor", 1, _REPEATED, _MESSAGE, ".TensorProto")],
}


def _checkpoint() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="checkpoint.proto", syntax="proto2")
    made: dict[str, Any] = {}
    for name, fields in _MESSAGES.items():
        outer, _, inner = name.partition(".")
        message = made[outer].nested_type.add(name=inner) if inner else file.message_type.add(name=outer)
        made[name] = message
        if name == "Checkpoint.Value":
            message.oneof_decl.add(name="value")
        for field_name, number, label, kind, *rest in fields:
            field = message.field.add(name=field_name, number=number, label=label, type=kind)
            if rest:
                field.type_name = rest[0]
            if rest[1:]:
                field.oneof_index = rest[1]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Checkpoint"))


Checkpoint = _checkpoint()
