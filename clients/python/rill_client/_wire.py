# SPDX-License-Identifier: MIT
"""Messages to bytes and back: as much of protobuf as rilld speaks, driven by the tables of _messages.py.

A message is a dict of field names; what is not set has its default, repeated fields are lists, an absent submessage is
None. Enumerations are numbers. Unknown fields are passed over; bytes that are no message raise ProtocolError.
"""
from __future__ import annotations

import struct
from typing import Any, Dict, List, Tuple

from ._messages import MESSAGES, ONEOFS
from .errors import ProtocolError

Message = Dict[str, Any]
_DEFAULTS = {"uint32": 0, "uint64": 0, "sint32": 0, "bool": False, "float": 0.0, "string": "", "bytes": b""}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _encode_one(number: int, kind: str, value: Any) -> bytes:
    if kind.startswith("message:"):
        body = encode(kind[8:], value)
        return _tag(number, 2) + _varint(len(body)) + body
    if kind == "string":
        value = value.encode("utf-8")
    if kind in ("string", "bytes"):
        return _tag(number, 2) + _varint(len(value)) + bytes(value)
    if kind == "float":
        return _tag(number, 5) + struct.pack("<f", value)
    bits = 64 if kind in ("uint64", "bool") else 32
    value = int(value)
    if kind == "sint32":
        value = 2 * value if value >= 0 else -2 * value - 1
    if not 0 <= value < 1 << bits:
        raise ValueError("%d does not fit field %d (%s)" % (value, number, kind))
    return _tag(number, 0) + _varint(value)


def encode(name: str, message: Message) -> bytes:
    """The bytes of a message; fields at their default are left out."""
    fields = {field: (number, kind, repeated) for number, (field, kind, repeated) in MESSAGES[name].items()}
    oneof = ONEOFS.get(name, ())
    parts: List[bytes] = []
    for field, value in message.items():
        number, kind, repeated = fields[field]
        if repeated:
            parts += [_encode_one(number, kind, item) for item in value]
        elif field in oneof or (value is not None if kind.startswith("message:") else value):
            parts.append(_encode_one(number, kind, value))
    return b"".join(parts)


def _read_varint(data: memoryview, at: int, end: int) -> Tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ProtocolError("a number in a message does not end")


def _read_field(data: memoryview, at: int, end: int, wire_type: int) -> Tuple[Any, int]:
    """The raw value of one field: a number, or the bytes of it."""
    if wire_type == 0:
        return _read_varint(data, at, end)
    if wire_type == 2:
        length, at = _read_varint(data, at, end)
    elif wire_type in (1, 5):
        length = 8 if wire_type == 1 else 4
    else:
        raise ProtocolError("a message has a field of wire type %d" % wire_type)
    if length > end - at:
        raise ProtocolError("a field reaches beyond its message")
    return data[at:at + length], at + length


_WIRE_TYPES = {"float": 5, "string": 2, "bytes": 2}


def _wire_type(kind: str) -> int:
    return 2 if kind.startswith("message:") else _WIRE_TYPES.get(kind, 0)


def _convert(kind: str, raw: Any, depth: int) -> Any:
    if kind.startswith("message:"):
        return _decode(kind[8:], raw, depth + 1)
    if kind == "string":
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            raise ProtocolError("a text is not UTF-8") from None
    if kind == "bytes":
        return bytes(raw)
    if kind == "float":
        return struct.unpack("<f", raw)[0]
    if kind == "bool":
        return raw != 0
    if kind == "sint32":
        raw &= 0xFFFFFFFF
        return (raw >> 1) ^ -(raw & 1)
    return raw if kind == "uint64" else raw & 0xFFFFFFFF


def _unpack(kind: str, raw: memoryview) -> List[Any]:
    """Several numbers in one field."""
    out, at = [], 0
    while at < len(raw):
        value, at = _read_field(raw, at, len(raw), _wire_type(kind))
        out.append(_convert(kind, value, 0))
    return out


def _default(kind: str, repeated: bool) -> Any:
    if repeated:
        return []
    return None if kind.startswith("message:") else _DEFAULTS.get(kind, 0)


def _decode(name: str, data: memoryview, depth: int) -> Message:
    fields, oneof = MESSAGES[name], ONEOFS.get(name, ())
    out: Message = {f: _default(kind, repeated) for f, kind, repeated in fields.values() if f not in oneof}
    at, end = 0, len(data)
    while at < end:
        tag, at = _read_varint(data, at, end)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ProtocolError("a message has field number %d" % number)
        raw, at = _read_field(data, at, end, wire_type)
        if number not in fields or depth > 8:
            continue
        field, kind, repeated = fields[number]
        if wire_type == _wire_type(kind):
            value = _convert(kind, raw, depth)
            if repeated:
                out[field].append(value)
            else:
                out[field] = value
        elif repeated and wire_type == 2 and _wire_type(kind) != 2:
            out[field] += _unpack(kind, raw)
        else:
            raise ProtocolError("%s.%s has wire type %d" % (name, field, wire_type))
    return out


def decode(name: str, data: bytes) -> Message:
    """A message from its bytes. Of a oneof only the member that came is in the dict."""
    return _decode(name, memoryview(data), 0)
