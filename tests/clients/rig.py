# SPDX-License-Identifier: MIT
"""A daemon of its own for a test, audio to send, and the line of counts at the end."""
import array
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import wave

sys.path.insert(0, os.environ.get("RILL_PYTHON") or os.path.join(os.path.dirname(__file__), "../../clients/python"))

RILLD, RILL = os.environ.get("RILLD", "rilld"), os.environ.get("RILL", "rill")
SHARED = os.environ.get("RILL_SHARED", "")      # weights that are not in the repository
AUDIO = os.environ.get("RILL_AUDIO") or os.path.join(os.path.dirname(__file__), "../../examples/audio")

LIBRARY = os.environ.get("RILL_LIBRARY") or os.path.join(os.path.dirname(__file__), "../../models/library")


class Daemon:
    """rilld with settings of its own; stop() ends it."""

    def __init__(self, more="", models=()):
        self.dir = tempfile.mkdtemp(prefix="rill-clients-")
        self.models = self.dir + "/models"
        if models:
            subprocess.run([RILL, "models", "get", *models, "--quiet", "--from", SHARED + "/models", "--to", self.models], check=True)
        self.socket, self.control = self.dir + "/s", self.dir + "/c"
        conf = self.dir + "/rilld.conf"
        with open(conf, "w", encoding="utf-8") as f:
            f.write("[daemon]\nsocket = %s\ncontrol_socket = %s\nworkers = 2\n[overload]\npolicy = off\n[models]\nmodel_path = %s\n%s\n"
                    % (self.socket, self.control, self.models, more))
        self.log = open(self.dir + "/log", "wb")
        self.process = subprocess.Popen([RILLD, "--config", conf], stderr=self.log)
        end = time.monotonic() + 60
        while not self._listens():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the daemon did not start:\n" + self.words())
            time.sleep(0.02)

    def _listens(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.socket)
            except OSError:
                return False
        return True

    def words(self):
        with open(self.dir + "/log", encoding="utf-8", errors="replace") as f:
            return f.read()

    def kill(self):
        """As a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """The exit code of an orderly end; the daemon's words where it is not 0."""
        self.process.terminate()
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            code = -1
        if code not in (0, -9):
            print(self.words())
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        return code


class Impostor:
    """A socket whose other side sends `answers`, one after each read, and then closes or stays silent. `last` is sent
    before closing without a read."""

    def __init__(self, answers, stay=False, last=b""):
        self.dir = tempfile.mkdtemp(prefix="rill-clients-")
        self.path = self.dir + "/s"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.answers, self.stay, self.last, self.done = answers, stay, last, threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        conn, _ = self.listener.accept()
        with conn:
            for answer in self.answers:
                if not conn.recv(1 << 16):
                    break
                conn.sendall(answer)
            if self.last:
                conn.sendall(self.last)
            if self.stay:
                self.done.wait(30)

    def close(self):
        self.done.set()
        self.listener.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def wav(name):
    """The samples of an example as 16-bit bytes, and the rate."""
    with wave.open(os.path.join(AUDIO, name)) as w:
        return w.readframes(w.getnframes()), w.getframerate()


def floats(pcm16):
    return array.array("f", [x / 32768 for x in array.array("h", pcm16)])


def pieces(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def has_weights():
    return os.path.isdir(SHARED + "/models")


class Count(unittest.TextTestResult):
    good = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.good += 1


def main():
    """Runs the tests of the main module and prints the counts."""
    r = unittest.main(module="__main__", exit=False, testRunner=unittest.TextTestRunner(resultclass=Count)).result
    bad = len(r.failures) + len(r.errors)
    sys.stderr.flush()
    print("%d passed, %d failed" % (r.good, bad) + (", %d skipped" % len(r.skipped) if r.skipped else ""))
    sys.exit(bad > 0)
