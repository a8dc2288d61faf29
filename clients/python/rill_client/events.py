# SPDX-License-Identifier: MIT
"""What comes from the daemon, as plain immutable objects.

Positions and lengths are in samples of one channel: of the input's rate, or where it says so of the output's. Times end in
_us or _ms.
"""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Dict, List, Tuple, Type, TypeVar, Union

T = TypeVar("T")


class Encoding(IntEnum):
    """How a sample is written: little-endian integers, or floats with full scale at +-1."""
    S16 = 1
    S24 = 2         #: three bytes
    S32 = 3
    F32 = 4


ENCODING_BYTES = {Encoding.S16: 2, Encoding.S24: 3, Encoding.S32: 4, Encoding.F32: 4}


class Output(IntEnum):
    AUDIO = 1
    VAD = 2
    TRANSCRIPT = 3
    KEYWORD = 4
    ENDPOINT = 5


@dataclass(frozen=True)
class Pcm:
    rate: int = 0               #: Hz
    channels: int = 1           #: interleaved
    enc: int = Encoding.F32

    @property
    def frame_bytes(self) -> int:
        """Bytes of one sample of every channel."""
        return ENCODING_BYTES[Encoding(self.enc)] * self.channels


@dataclass(frozen=True)
class Opened:
    """What the daemon said to OpenStream."""
    stream: int = 0
    model: str = ""
    model_sha256: str = ""
    model_pcm: Pcm = field(default_factory=Pcm)
    hop_samples: int = 0        #: at the model's rate
    latency_samples: int = 0    #: so much later than what it stands for audio comes; output's rate
    lookahead_samples: int = 0  #: at the model's rate
    credit_samples: int = 0
    outputs: Tuple[int, ...] = ()
    offset_samples: int = 0     #: input sample that output sample 0 stands for; output's rate
    ports: Tuple["Port", ...] = ()  #: of a stream of ports, which has nothing of what stands between


class ElementType(IntEnum):
    """What an element of a port is, little-endian; those of 4 and 2 bits have a byte each, a bool is 0 or 1."""
    F32 = 1
    F64 = 2
    I8 = 3
    I16 = 4
    I32 = 5
    I64 = 6
    U8 = 7
    U16 = 8
    U32 = 9
    U64 = 10
    BOOL = 11
    I4 = 12
    U4 = 13
    I2 = 14
    U2 = 15


@dataclass(frozen=True)
class Port:
    """One input or output of a model. Frame k stands for sample (offset_num / offset_den) + k * (hop_num / hop_den) of the
    input's time axis and comes latency_samples later than that."""
    name: str = ""
    is_input: bool = False
    kind: str = ""              #: tensor, audio, vad, keyword, ctc, transducer, attention
    type: int = 0               #: an ElementType
    element_bytes: int = 0
    shape: Tuple[int, ...] = () #: of a frame: the axes of the tensor but time
    time_axis: int = 0          #: where time stands among them, if hop_num is not 0
    rate_num: int = 0           #: frames per second = rate_num / rate_den; 0 if not declared
    rate_den: int = 0
    pulse_frames: int = 0       #: that go through the model at once
    hop_num: int = 0            #: 0: it does not run along time
    hop_den: int = 0
    latency_samples: int = 0
    offset_num: int = 0
    offset_den: int = 0
    is_set: bool = False        #: an input beside the stream: one frame holds until the next
    credit_frames: int = 0      #: inputs, of an open stream: that may be sent at first
    is_wanted: bool = False     #: outputs, of an open stream: its frames come

    @property
    def frame_bytes(self) -> int:
        n = self.element_bytes
        for d in self.shape:
            n *= d
        return n


@dataclass(frozen=True)
class Frames:
    """Frames of an output, in order. Where a frame is larger than a message it comes in parts: at_bytes of the frame at pos
    came before."""
    stream: int = 0
    port: str = ""
    pos: int = 0                #: index of the first frame since the stream began
    at_bytes: int = 0
    data: bytes = b""
    queue_us: int = 0
    compute_us: int = 0
    resets: int = 0             #: of the stream before these frames


@dataclass(frozen=True)
class PortFrames:
    port: str = ""
    frames: int = 0             #: that came or went


@dataclass(frozen=True)
class Audio:
    """Samples of the output; pos is in the output's rate."""
    stream: int = 0
    seq: int = 0
    pos: int = 0
    pcm: bytes = b""
    queue_us: int = 0
    compute_us: int = 0


class Edge(IntEnum):
    NONE = 0
    START = 1
    END = 2


@dataclass(frozen=True)
class Vad:
    """The speech probability of the frame that begins at pos."""
    stream: int = 0
    pos: int = 0
    prob: float = 0.0
    edge: int = Edge.NONE


@dataclass(frozen=True)
class Word:
    text: str = ""
    pos: int = 0
    end_pos: int = 0
    confidence: float = 0.0


@dataclass(frozen=True)
class Transcript:
    """Text of one segment; one that is not final is replaced by the next. A long final comes in several of one seg."""
    stream: int = 0
    seg: int = 0
    final: bool = False
    stability: float = 0.0
    text: str = ""
    words: Tuple[Word, ...] = ()
    pos: int = 0


@dataclass(frozen=True)
class Keyword:
    stream: int = 0
    word: str = ""
    score: float = 0.0
    pos: int = 0
    end_pos: int = 0


@dataclass(frozen=True)
class Endpoint:
    """An utterance is over; rule is 1 silence, 2 silence after speech, 3 length."""
    stream: int = 0
    pos: int = 0
    rule: int = 0
    final: bool = False


@dataclass(frozen=True)
class Gap:
    """Samples of the input that were not processed. reason and fill are numbers of the protocol."""
    stream: int = 0
    pos: int = 0
    samples: int = 0
    reason: int = 0
    fill: int = 0


@dataclass(frozen=True)
class Finished:
    """The stream's account."""
    stream: int = 0
    samples_in: int = 0
    samples_out: int = 0        #: of the output's rate
    processed: int = 0
    dropped: int = 0
    audio_us: int = 0
    compute_us: int = 0
    max_chunk_us: int = 0
    deadline_misses: int = 0
    rtf: float = 0.0            #: compute time / audio time
    max_chunk_rtf: float = 0.0
    not_finite: int = 0         #: samples that were NaN or infinite and were taken as 0
    vad_frames: int = 0
    cancelled: bool = False
    p99_chunk_us: float = 0.0
    bypassed: int = 0           #: of samples_in: went past the model under overload
    ports: Tuple[PortFrames, ...] = ()  #: of a stream of ports


@dataclass(frozen=True)
class GoAway:
    """The daemon stops: finish what is open within grace_ms."""
    reason: int = 0
    grace_ms: int = 0


Event = Union[Audio, Vad, Transcript, Keyword, Endpoint, Gap, Frames]


@dataclass(frozen=True)
class ModelInfo:
    name: str = ""
    task: str = ""
    licence: str = ""
    summary: str = ""
    state: str = ""             #: known, loading, ready, failed
    sha256: str = ""
    rate: int = 0               #: this and the rest is 0 until the model is ready
    hop_samples: int = 0
    latency_samples: int = 0
    outputs: Tuple[int, ...] = ()
    weights_bytes: int = 0
    stream_bytes: int = 0
    rtf: float = 0.0            #: what admission counts
    overload: str = ""          #: bypass, skip, shed or off
    error: str = ""             #: failed: why it cannot be had
    price: "Price" = field(default_factory=lambda: Price())     #: how rtf came about
    ports: Tuple[Port, ...] = ()    #: of Client.model()
    audio_error: str = ""       #: why open() is refused; open_ports() is not
    threads: int = 0            #: that share a pulse of a live stream; 1: one computes it


@dataclass(frozen=True)
class Price:
    """What a live stream is charged, as shares of a processor, and what that rests on."""
    compute: float = 0.0
    loop: float = 0.0           #: of reading and writing sockets; its client counts as much
    figures: int = 0            #: seconds with live streams, of the last half minute; 0: tried alone
    age_ms: int = 0             #: of the newest
    cpu: float = 0.0            #: the newest: processor time over the time of the audio
    wall: float = 0.0           #: the same by the wall clock: as far as it is more, others computed
    weight: float = 0.0         #: 0 to 1: what it counts beside what was tried
    tried: float = 0.0
    tried_wall: float = 0.0
    tried_age_ms: int = 0


@dataclass(frozen=True)
class TopicInfo:
    """A published stream that this user may subscribe to. Positions are in in_rate."""
    name: str = ""
    model: str = ""
    uid: int = 0                #: of the publisher
    access: int = 0
    in_rate: int = 0
    out: Pcm = field(default_factory=Pcm)
    outputs: Tuple[int, ...] = ()
    keep_ms: int = 0
    oldest_pos: int = 0
    pos: int = 0
    subscribers: int = 0


@dataclass(frozen=True)
class Info:
    server: str = ""
    default_model: str = ""
    models: Tuple[ModelInfo, ...] = ()
    topics: Tuple[TopicInfo, ...] = ()


@dataclass(frozen=True)
class ModelStats:
    name: str = ""
    streams: int = 0
    streams_opened: int = 0
    audio_us: int = 0
    compute_us: int = 0
    pulses: int = 0
    deadline_misses: int = 0
    rtf: float = 0.0
    rtf_p99: float = 0.0
    rtf_max: float = 0.0
    compute_p99_us: int = 0
    queue_p99_us: int = 0
    gap_samples: int = 0        #: told in gaps, at the clients' rates
    gap_us: int = 0
    batch_mean: float = 0.0     #: streams that ran together


@dataclass(frozen=True)
class Stats:
    uptime_us: int = 0
    connections: int = 0
    connections_accepted: int = 0
    streams: int = 0
    streams_opened: int = 0
    streams_refused: int = 0
    protocol_errors: int = 0
    models: Tuple[ModelStats, ...] = ()
    rt_threads: int = 0         #: compute threads that have real-time priority now
    rt_demotions: int = 0
    overload_level: int = 0     #: 0 = none
    streams_relieved: int = 0   #: that the model does not run for now
    resident_bytes: int = 0
    weights_bytes: int = 0
    stream_bytes: int = 0
    cpu_us: int = 0
    open_fds: int = 0
    log_lines_lost: int = 0


class HealthState(IntEnum):
    NONE = 0
    OK = 1
    DRAINING = 2
    STUCK = 3
    STARTING = 4


@dataclass(frozen=True)
class Health:
    state: int = HealthState.NONE
    beats: Tuple[int, ...] = ()     #: one per compute thread; each grows while it works
    reason: str = ""                #: empty while all is well
    silent_us: Tuple[int, ...] = () #: per compute thread: for how long it has had work and not advanced

    @property
    def ok(self) -> bool:
        return self.state == HealthState.OK


@dataclass(frozen=True)
class Status:
    server: str = ""
    pid: int = 0
    uptime_us: int = 0
    state: str = ""
    threads: int = 0
    connections: int = 0
    streams: int = 0
    config: str = ""
    stats: Stats = field(default_factory=Stats)
    rtf_load: float = 0.0
    rtf_budget: float = 0.0
    notes: Tuple[str, ...] = ()
    loop_load: float = 0.0      #: of the thread that reads and writes sockets
    loop_budget: float = 0.0
    machine_load: float = 0.0   #: of all processors, clients' halves included
    machine_budget: float = 0.0
    had: float = 0.0            #: share of the processor time asked for that was had of late


@dataclass(frozen=True)
class Session:
    conn: int = 0
    stream: int = 0
    uid: int = 0
    pid: int = 0
    client: str = ""
    model: str = ""
    input: Pcm = field(default_factory=Pcm)
    output: Pcm = field(default_factory=Pcm)
    pace: int = 0
    in_samples: int = 0
    out_samples: int = 0
    age_us: int = 0
    rtf: float = 0.0
    queued_bytes: int = 0
    state: str = ""
    compute_us: int = 0
    audio_us: int = 0
    deadline_misses: int = 0
    gap_samples: int = 0
    memory_bytes: int = 0
    topic: str = ""             #: published under this name; what a subscription reads
    subscription: bool = False  #: in_samples is how far it was given the source, gap_samples what it lost
    lag_ms: int = 0             #: of a subscription: sound that waits for it in the daemon


@dataclass(frozen=True)
class Subscribed:
    topic: str = ""
    stream: int = 0
    pos: int = 0                #: where it begins, in in_rate
    in_rate: int = 0            #: of the positions in events and gaps
    out: Pcm = field(default_factory=Pcm)
    outputs: Tuple[int, ...] = ()
    model: str = ""


_RENAMED: Dict[type, Dict[str, str]] = {
    Finished: {"in": "samples_in", "out": "samples_out"},
    Session: {"in": "input", "out": "output"},
}
_NESTED: Dict[Tuple[type, str], type] = {
    (Opened, "model_pcm"): Pcm, (Opened, "ports"): Port, (ModelInfo, "ports"): Port, (Finished, "ports"): PortFrames,
    (Transcript, "words"): Word, (Info, "models"): ModelInfo, (Info, "topics"): TopicInfo,
    (ModelInfo, "price"): Price,
    (TopicInfo, "out"): Pcm, (Subscribed, "out"): Pcm, (Stats, "models"): ModelStats,
    (Status, "stats"): Stats, (Session, "input"): Pcm, (Session, "output"): Pcm,
}


def make(cls: Type[T], message: Dict[str, Any]) -> T:
    """An object of cls from a decoded message; fields that cls does not have are left out."""
    renamed = _RENAMED.get(cls, {})
    known = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    values: Dict[str, Any] = {}
    for key, value in message.items():
        name = renamed.get(key, key)
        if name not in known or value is None:
            continue
        inner = _NESTED.get((cls, name))
        if isinstance(value, list):
            value = tuple(make(inner, v) for v in value) if inner else tuple(value)
        elif inner:
            value = make(inner, value)
        values[name] = value
    return cls(**values)


#: frame member -> what it becomes on its stream's queue
STREAM_EVENTS: Dict[str, Any] = {
    "audio": Audio, "vad": Vad, "text": Transcript, "keyword": Keyword, "endpoint": Endpoint, "gap": Gap,
    "frames": Frames,
}

__all__: List[str] = [
    "Audio", "Edge", "ElementType", "Encoding", "Endpoint", "Event", "Finished", "Frames", "Gap",
    "GoAway", "Health", "HealthState", "Info", "Keyword",
    "ModelInfo", "ModelStats", "Opened", "Output", "Pcm", "Port", "PortFrames",
    "Price", "Session", "Stats", "Status", "Subscribed", "TopicInfo", "Transcript", "Vad", "Word",
]
