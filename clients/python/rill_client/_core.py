# SPDX-License-Identifier: MIT
"""The protocol without a socket: bytes that came in, bytes to send, and what each stream may do.

The blocking and the asyncio client are thin layers around this.
"""
from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, Iterable, List, Mapping, Optional, Tuple, Union
from collections import deque

from . import events as ev
from ._messages import ENUMS
from ._wire import Message, decode, encode
from .errors import ConnectionLost, DaemonError, ProtocolError, RillError, StreamEnded, daemon_error

PREFACE = b"RILL\x01\x00\x00\x00"
MAX_MESSAGE_BYTES = 1 << 20
CHUNK_SAMPLES = 4096
PART_BYTES, PART_EXTRA = 65024, 512     # of frames in a message, and for the rest of it
FULL_WAIT = 0.01                        # seconds until a daemon whose queue is full is asked again
SOCKET = "/run/rilld/rilld.sock"
CONTROL = "/run/rilld/control.sock"

_ENCODINGS = {"s16": ev.Encoding.S16, "s24": ev.Encoding.S24, "s32": ev.Encoding.S32, "f32": ev.Encoding.F32}
_OUTPUTS = {"audio": 1, "vad": 2, "transcript": 3, "keyword": 4, "endpoint": 5}
_PACES = {"live": 0, "file": 1}
_ACCESS = {"same-uid": 1, "all": 2}
_FROM = {"now": 0, "oldest": 1, "pos": 2}

EncodingLike = Union[str, ev.Encoding]


def socket_path(path: Optional[str], variable: str, default: str) -> str:
    return path or os.environ.get(variable) or default


def pick(what: str, names: Mapping[str, int], value: Any) -> int:
    """A number of the protocol by its name; numbers pass."""
    if isinstance(value, int):
        return int(value)
    if value not in names:
        raise ValueError("%s is one of %s, not %r" % (what, ", ".join(names), value))
    return names[value]


@dataclass
class PortState:
    """What both sides know of an input."""
    port: ev.Port
    frames: int = 0                 #: that were sent
    part_bytes: int = 0             #: of the frame behind them
    limit_frames: int = 0

    @property
    def credit(self) -> int:
        """Frames that may be begun now."""
        return max(0, self.limit_frames - self.frames)


@dataclass
class StreamState:
    """What both sides know of one stream."""
    id: int
    frame_bytes: int = 0            #: of the input
    seq: int = 0
    pos: int = 0
    limit_pos: int = 0
    discont: bool = False
    failure: Optional[RillError] = None
    finished: Optional[ev.Finished] = None
    queue: Deque[ev.Event] = field(default_factory=deque)
    inputs: Dict[str, PortState] = field(default_factory=dict)  #: of a stream of ports

    @property
    def ended(self) -> bool:
        return self.failure is not None or self.finished is not None

    @property
    def credit(self) -> int:
        """Samples that may be sent now."""
        return 0 if self.ended else max(0, self.limit_pos - self.pos)

    def check(self) -> None:
        """Raises where nothing can be sent any more."""
        if self.failure is not None:
            raise self.failure
        if self.finished is not None:
            raise StreamEnded("stream %d is finished" % self.id)


def pcm_message(rate: int, channels: int, encoding: EncodingLike) -> Message:
    return {"rate": rate, "channels": channels, "enc": pick("encoding", _ENCODINGS, encoding)}


def open_message(stream: int, model: str, rate: int, channels: int, encoding: EncodingLike, out_rate: Optional[int],
                 out_channels: Optional[int], out_encoding: Optional[EncodingLike], pace: str, align: bool,
                 want: Iterable[str], max_latency_ms: int, options: Optional[Mapping[str, Any]]) -> Message:
    return {
        "stream": stream,
        "model": model,
        "in": pcm_message(rate, channels, encoding),
        "out": pcm_message(out_rate or rate, out_channels or channels, out_encoding or encoding),
        "pace": pick("pace", _PACES, pace),
        "align": align,
        "max_latency_ms": max_latency_ms,
        "want": [pick("want", _OUTPUTS, w) for w in want],
        "opt": [{"key": k, "value": str(v)} for k, v in (options or {}).items()],
    }


def publish_message(stream: int, topic: str, access: str, keep_ms: int, mute: bool) -> Message:
    return {"stream": stream, "topic": topic, "access": pick("access", _ACCESS, access), "keep_ms": keep_ms, "mute": mute}


def subscribe_message(stream: int, topic: str, start: Union[str, int], want: Iterable[str], channels: int,
                      encoding: Optional[EncodingLike]) -> Message:
    at = start if isinstance(start, int) else 0
    return {"topic": topic, "stream": stream, "from": 2 if isinstance(start, int) else pick("start", _FROM, start), "pos": at,
            "want": [pick("want", _OUTPUTS, w) for w in want],
            "out": pcm_message(0, channels, encoding) if encoding else None}


class Core:
    """One connection's side of the protocol."""

    def __init__(self) -> None:
        self.max_message_bytes = MAX_MESSAGE_BYTES
        self.hello: Message = {}
        self.streams: Dict[int, StreamState] = {}
        self.goaway: Optional[ev.GoAway] = None
        self.failure: Optional[RillError] = None
        self._in = bytearray()
        self._preface = False
        self._req = 0
        self._stream = 0
        self._answers: Dict[int, Deque[Tuple[str, Message]]] = {}

    # ---- out

    def message(self, member: str, message: Message, req: int = 0) -> bytes:
        body = encode("ClientFrame", {"req": req, member: message})
        if len(body) > self.max_message_bytes:
            raise ValueError("a message of %d bytes is over the limit of %d" % (len(body), self.max_message_bytes))
        return struct.pack("<I", len(body)) + body

    def request(self, member: str, message: Message) -> Tuple[int, bytes]:
        """The bytes of a request and the number to ask answer() with."""
        self._req = self._req + 1 if self._req < 0xFFFFFFFF else 1
        data = self.message(member, message, self._req)
        self._answers[self._req] = deque()
        return self._req, data

    def stream_add(self, frame_bytes: int) -> StreamState:
        """A stream with a number of its own; before it is asked for, for its first events may come with the answer."""
        self._stream = self._stream % 0xFFFFFFFF + 1
        while self._stream in self.streams:
            self._stream = self._stream % 0xFFFFFFFF + 1
        state = StreamState(self._stream, frame_bytes)
        self.streams[state.id] = state
        return state

    def audio(self, state: StreamState, pcm: memoryview) -> Tuple[bytes, int]:
        """A message with as much of pcm as credit and a message's limit allow, and its bytes of pcm; 0: wait."""
        most = min(CHUNK_SAMPLES, (self.max_message_bytes - 128) // state.frame_bytes, state.credit)
        n = min(most, len(pcm) // state.frame_bytes)
        if n <= 0:
            return b"", 0
        size = n * state.frame_bytes
        data = self.message("audio", {"stream": state.id, "seq": state.seq, "pos": state.pos, "discont": state.discont,
                                      "cap_us": time.monotonic_ns() // 1000, "pcm": pcm[:size]})
        state.seq = (state.seq + 1) & 0xFFFFFFFF
        state.pos += n
        state.discont = False
        return data, size

    def frames(self, state: StreamState, input_: PortState, data: memoryview) -> Tuple[bytes, int]:
        """As audio(): a message with as many frames of an input, or such a part of one, as may be sent now; 0: wait."""
        size = input_.port.frame_bytes
        most = min(PART_BYTES, self.max_message_bytes - PART_EXTRA)
        if size <= most:
            n = min(most // size, input_.credit, len(data) // size) * size
        else:
            n = min(most - most % input_.port.element_bytes, size - input_.part_bytes, len(data)) if input_.credit else 0
        if n <= 0:
            return b"", 0
        message = self.message("frames", {"stream": state.id, "port": input_.port.name, "pos": input_.frames,
                                          "at_bytes": input_.part_bytes, "data": data[:n], "type": input_.port.type})
        input_.frames += (input_.part_bytes + n) // size
        input_.part_bytes = (input_.part_bytes + n) % size
        return message, n

    # ---- in

    def feed(self, data: bytes) -> int:
        """Takes bytes that came; the number of messages in them."""
        self._in += data
        if not self._preface and not self._preface_take():
            return 0
        at = n = 0
        while len(self._in) - at >= 4:
            (size,) = struct.unpack_from("<I", self._in, at)
            if not 0 < size <= MAX_MESSAGE_BYTES:
                raise ProtocolError("the daemon sent a frame of %d bytes" % size)
            if len(self._in) - at - 4 < size:
                break
            self._handle(decode("ServerFrame", bytes(self._in[at + 4:at + 4 + size])))
            at += 4 + size
            n += 1
        del self._in[:at]
        return n

    def _preface_take(self) -> bool:
        if len(self._in) < len(PREFACE):
            return False
        # In place of the preface an Error may come, such as QUOTA: then messages begin at once.
        self._preface = True
        if self._in[:6] == PREFACE[:6]:
            del self._in[:len(PREFACE)]
        elif self._in[3] != 0:
            raise ProtocolError("the answer is not rilld's preface, or of another major version")
        return True

    def _handle(self, fields: Message) -> None:
        req = fields.pop("req")
        for member, message in fields.items():
            state = self.streams.get(message.get("stream", 0)) if message.get("stream") else None
            if member in ev.STREAM_EVENTS:
                if state is not None:
                    state.queue.append(ev.make(ev.STREAM_EVENTS[member], message))
            elif member in ("credit", "opened"):
                limit = message["limit_pos" if member == "credit" else "credit_samples"]
                if state is not None:
                    state.limit_pos = max(state.limit_pos, limit)
                if state is not None and member == "opened":
                    self._inputs_take(state, message)
            elif member == "frame_credit":
                if state is not None and message["port"] in state.inputs:
                    known = state.inputs[message["port"]]
                    known.limit_frames = max(known.limit_frames, message["limit_frames"])
            elif member == "finished":
                if state is not None:
                    state.finished = ev.make(ev.Finished, message)
            elif member == "goaway":
                self.goaway = ev.make(ev.GoAway, message)
            elif member == "error":
                self._error(message, state)
            if req in self._answers:
                self._answers[req].append((member, message))

    @staticmethod
    def _inputs_take(state: StreamState, opened: Message) -> None:
        """With Opened, since credit may follow at once."""
        for port in opened["ports"]:
            if port["is_input"]:
                known = ev.make(ev.Port, port)
                state.inputs[known.name] = PortState(known, limit_frames=known.credit_frames)

    def _error(self, message: Message, state: Optional[StreamState]) -> None:
        if not message["fatal"]:
            return
        if message["stream"] == 0:
            self.failure = error_of(message)
        elif state is not None and state.failure is None:
            state.failure = error_of(message)

    def lost(self, why: str) -> RillError:
        """The connection ended; the reason that a later call gives."""
        if self.failure is None:
            self.failure = ConnectionLost(why)
        for state in self.streams.values():
            if not state.ended:
                state.failure = self.failure
        return self.failure

    def answer(self, req: int) -> Optional[Tuple[str, Message]]:
        """The next answer to a request; None while it has not come."""
        got = self._answers[req]
        return got.popleft() if got else None

    def forget(self, req: int) -> None:
        """No more answers to it are wanted."""
        self._answers.pop(req, None)


def error_of(message: Message) -> DaemonError:
    """The exception for an Error message."""
    name = ENUMS["Code"].get(message["code"], "UNKNOWN")
    return daemon_error(message["code"], name, message["text"], message["stream"], message["fatal"], message["retry_ms"])


def info_page(answers: List[Message]) -> Optional[Message]:
    """What asks for the next page of Info after those that came; None: it was the last one."""
    if answers and not (answers[-1]["more"] and (answers[-1]["models"] or answers[-1]["topics"])):
        return None
    models = [m["name"] for a in answers for m in a["models"]]
    topics = [t["name"] for a in answers for t in a["topics"]]
    return {"after_model": models[-1] if models else "", "after_topic": topics[-1] if topics else ""}


def info_whole(answers: List[Message]) -> Message:
    """The pages as one."""
    return dict(answers[0], models=[m for a in answers for m in a["models"]], topics=[t for a in answers for t in a["topics"]])


def stats_page(answers: List[Message]) -> Optional[Message]:
    """What asks for the next page of Stats after those that came; None: it was the last one."""
    if answers and not (answers[-1]["more"] and answers[-1]["models"]):
        return None
    return {"after_model": answers[-1]["models"][-1]["name"] if answers else ""}


def stats_whole(answers: List[Message]) -> Message:
    """The pages as one."""
    return dict(answers[0], models=[m for a in answers for m in a["models"]])


def status_page(answers: List[Message]) -> Optional[Message]:
    """As stats_page, of CtlStatus."""
    return stats_page([a["stats"] for a in answers])


def status_whole(answers: List[Message]) -> Message:
    return dict(answers[0], stats=stats_whole([a["stats"] for a in answers]))


def result(answer: Tuple[str, Message], want: str) -> Message:
    """The message of an answer, or the error that it is."""
    member, message = answer
    if member == "error":
        raise error_of(message)
    if member != want:
        raise ProtocolError("the daemon answered with %s, not %s" % (member, want))
    return message


def pcm_bytes(pcm: Any, frame_bytes: int) -> memoryview:
    """The bytes of anything with a buffer: bytes, array, a numpy array."""
    view = memoryview(pcm).cast("B")
    if frame_bytes == 0:
        raise StreamEnded("a subscription takes no audio")
    if len(view) % frame_bytes:
        raise ValueError("%d bytes are no whole number of frames of %d bytes" % (len(view), frame_bytes))
    return view


_FORMATS = {ev.ElementType.F32: "f", ev.ElementType.F64: "d", ev.ElementType.I8: "b", ev.ElementType.I16: "h",
            ev.ElementType.I32: "i", ev.ElementType.I64: "ql", ev.ElementType.U8: "B", ev.ElementType.U16: "H",
            ev.ElementType.U32: "I", ev.ElementType.U64: "QL", ev.ElementType.BOOL: "?", ev.ElementType.I4: "b",
            ev.ElementType.U4: "B", ev.ElementType.I2: "b", ev.ElementType.U2: "B"}


def ports_message(stream: int, model: str, pace: str, want: Iterable[str]) -> Message:
    return {"stream": stream, "model": model, "pace": pick("pace", _PACES, pace), "want": list(want)}


def model_of(said: Message, name: str) -> Message:
    """The model of an answer to Info that asked for it alone."""
    for model in said["models"]:
        if model["name"] == name:
            return dict(model)
    raise ProtocolError("the daemon did not tell of model %r" % name)


def port_of(ports: Iterable[ev.Port], name: str, is_input: bool) -> ev.Port:
    for port in ports:
        if port.name == name and port.is_input == is_input:
            return port
    raise ValueError("the model has no %s %r" % ("input" if is_input else "output", name))


def input_of(state: StreamState, port: str) -> PortState:
    """The input of that name; "": the only one."""
    if not port and len(state.inputs) == 1:
        return next(iter(state.inputs.values()))
    if port not in state.inputs:
        raise ValueError("the model has no input %r; its inputs are %s" % (port, ", ".join(map(repr, state.inputs)) or "none"))
    return state.inputs[port]


def frames_bytes(port: ev.Port, data: Any) -> memoryview:
    """The bytes of frames of a port: those of bytes as they are, of an array whose elements are of its type."""
    view = memoryview(data)
    name = ev.ElementType(port.type).name.lower()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        kind = view.format.lstrip("<=@")
        if kind not in tuple(_FORMATS[ev.ElementType(port.type)]) or view.itemsize != port.element_bytes:
            raise ValueError("input %r takes %s, not elements of %d bytes and format %r"
                             % (port.name, name, view.itemsize, view.format))
    if not view.c_contiguous:
        raise ValueError("frames of input %r must lie in one piece; copy them first" % port.name)
    raw = view.cast("B") if view.nbytes else memoryview(b"")
    if not port.frame_bytes or len(raw) % port.frame_bytes:
        raise ValueError("%d bytes are no whole number of frames of input %r, which are %s of %s: %d bytes each"
                         % (len(raw), port.name, "x".join(map(str, port.shape)) or "1", name, port.frame_bytes))
    return raw


def whole_hello(core: Core, name: str) -> Tuple[int, bytes]:
    """What opens a connection."""
    req, data = core.request("hello", {"client": name, "max_frame": MAX_MESSAGE_BYTES})
    return req, PREFACE + data


def hello_take(core: Core, message: Message) -> None:
    core.hello = message
    if 1024 <= message["max_frame"] <= MAX_MESSAGE_BYTES:
        core.max_message_bytes = message["max_frame"]


__all__: List[str] = []
