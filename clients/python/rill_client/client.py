# SPDX-License-Identifier: MIT
"""The blocking client. One Client is one connection and belongs to one thread."""
from __future__ import annotations

import select
import socket
import time
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union

from . import events as ev
from ._core import (CONTROL, FULL_WAIT, SOCKET, Core, EncodingLike, PortState, StreamState, frames_bytes, hello_take, info_page,
                    info_whole, input_of, model_of, open_message, pcm_bytes, pcm_message, port_of, ports_message, publish_message,
                    result, socket_path, stats_page, stats_whole, status_page, status_whole, subscribe_message, whole_hello)
from ._wire import Message
from .errors import RillError, StreamEnded, Timeout

C = TypeVar("C", bound="Client")


class Client:
    """A connection to rilld's audio socket.

    path     the socket; $RILL_SOCKET or /run/rilld/rilld.sock where it is None
    name     for the daemon's log
    timeout  seconds that the daemon may be silent while something is waited for; what takes it longer, such as loading
             a model, is waited for while it answers that it lives

    Raises ConnectionLost where nobody listens. Close it, or use it in a with statement; streams that are open then are
    dropped by the daemon.
    """

    _variable, _default = "RILL_SOCKET", SOCKET

    def __init__(self, path: Optional[str] = None, *, name: str = "rill-client-python", timeout: float = 10.0):
        self._core = Core()
        self._timeout = timeout
        self._path = socket_path(path, self._variable, self._default)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connect(name)
        except BaseException:
            self._socket.close()
            raise

    def _reach(self) -> None:
        """A socket with a timeout does not wait where the daemon's queue is full: it is asked again."""
        end = time.monotonic() + self._timeout
        self._socket.settimeout(self._timeout)
        while True:
            try:
                self._socket.connect(self._path)
                return
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(FULL_WAIT)

    def _connect(self, name: str) -> None:
        try:
            self._reach()
            self._socket.setblocking(False)
        except OSError as e:
            raise self._core.lost("%s: %s" % (self._path, e.strerror or e)) from None
        req, data = whole_hello(self._core, name)
        self._send(data)
        hello_take(self._core, self._answer(req, "hello"))

    def close(self) -> None:
        """Closes the connection. Calling it again does nothing."""
        self._core.lost("the client is closed")
        self._socket.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def server(self) -> str:
        """Name and version of the daemon."""
        return str(self._core.hello["server"])

    @property
    def instance_id(self) -> str:
        """Changes when the daemon starts again."""
        return str(self._core.hello["instance_id"])

    @property
    def goaway(self) -> Optional[ev.GoAway]:
        """Set once the daemon said that it stops."""
        return self._core.goaway

    def fileno(self) -> int:
        """For select; call poll() when it is readable."""
        return self._socket.fileno()

    # ---- bytes

    def _receive(self) -> int:
        """Reads what is there; the number of messages."""
        try:
            data = self._socket.recv(1 << 16)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as e:
            raise self._core.lost(e.strerror or str(e)) from None
        if not data:
            raise self._core.lost("the daemon closed the connection")
        try:
            return self._core.feed(data)
        except RillError as e:
            self._core.failure = self._core.failure or e
            self._socket.close()
            raise

    def _wait(self, seconds: Optional[float], write: bool = False) -> Tuple[bool, bool]:
        if self._core.failure is not None:
            raise self._core.failure
        r, w, _ = select.select([self._socket], [self._socket] if write else [], [], seconds)
        return bool(r), bool(w)

    def _progress(self, what: str) -> None:
        """Waits for the daemon once. What it does may take long: after half the time it is asked whether it lives."""
        readable, _ = self._wait(self._timeout / 2)
        if not readable:
            self._send(self._core.message("ping", {}))
            readable, _ = self._wait(self._timeout / 2)
        if not readable:
            raise Timeout("the daemon was silent for %g s while waiting for %s" % (self._timeout, what))
        self._receive()

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            readable, writable = self._wait(self._timeout, write=True)
            if not readable and not writable:
                raise self._core.lost("the daemon takes no data")
            if readable:
                self._receive()
            if writable:
                try:
                    view = view[self._socket.send(view):]
                except (BlockingIOError, InterruptedError):
                    continue
                except OSError as e:
                    self._explain()
                    raise self._core.lost(e.strerror or str(e)) from None

    def _explain(self) -> None:
        """The daemon closed while something was sent: an Error may lie in the socket."""
        try:
            while self._wait(0)[0]:
                self._receive()
        except RillError as e:
            raise (self._core.failure or e) from None

    def poll(self, timeout: Optional[float] = 0.0) -> int:
        """Takes what has come, waiting at most timeout seconds (None: for ever) for the first byte; the number of messages.
        Events wait in their streams then."""
        readable, _ = self._wait(timeout)
        return self._receive() if readable else 0

    # ---- questions

    def _answer(self, req: int, want: str) -> Message:
        try:
            return self._next(req, want)
        finally:
            self._core.forget(req)

    def _next(self, req: int, want: str) -> Message:
        while True:
            got = self._core.answer(req)
            if got is not None:
                return result(got, want)
            self._progress(want)

    def _request(self, member: str, message: Message, want: str) -> Message:
        req, data = self._core.request(member, message)
        self._send(data)
        return self._answer(req, want)

    def ping(self) -> float:
        """Round trip in seconds."""
        start = time.monotonic()
        self._request("ping", {}, "pong")
        return time.monotonic() - start

    def info(self) -> ev.Info:
        """The daemon's models, and the topics that may be subscribed to."""
        answers: List[Message] = []
        page = info_page(answers)
        while page is not None:
            answers.append(self._request("info", page, "info"))
            page = info_page(answers)
        return ev.make(ev.Info, info_whole(answers))

    def model(self, name: str) -> ev.ModelInfo:
        """One model, with its ports where it is loaded. Raises NoModel."""
        said = self._request("info", {"model": name}, "info")
        return ev.make(ev.ModelInfo, model_of(said, name))

    def stats(self) -> ev.Stats:
        """Counts of the daemon and of each model."""
        answers: List[Message] = []
        page = stats_page(answers)
        while page is not None:
            answers.append(self._request("stats", page, "stats"))
            page = stats_page(answers)
        return ev.make(ev.Stats, stats_whole(answers))

    def health(self) -> ev.Health:
        """Whether the compute threads advance."""
        return ev.make(ev.Health, self._request("health", {}, "health"))

    # ---- streams

    def open(self, model: str = "", *, rate: int = 16000, channels: int = 1, encoding: EncodingLike = "f32",
             out_rate: Optional[int] = None, out_channels: Optional[int] = None, out_encoding: Optional[EncodingLike] = None,
             pace: str = "file", align: bool = True, want: Iterable[str] = (), max_latency_ms: int = 0,
             options: Optional[Mapping[str, Any]] = None) -> "Stream":
        """Opens a stream.

        model           "" is the daemon's default
        rate, channels  of the samples that are sent, interleaved; Hz
        encoding        "s16", "s24" (three bytes), "s32" or "f32", little-endian; the daemon rounds halves to even
        out_...         of the samples that come back; as they are sent where None
        pace            "live": a microphone. "file": as fast as it goes, nothing is ever dropped
        align           sample k of the output answers sample k of the input; else sample k + opened.offset_samples
        want            any of "audio", "vad", "transcript", "keyword", "endpoint"; empty: what the model has
        max_latency_ms  live: audio that waited longer is dropped and told by a Gap
        options         such as {"vad_threshold": 0.6}

        Raises NoModel, ModelFailed, BadRequest, Overloaded, Draining.
        """
        frame_bytes = ev.make(ev.Pcm, pcm_message(rate, channels, encoding)).frame_bytes
        state = self._core.stream_add(frame_bytes)
        try:
            opened = self._request("open", open_message(state.id, model, rate, channels, encoding, out_rate, out_channels,
                                                        out_encoding, pace, align, want, max_latency_ms, options), "opened")
        except BaseException:
            self._core.streams.pop(state.id, None)
            raise
        return Stream(self, state, ev.make(ev.Opened, opened))

    def open_ports(self, model: str = "", *, pace: str = "file", want: Iterable[str] = ()) -> "PortStream":
        """Opens a stream of a model's ports: frames of any type, as they are, in and out.

        model   "" is the daemon's default
        pace    "file", or "live" for a model that states its rate
        want    names of outputs; empty: all

        Raises NoModel, ModelFailed, BadRequest, Overloaded, Draining.
        """
        state = self._core.stream_add(0)
        try:
            opened = self._request("open_ports", ports_message(state.id, model, pace, want), "opened")
        except BaseException:
            self._core.streams.pop(state.id, None)
            raise
        return PortStream(self, state, ev.make(ev.Opened, opened))

    def subscribe(self, topic: str, *, start: Union[str, int] = "now", want: Iterable[str] = (), channels: int = 1,
                  encoding: Optional[EncodingLike] = None) -> "Stream":
        """Listens to a stream that another connection published.

        start               "now", "oldest" (what is still kept), or a position in the publisher's input rate
        want                as in open(); empty: all that the publisher's stream gives
        channels, encoding  of the audio that comes; as the publisher gets it where encoding is None

        The stream takes no audio and ends with cancel(), or when the publisher's does. Raises NoTopic, Denied, Overloaded.
        """
        state = self._core.stream_add(0)
        try:
            said = self._request("subscribe", subscribe_message(state.id, topic, start, want, channels, encoding), "subscribed")
        except BaseException:
            self._core.streams.pop(state.id, None)
            raise
        subscribed = ev.make(ev.Subscribed, said)
        opened = ev.Opened(stream=state.id, model=subscribed.model, outputs=subscribed.outputs)
        return Stream(self, state, opened, subscribed)


class Stream:
    """One stream of a client. What came for it waits in a queue: read(), events() and process() take from there.

    Reading is up to the caller: what a file stream sent back is kept until it is taken, so long inputs go through
    process(), which holds no more than is in flight.
    """

    def __init__(self, client: Client, state: StreamState, opened: ev.Opened, subscribed: Optional[ev.Subscribed] = None):
        self._client, self._state = client, state
        self.opened = opened            #: model, latency, offset and outputs
        self.subscribed = subscribed    #: of a subscription: topic and first position

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        if not self._state.ended and self._client._core.failure is None:
            self.cancel()

    @property
    def id(self) -> int:
        return self._state.id

    @property
    def credit(self) -> int:
        """Samples of each channel that send() takes without waiting."""
        return self._state.credit

    @property
    def pos(self) -> int:
        """Position of the next sample that is sent."""
        return self._state.pos

    @property
    def finished(self) -> Optional[ev.Finished]:
        """The account, once the stream ended."""
        return self._state.finished

    def send(self, pcm: Any) -> None:
        """Sends interleaved samples: bytes, an array, anything with a buffer. Waits for credit."""
        rest = pcm_bytes(pcm, self._state.frame_bytes)
        while rest:
            rest = rest[self._send_some(rest):]
            if rest:
                self._client._progress("credit")
        self._state.check()

    def _send_some(self, rest: memoryview) -> int:
        """Sends what credit allows; its bytes."""
        sent = 0
        while sent < len(rest):
            while self._client.poll(0):
                pass
            self._state.check()
            data, size = self._client._core.audio(self._state, rest[sent:])
            if not size:
                break
            self._client._send(data)
            sent += size
        return sent

    def skip(self, samples: int) -> None:
        """The next send() starts samples later; the daemon tells the jump in a Gap."""
        self._state.check()
        self._state.pos += samples
        self._state.limit_pos += samples
        self._state.discont = True

    def reset(self) -> None:
        """The model starts afresh; positions go on."""
        self._state.check()
        self._client._send(self._client._core.message("reset", {"stream": self.id}))

    def publish(self, topic: str, *, access: str = "same-uid", keep_ms: int = 0, mute: bool = False) -> int:
        """Offers what the stream gives to other connections.

        access   "same-uid" or "all": whose connections may subscribe
        keep_ms  how much of the past who comes later may have; gives what the daemon grants of it
        mute     no outputs come to this stream itself
        """
        said = self._client._request("publish", publish_message(self.id, topic, access, keep_ms, mute), "published")
        return int(said["keep_ms"])

    def read(self, timeout: Optional[float] = None) -> Optional[ev.Event]:
        """The next event, waiting at most timeout seconds (None: as long as it takes); None when the time is over or the
        stream has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._state.queue:
            if self._state.failure is not None:
                raise self._state.failure
            if self._state.finished is not None:
                return None
            left = None if end is None else max(0.0, end - time.monotonic())
            if not self._client.poll(left) and end is not None and time.monotonic() >= end:
                return None
        return self._state.queue.popleft()

    def events(self) -> Iterator[ev.Event]:
        """The events that have come, without waiting."""
        while self._state.queue:
            yield self._state.queue.popleft()

    def __iter__(self) -> Iterator[ev.Event]:
        """Events until the stream ends: for subscriptions, and after end()."""
        while True:
            event = self.read()
            if event is None:
                return
            yield event

    def process(self, pcm: Iterable[Any]) -> Iterator[ev.Event]:
        """Sends each piece of pcm, then finishes, and gives the events as they come. finished is set afterwards."""
        for piece in pcm:
            rest = pcm_bytes(piece, self._state.frame_bytes)
            while rest:
                rest = rest[self._send_some(rest):]
                yield from self.events()
                if rest:
                    self._client._progress("credit")
        self.end()
        while self._state.finished is None:
            yield from self.events()
            if self._state.failure is not None:
                raise self._state.failure
            if self._state.finished is None:
                self._client._progress("Finished")
        yield from self.events()
        self._forget()

    def end(self) -> None:
        """Says that no more audio comes and does not wait; read on until finished is set."""
        self._state.check()
        if self._state.frame_bytes == 0:
            raise StreamEnded("a subscription is ended by cancel()")
        self._client._send(self._client._core.message("finish", {"stream": self.id}))

    def finish(self) -> ev.Finished:
        """Ends the stream, waits until everything came back and gives the account. The last events are in the queue."""
        self.end()
        while self._state.finished is None:
            if self._state.failure is not None:
                raise self._state.failure
            self._client._progress("Finished")
        self._forget()
        return self._state.finished

    def cancel(self) -> None:
        """Drops the stream at once; nothing more comes."""
        if not self._state.ended:
            member = "unsubscribe" if self.subscribed else "cancel"
            self._client._send(self._client._core.message(member, {"stream": self.id}))
            self._state.failure = StreamEnded("stream %d was cancelled" % self.id)
        self._forget()

    def _forget(self) -> None:
        self._client._core.streams.pop(self.id, None)


class PortStream(Stream):
    """A stream of ports. Frames of its outputs come as Frames events."""

    @property
    def ports(self) -> Tuple[ev.Port, ...]:
        return self.opened.ports

    def port(self, name: str, is_input: bool = False) -> ev.Port:
        """The output of that name, or the input."""
        return port_of(self.ports, name, is_input)

    def credit_of(self, port: str = "") -> int:
        """Frames of an input that push() takes without waiting."""
        self._state.check()
        return input_of(self._state, port).credit

    def push(self, data: Any, port: str = "") -> None:
        """Sends frames of an input ("": the only one): bytes, or an array of its type. Waits for credit. An input beside the
        stream (is_set) holds its newest frame, and wants one before the first frames of the others."""
        into = input_of(self._state, port)
        rest = frames_bytes(into.port, data)
        while rest:
            rest = rest[self._push_some(into, rest):]
            if rest:
                self._client._progress("credit")
        self._state.check()

    def _push_some(self, into: PortState, rest: memoryview) -> int:
        sent = 0
        while sent < len(rest):
            while self._client.poll(0):
                pass
            self._state.check()
            data, size = self._client._core.frames(self._state, into, rest[sent:])
            if not size:
                break
            self._client._send(data)
            sent += size
        return sent

    def run(self, inputs: Mapping[str, Any]) -> Dict[str, bytes]:
        """Whole sequences through the stream, which ends: the frames of every wanted output, one behind the other. Inputs
        that lie beside the stream go first, the others side by side."""
        left = {}
        for name, data in inputs.items():
            into = input_of(self._state, name)
            left[into.port.name] = (into, frames_bytes(into.port, data))
        for into, data in list(left.values()):
            if into.port.is_set:
                self.push(data, into.port.name)
                del left[into.port.name]
        out: Dict[str, List[bytes]] = {p.name: [] for p in self.ports if p.is_wanted}
        while left:
            before = sum(len(d) for _, d in left.values())
            for name, (into, data) in list(left.items()):
                left[name] = (into, data[self._push_some(into, data):])
                if not len(left[name][1]):
                    del left[name]
            self._collect(out)
            if left and sum(len(d) for _, d in left.values()) == before:
                self._client._progress("credit")
        self.end()
        while self._state.finished is None:
            self._collect(out)
            if self._state.failure is not None:
                raise self._state.failure
            if self._state.finished is None:
                self._client._progress("Finished")
        self._collect(out)
        self._forget()
        return {name: b"".join(parts) for name, parts in out.items()}

    def _collect(self, out: Dict[str, List[bytes]]) -> None:
        for event in self.events():
            if isinstance(event, ev.Frames):
                out[event.port].append(event.data)

    def end(self) -> None:
        """Says that no more frames come and does not wait; read on until finished is set."""
        self._state.check()
        self._client._send(self._client._core.message("finish", {"stream": self.id}))

    def send(self, pcm: Any) -> None:
        raise TypeError("a stream of ports takes push()")

    def process(self, pcm: Iterable[Any]) -> Iterator[ev.Event]:
        raise TypeError("a stream of ports takes run()")

    def skip(self, samples: int) -> None:
        raise TypeError("a stream of ports has no gaps; reset() begins afresh")


class Control(Client):
    """A connection to rilld's control socket ($RILL_CONTROL or /run/rilld/control.sock): all that Client does and the rest.

    Calls that change something give the daemon's words and raise DaemonError with the reason where it refuses.
    """

    _variable, _default = "RILL_CONTROL", CONTROL

    def _done(self, member: str, message: Message) -> str:
        return str(self._request(member, message, "ctl_done")["text"])

    def status(self) -> ev.Status:
        answers: List[Message] = []
        page = status_page(answers)
        while page is not None:
            answers.append(self._request("ctl_status", page, "ctl_status"))
            page = status_page(answers)
        return ev.make(ev.Status, status_whole(answers))

    def sessions(self) -> List[ev.Session]:
        """Every connection and its streams."""
        out: List[ev.Session] = []
        page: Dict[str, int] = {}
        while True:
            got = self._request("ctl_sessions", page, "ctl_sessions")
            out += [ev.make(ev.Session, s) for s in got["sessions"]]
            if not got["more"] or not got["sessions"]:
                return out
            page = {"after_conn": out[-1].conn, "after_stream": out[-1].stream}

    def reload(self, model: str = "") -> str:
        """Reads the settings and all loaded models again, or one model; the reason of a refusal names file and line."""
        return self._done("ctl_reload", {"model": model})

    def drain(self, grace_ms: int = 0) -> str:
        """Finishes what is open and exits; 0: as long as configured."""
        return self._done("ctl_drain", {"grace_ms": grace_ms})

    def load(self, model: str) -> str:
        return self._done("ctl_load", {"model": model})

    def unload(self, model: str, wait: bool = False) -> str:
        """Gives a model's memory back; wait: answers when its last stream has ended."""
        return self._done("ctl_unload", {"model": model, "wait": wait})

    def swap(self, model: str) -> str:
        """New streams get the model's new version, old ones keep theirs."""
        return self._done("ctl_swap", {"model": model})

    def kick(self, conn: int) -> str:
        return self._done("ctl_kick", {"conn": conn})

    def log_level(self, level: str) -> str:
        """error, warning, info or debug."""
        return self._done("ctl_log_level", {"level": level})

    def metrics(self) -> str:
        """The figures as OpenMetrics text."""
        req, data = self._core.request("ctl_metrics", {})
        self._send(data)
        parts: List[str] = []
        try:
            while True:
                got = self._next(req, "ctl_metrics")
                parts.append(got["text"])
                if not got.get("more"):
                    return "".join(parts)
        finally:
            self._core.forget(req)


__all__ = ["Client", "Control", "PortStream", "Stream"]
