# SPDX-License-Identifier: MIT
"""A client of rilld, the daemon that streams audio through models. Standard library only.

    from rill_client import Client

    with Client() as client, client.open("rill-denoise", rate=16000, encoding="s16") as stream:
        for event in stream.process(pieces_of_pcm):
            ...

Client and Control block; AsyncClient and AsyncControl (rill_client.aio) are the same for asyncio.
"""
from .client import Client, Control, PortStream, Stream
from .errors import (BadRequest, ConnectionLost, DaemonError, Denied, Draining, ModelFailed, NoModel, NoTopic, Overloaded, ProtocolError,
                     RillError, SlowConsumer, StreamEnded, Timeout, Unsupported)
from .events import (Audio, Edge, ElementType, Encoding, Endpoint, Event, Finished, Frames, Gap, GoAway, Health, HealthState, Info,
                     Keyword, ModelInfo, ModelStats, Opened, Output, Pcm, Port, PortFrames,
                     Session, Stats, Status, Subscribed, TopicInfo, Transcript, Vad, Word)

__version__ = "0.1.0"

__all__ = [
    "Audio", "BadRequest", "Client", "ConnectionLost", "Control", "DaemonError", "Denied", "Draining", "Edge", "ElementType", "Encoding",
    "Endpoint", "Event", "Finished", "Frames", "Gap", "GoAway", "Health", "HealthState", "Info", "Keyword", "ModelFailed", "ModelInfo",
    "ModelStats", "NoModel", "NoTopic", "Opened", "Output", "Overloaded", "Pcm", "Port", "PortFrames",
    "PortStream", "ProtocolError", "RillError", "Session", "SlowConsumer",
    "Stats", "Status", "Stream", "StreamEnded", "Subscribed", "Timeout", "TopicInfo", "Transcript", "Unsupported", "Vad", "Word",
]
