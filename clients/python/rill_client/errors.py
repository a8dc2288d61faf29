# SPDX-License-Identifier: MIT
"""What can go wrong. Everything derives from RillError."""
from __future__ import annotations

from typing import Dict, Type


class RillError(Exception):
    """Anything that this package raises of itself."""


class ConnectionLost(RillError, ConnectionError):
    """There is no daemon at the socket, or it went away. Every later call on the client raises it again."""


class Timeout(RillError, TimeoutError):
    """The daemon was silent for longer than the client's timeout."""


class ProtocolError(RillError):
    """The other side does not speak the protocol of rilld. The connection is closed."""


class StreamEnded(RillError):
    """A call on a stream that was finished, cancelled or ended by an error."""


class DaemonError(RillError):
    """The daemon answered with an Error.

    code      number of the protocol's Code
    name      such as "NO_MODEL"
    text      for people
    stream    0 where it is about the connection
    fatal     the stream (or the connection, if stream is 0) is gone
    retry_ms  when to try again; 0 = do not
    """

    def __init__(self, code: int, name: str, text: str, stream: int = 0, fatal: bool = False, retry_ms: int = 0):
        super().__init__("%s: %s" % (name, text))
        self.code, self.name, self.text = code, name, text
        self.stream, self.fatal, self.retry_ms = stream, fatal, retry_ms


class NoModel(DaemonError):
    """NO_MODEL: the daemon knows no model of that name."""


class NoTopic(DaemonError):
    """NO_TOPIC: nobody publishes a topic of that name."""


class ModelFailed(DaemonError):
    """MODEL_FAILED: the model cannot be loaded, or stops (a position past the end of a table)."""


class BadRequest(DaemonError):
    """BAD_ARG, BAD_FORMAT, SEQ, FLOW_CONTROL, TOO_LARGE, BAD_FRAME, NO_STREAM: what was sent cannot be used."""


class Unsupported(DaemonError):
    """UNSUPPORTED: this daemon does not do that."""


class Overloaded(DaemonError):
    """OVERLOADED or QUOTA: there is no room now; retry_ms says when there may be."""


class Denied(DaemonError):
    """DENIED: a control call on the data socket, a topic of another user, or the operator closed the connection."""


class Draining(DaemonError):
    """DRAINING: the daemon is stopping."""


class SlowConsumer(DaemonError):
    """SLOW_CONSUMER: output waited too long to be read."""


_BY_NAME: Dict[str, Type[DaemonError]] = {
    "NO_MODEL": NoModel,
    "NO_TOPIC": NoTopic,
    "MODEL_FAILED": ModelFailed,
    "BAD_ARG": BadRequest,
    "BAD_FORMAT": BadRequest,
    "BAD_FRAME": BadRequest,
    "TOO_LARGE": BadRequest,
    "FLOW_CONTROL": BadRequest,
    "SEQ": BadRequest,
    "NO_STREAM": BadRequest,
    "UNSUPPORTED": Unsupported,
    "OVERLOADED": Overloaded,
    "QUOTA": Overloaded,
    "DENIED": Denied,
    "DRAINING": Draining,
    "SLOW_CONSUMER": SlowConsumer,
}


def daemon_error(code: int, name: str, text: str, stream: int, fatal: bool, retry_ms: int) -> DaemonError:
    """The exception that fits the code."""
    return _BY_NAME.get(name, DaemonError)(code, name, text, stream, fatal, retry_ms)
