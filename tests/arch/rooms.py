#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rooms: every file lies in one, uses only what its room may use, and no files of a folder use each other in a circle.

    rooms.py [BUILD] SOURCE

Who uses whom is read from #include ".." and, where a build is named, from the symbols of its objects (nm). A fault is
one of

    room FILE                   lies in no room
    circle FOLDER FILE..        these files of a folder use each other
    symbol FILE -> FILE         uses a symbol of a room that it may not use
    include FILE -> FILE        includes a header of one
    stale FILE -> ROOM          stands in EXCEPTIONS, and uses nothing of that room"""
import collections
import json
import os
import re
import subprocess
import sys

# A room may use itself and what its line names: rooms above it, "+" for the one before and all that that one may use,
# "engine" for all of it and the kernels, "ops" for what a reader or a streaming rule writes its graph with, "rill.h" for
# the functions of the public header, wherever they lie.
ROOMS = """
kernels
engine/base                 + kernels
engine/graph                +
engine/sizes                +
engine/ops                  +
engine/typing               +
engine/rewrite              +
engine/rewrite/declutter    +
engine/rewrite/settle       +
engine/plan                 +
engine/plan/file            +
engine/late                 +
pulse                       ops
models                      ops
models/onnx                 ops models
models/tflite               ops models
models/network              ops models/onnx models/tflite
models/nnef                 ops models models/network
models/export               ops engine/late models/onnx
models/recogniser           models models/onnx engine/base
lib                         engine pulse models models/network models/nnef models/recogniser
sinks                       engine/base models rill.h
check                       engine pulse models models/network models/nnef lib sinks
tools/quantize              engine models models/onnx models/nnef check
clients/c
daemon/base                 rill.h
daemon/compute              +
daemon/models               +
daemon/net                  daemon/base rill.h
daemon/serve                + daemon/compute daemon/models
daemon/watch                +
daemon                      +
tools                       engine pulse models models/onnx models/tflite models/network models/export lib sinks check tools/quantize clients/c kernels
"""
ELSEWHERE = ("bench", "examples", "include", "tests")   # what uses the rooms, and the public header
OPS = ("engine/base", "engine/graph", "engine/ops")
# A file without its ending, and the room that it may use beyond those of its own.
EXCEPTIONS = {
    ("pulse/shifts", "engine/typing"):
        "chains that shift rows are known by where they take elements from, for a few lengths: they are run on numbers",
    ("pulse/known", "engine/typing"):
        "what pads a sequence runs through a recurrence once, when the stream is cut: its last state is what the stream begins with",
    ("models/nnef/import", "engine/typing"):
        "an NNEF text is a program, read once sizes are known: it is typed as it is read, with the sizes the caller gave",
}


def rooms_read():
    """room -> the rooms that it may use."""
    may, before = collections.OrderedDict(), None
    for line in filter(None, ROOMS.split("\n")):
        room, *uses = line.split()
        may[room] = {room}
        for use in uses:
            if use == "+":
                may[room] |= may[before]
            elif use == "ops":
                may[room] |= set(OPS)
            elif use == "engine":
                may[room] |= {r for r in may if r.startswith("engine/") or r == "kernels"}
            else:
                may[room].add(use)
        before = room
    return may


def sources_of(source):
    found = [name for name in os.listdir(source) if name.endswith((".c", ".h"))]
    for top in os.listdir(source):
        if top[0] == "." or top in ELSEWHERE or os.path.exists(os.path.join(source, top, "meson-private")):
            continue
        for folder, _, names in os.walk(os.path.join(source, top)):
            folder = os.path.relpath(folder, source)
            found += [f"{folder}/{name}" for name in names if name.endswith((".c", ".h"))]
    return sorted(found)


def objects_of(build, source):
    """source file -> its object, of the targets that are no tests."""
    with open(os.path.join(build, "compile_commands.json")) as f:
        commands = json.load(f)
    objects = {}
    for c in commands:
        output = c.get("output") or re.search(r" -o (\S+)", c["command"]).group(1)
        file = os.path.relpath(os.path.join(c["directory"], c["file"]), source)
        if not output.startswith("tests/") and file not in objects:
            objects[file] = os.path.join(c["directory"], output)
    return objects


def symbols_of(objects):
    """What each file defines, and what it wants."""
    defined, wanted, file_of = {}, collections.defaultdict(set), {}
    for file, obj in objects.items():
        if not os.path.exists(obj):
            sys.exit(f"{file} is not built: {obj}")
        file_of[obj] = file
    listing = subprocess.run(["nm", "-A", *file_of], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        obj, rest = line.split(":", 1)
        *_, kind, name = rest.split()
        if kind in "Uw":
            wanted[file_of[obj]].add(name)
        elif kind in "TDBRVWC" and name != "main":
            defined[name] = file_of[obj]
    return defined, wanted


def symbol_uses(objects):
    defined, wanted = symbols_of(objects)
    uses = {file: collections.defaultdict(set) for file in objects}
    for file in objects:
        for name in wanted[file]:
            if defined.get(name, file) != file:
                uses[file][defined[name]].add(name)
    return uses


def public_names(source):
    with open(os.path.join(source, "include/rill.h"), encoding="utf-8") as f:
        return set(re.findall(r"\b(rill_[a-z0-9_]+)\(", f.read()))


def include_uses(source, files):
    uses = {}
    for file in files:
        with open(os.path.join(source, file), encoding="utf-8") as f:
            named = re.findall(r'^\s*#\s*include\s*"([^"]+)"', f.read(), re.M)
        beside = os.path.dirname(file)
        uses[file] = [n for name in named for n in (name, os.path.join(beside, name)) if n in files]
    return uses


def circles_in(uses):
    """Tarjan's strongly connected components of more than one file."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in uses[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in sorted(uses):
        if v not in index:
            visit(v)
    return found


def circles(uses, room):
    """The circles among the files of a folder."""
    by_folder = collections.defaultdict(dict)
    for f, used in uses.items():
        by_folder[room[f]][f] = [u for u in used if room[u] == room[f]]
    for folder, inside in sorted(by_folder.items()):
        for circle in circles_in(inside):
            yield f"circle {folder} " + " ".join(os.path.basename(f) for f in circle)


def look(build, source):
    """Every fault, and what more is to be said of it; how many files there are. build: None looks at sources alone."""
    may, faults, excepted = rooms_read(), [], set()
    files = sources_of(source)
    room = {f: os.path.dirname(f) for f in files}
    faults += [(f"room {f}", "lies in no room") for f in files if room[f] not in may]

    def allowed(f, u):
        exception = os.path.splitext(f)[0], room[u]
        if exception in EXCEPTIONS:
            excepted.add(exception)
        return exception in EXCEPTIONS or room[u] in may.get(room[f], ())

    includes = include_uses(source, files)
    for f, uses in includes.items():
        faults += [(f"include {f} -> {u}", "") for u in uses if not allowed(f, u)]
    faults += [(c, "by includes") for c in circles(includes, room)]
    if build:
        objects = {f: o for f, o in objects_of(build, source).items() if f in room}
        symbols, public = symbol_uses(objects), public_names(source)
        for f, uses in symbols.items():
            for u, names in sorted(uses.items()):
                beyond = () if allowed(f, u) else names - public if "rill.h" in may.get(room[f], ()) else names
                if beyond:
                    faults.append((f"symbol {f} -> {u}", " ".join(sorted(beyond))))
        faults += [(c, "by symbols") for c in circles(symbols, room)]
    faults += [("stale " + " -> ".join(e), "strike it from EXCEPTIONS") for e in EXCEPTIONS if e not in excepted]
    return faults, len(files)


def main():
    faults, n_files = look(*[None, *sys.argv[1:]][-2:])
    for fault, more in faults:
        print(f"FAIL {fault}" + (f": {more}" if more else ""))
    print(f"{n_files} passed, {len(faults)} failed")
    sys.exit(bool(faults))


main()
