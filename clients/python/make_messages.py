#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes rill_client/_messages.py, a table per message, from daemon/rilld.proto.

    make_messages.py PROTO              print it
    make_messages.py --check PROTO      every entry of the table that is there must be in PROTO
"""
import re
import sys

SCALARS = {"uint32", "uint64", "sint32", "bool", "float", "string", "bytes"}
HEAD = '''# SPDX-License-Identifier: MIT
"""A table per message of rilld.proto; written by make_messages.py.

MESSAGES: name -> {field number: (name, kind, repeated)}, where kind is a scalar type, "enum:NAME" or "message:NAME".
ENUMS: name -> {number: name}.  ONEOFS: name -> names of the fields of which one is set.
"""
'''


def parse(text):
    """The messages, enums and oneofs of a proto3 file that uses no more of the language than rilld.proto does."""
    tokens = re.findall(r'"[^"]*"|[A-Za-z_][\w.]*|\d+|[^\s\w]', re.sub(r"//.*", "", text))
    messages, enums, oneofs, stack, i = {}, {}, {}, [], 0
    while i < len(tokens):
        word = tokens[i]
        if word in ("message", "enum", "oneof") and tokens[i + 2] == "{":
            owners = [name for kind, name in stack if kind == "message"]
            name = ".".join(owners[-1:] + [tokens[i + 1]]) if word == "enum" else tokens[i + 1]
            stack.append((word, name))
            if word == "message":
                messages[name] = {}
            elif word == "enum":
                enums[name] = {}
            i += 3
        elif word == "}":
            stack.pop()
            i += 1
        elif stack and stack[-1][0] == "enum":
            enums[stack[-1][1]][int(tokens[i + 2])] = word
            i += 4
        elif stack:
            end = tokens.index(";", i)
            owner = [name for kind, name in stack if kind == "message"][-1]
            words = tokens[i:end]
            if words[0] == "map":
                entry = owner + "." + words[6]
                messages[entry] = {1: ("key", words[2], False), 2: ("value", words[4], False)}
                messages[owner][int(words[8])] = (words[6], "message:" + entry, True)
            else:
                repeated = words[0] == "repeated"
                kind, name, _, number = words[repeated:][:4]
                messages[owner][int(number)] = (name, kind, repeated)
                if stack[-1][0] == "oneof":
                    oneofs.setdefault(owner, []).append(name)
            i = end + 1
        else:
            i = tokens.index(";", i) + 1
    for owner, fields in messages.items():
        for number, (name, kind, repeated) in fields.items():
            if owner + "." + kind in enums:
                kind = owner + "." + kind
            if kind in enums:
                fields[number] = (name, "enum:" + kind, repeated)
            elif kind in messages:
                fields[number] = (name, "message:" + kind, repeated)
            elif kind not in SCALARS and not kind.startswith("message:"):
                raise SystemExit("%s: a type that the client does not know: %s" % (name, kind))
    return messages, enums, oneofs


def table(name, of, kind):
    lines = ["%s: %s = {" % (name, kind)]
    for key, entries in of.items():
        if not entries:
            lines.append("    %r: {}," % key)
        elif isinstance(entries, dict):
            lines.append("    %r: {" % key)
            lines += ["        %r: %r," % item for item in entries.items()]
            lines.append("    },")
        else:
            lines.append("    %r: (" % key)
            lines += ["        %r," % item for item in entries]
            lines.append("    ),")
    return "\n".join(lines + ["}", ""]).replace("'", '"')


def module(text):
    messages, enums, oneofs = parse(text)
    return "\n".join([HEAD + "from typing import Dict, Tuple", "",
                      table("MESSAGES", messages, "Dict[str, Dict[int, Tuple[str, str, bool]]]"),
                      table("ENUMS", enums, "Dict[str, Dict[int, str]]"),
                      table("ONEOFS", oneofs, "Dict[str, Tuple[str, ...]]")])


def check(text):
    """What of the table is not in the proto: an old client may know less, never something else."""
    from rill_client import _messages
    messages, enums, _ = parse(text)
    wrong = []
    for have, want in ((_messages.MESSAGES, messages), (_messages.ENUMS, enums)):
        for name, entries in have.items():
            for number, entry in entries.items():
                if want.get(name, {}).get(number) != entry:
                    wrong.append("%s.%s: %r here, %r there" % (name, number, entry, want.get(name, {}).get(number)))
    return wrong


if __name__ == "__main__":
    with open(sys.argv[-1], encoding="utf-8") as f:
        proto = f.read()
    if sys.argv[1] == "--check":
        problems = check(proto)
        print("\n".join(problems) if problems else "the tables agree")
        sys.exit(bool(problems))
    sys.stdout.write(module(proto))
