# SPDX-License-Identifier: MIT
"""Models of many ports, sections and states; where there is a limit it is refused by name.
many_ports.py RILL RILLD AUDIO.wav"""
import os, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from counted import check, finish

RILL, RILLD, AUDIO = sys.argv[1:4]


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout + r.stderr


def model(folder, name, n):
    """A recording's means, times 1 to n, as n outputs that keyword sinks read."""
    path = os.path.join(folder, name)
    os.mkdir(path)
    outs = ["k%d" % i for i in range(n)]
    with open(os.path.join(path, "graph.nnef"), "w") as f:
        f.write("version 1.0;\ngraph g(pcm) -> (%s) {\n    pcm = external<scalar>(shape = [S]);\n" % ", ".join(outs))
        f.write("    m = mean_reduce(rill_frame(pcm, 160, 160), axes = [1]);\n")
        f.writelines("    k%d = m * %d.0;\n" % (i, i + 1) for i in range(n))
        f.write("}\n")
    with open(os.path.join(path, "model.conf"), "w") as f:
        f.write("[model]\nsample_rate = 16000\n[input.pcm]\nkind = audio\n")
        f.writelines("[output.%s]\nkind = keyword\nwords = word\n" % o for o in outs)
    return path


def serve(folder, path):
    """What the daemon says of the model, until it is ready or ends."""
    conf = os.path.join(folder, "rilld.conf")
    with open(conf, "w") as f:
        f.write("[daemon]\nsocket = %s/s\ncontrol_socket = %s/c\n[models]\nmodel_path = %s\npreload = %s\n" % (folder, folder, folder, os.path.basename(path)))
    p = subprocess.Popen([RILLD, "--config", conf], stderr=subprocess.PIPE, text=True)
    said = ""
    for line in p.stderr:
        said += line
        if " ready: " in line:
            break
    p.terminate()
    said += p.communicate()[1]
    return said


SCAN = """version 1.0;
fragment step(x: tensor<scalar>, %s) -> (y: tensor<scalar>, %s) {
    y = x + %s;
%s}
graph g(x) -> (y) {
    x = external<scalar>(shape = [S, 3]);
    y = rill_scan(x, body = step, state = [%s]);
}
"""


def scan(folder, n):
    """y is x and the sum of n states; state i is x of the step before times i."""
    path = os.path.join(folder, "scan%d" % n)
    os.mkdir(path)
    ids = range(n)  # a text has at most 256 levels
    with open(os.path.join(path, "graph.nnef"), "w") as f:
        f.write(
            SCAN
            % (
                ", ".join("s%d: tensor<scalar>" % i for i in ids),
                ", ".join("t%d: tensor<scalar>" % i for i in ids),
                " + ".join("s%d" % i for i in ids[:200]),
                "".join("    t%d = x * %d.0;\n" % (i, i) for i in ids),
                ", ".join("(s%d, t%d, rill_fill([3], 0.0))" % (i, i) for i in ids),
            )
        )
    return path


with tempfile.TemporaryDirectory() as folder:
    code, said = run(RILL, "inspect", model(folder, "some", 30))
    check(code == 0 and "k29" in said, "a model.conf of 31 ports: " + said)
    said = serve(folder, os.path.join(folder, "some"))
    check(" ready: " in said and "32 outputs" not in said, "the daemon takes 30 outputs: " + said)
    said = serve(folder, model(folder, "many", 33))
    check("the model has more than 32 outputs with events" in said, "the daemon refuses 33: " + said)
    many = model(folder, "most", 70)
    code, said = run(RILL, "keyword", "--model", many, AUDIO)
    check(code and "has 71 inputs and outputs, at most 64 are heard" in said, "71 ports: " + said)
    code, said = run(RILL, "run", scan(folder, 98), "--set", "S=4", "--seed", "1", "--audit")
    check(code == 0, "98 states: " + said)
    code, said = run(RILL, "inspect", scan(folder, 4097))
    check(code and "'state': 4097 entries, at most 4096" in said, "4097 states: " + said[:300])
finish()
