# SPDX-License-Identifier: MIT
"""What the table measures: nets, how each program is told about them, and the bars."""
from dataclasses import dataclass, field
from typing import Callable, Optional

import cnn
from nets import PRODUCTS, PRODUCTS_8

PEER_NAMES = {"ort": "ONNX Runtime", "tract": "tract", "blas": "OpenBLAS", "other": "nnnoiseless",
              "litert": "LiteRT"}


@dataclass
class Run:
    """net: a generated net, exported/NAME of dfn_torch.py, models/FILE, library/NAME, or eight/ and one of these, with
    weights of 8 bits; args: options of the program;
    kind: another program."""
    net: str
    args: tuple = ()
    kind: Optional[str] = None


@dataclass
class Case:
    name: str
    group: str
    runs: dict                                  # program: runs, whose medians are added
    bar: float = 0                              # how many times faster than the best of `judged`
    roof: float = 0                             # how many times the roofline at most
    judged: tuple = ("ort",)
    share: dict = field(default_factory=dict)   # program: streams that one of its runs serves
    steps: int = 1                              # of a recurrence inside one run
    work: Optional[Callable] = None
    limit: Optional[Callable] = None
    names: dict = field(default_factory=lambda: PEER_NAMES)


def states(*pairs):
    return tuple(a for p in pairs for a in ("--state", p))


def shapes(**dims):
    return tuple(a for k, v in dims.items() for a in ("--shape", f"{k}={v}"))


def work_of(case, inspected, measured):
    """(flop, bytes read, bytes of the weights) of one run of rill's plans."""
    if case.work:
        return case.work
    if None in inspected:
        return 0, 0, 1
    flop = sum(2 * i["multiply_adds"]["a_pulse"] for i in inspected)
    weights = sum(m["weights_bytes"] for m in measured)
    return flop, weights / case.share.get("rill", 1), weights


# ---- models ----

GTCRN = Run("models/gtcrn/gtcrn_simple.onnx", states("conv_cache:conv_cache_out", "tra_cache:tra_cache_out",
                                                     "inter_cache:inter_cache_out"))
DTLN = [Run("models/dtln/model_1.onnx", shapes(input_2="1,1,257", input_3="1,2,128,2")
            + states("input_3:tf_op_layer_stack_2")),
        Run("models/dtln/model_2.onnx", shapes(input_4="1,1,512", input_5="1,2,128,2")
            + states("input_5:tf_op_layer_stack_5"))]


def silero(batch):
    return Run("models/silero_v6/silero_vad.onnx", shapes(input=f"{batch},576", state=f"2,{batch},128")
               + states("state:stateN") + ("--const", "sr=16000"))


DPDFNET2 = Run("dpdfnet2", states("state_in:state_out"))
DFN3 = Run("dfn3", states(*(f"{s}:{s}_out" for s in ("erb_past", "spec_past", "c0_past", "enc_gru0", "erb_gru0", "erb_gru1",
                                                     "df_gru0", "df_gru1"))))
DPDFNET2_FILE = Run("exported/dpdfnet2_export", DPDFNET2.args)
DFN3_FILES = [Run(f"exported/dfn3_export_{part}") for part in ("enc", "erb", "df")]
DFN3_FILE = Run("exported/dfn3_export", states(*(f"{s}:{s}_out" for s in ("erb_past", "spec_past", "c0_past", "enc_h", "erb_h",
                                                                        "df_h"))))

MODELS = [
    Case("gtcrn", "models", {"rill": [GTCRN], "ort": [GTCRN], "tract": [GTCRN]}, bar=20, roof=4.7),
    Case("dtln, nets and signal path", "models",
         {"rill": [Run("library/dtln")], "ort": [*DTLN, Run("dtln", ("dtln",), "path")]}, bar=2.2, roof=1.5),
    Case("dtln, nets alone", "models", {"rill": DTLN, "ort": DTLN, "tract": DTLN}),
    Case("dpdfnet2-shaped", "models", {"rill": [DPDFNET2], "ort": [DPDFNET2], "tract": [DPDFNET2]}, bar=3),
    Case("dfn3-shaped", "models", {"rill": [DFN3], "ort": [DFN3], "tract": [DFN3]}, bar=3),
    Case("dpdfnet2, as exported", "models", {w: [DPDFNET2_FILE] for w in ("rill", "ort", "tract")}, bar=3),
    Case("dfn3, as exported", "models", {"rill": DFN3_FILES, "ort": DFN3_FILES}, bar=3),
    Case("dfn3, one exported file", "models", {w: [DFN3_FILE] for w in ("rill", "ort", "tract")}),
    Case("silero_v6", "models", {"rill": [silero(1)], "ort": [silero(1)], "tract": [silero(1)]}, bar=6, roof=2.2),
]

# ---- the same nets with weights of 16 bits in rill, of f32 in ONNX Runtime: other numbers come out, so no bar is theirs ----


def i16(*runs):
    return [Run(run.net, run.args + ("--transform", "recurrent_weights(i16)")) for run in runs]


I16_NETS = {"dpdfnet2-shaped": [DPDFNET2], "dfn3-shaped": [DFN3], "dpdfnet2, as exported": [DPDFNET2_FILE],
            "dfn3, as exported": DFN3_FILES, "dtln, nets alone": DTLN, "silero_v6": [silero(1)]}
I16 = [Case(f"{name}, i16 recurrent weights", "i16 recurrent weights; ONNX Runtime f32", {"rill": i16(*runs), "ort": runs})
       for name, runs in I16_NETS.items()]

# ---- the same nets as `rill quantize` writes them, in rill alone ----

EIGHT = [Case(f"{name}, i8 weights", "i8 weights; ONNX Runtime f32",
              {"rill": [Run("eight/" + run.net, run.args) for run in runs], "ort": runs}, bar=bar)
         for name, runs, bar in (("dfn3-shaped", [DFN3], 4), ("dpdfnet2-shaped", [DPDFNET2], 3))]

# ---- layers ----

BARS = {"gru_128_50": 1.15, "lstm_128_50": 1.05, "gru_256_100": 1, "lstm_256_100": 1, "rnn_128_50": 1.5, "gru_128_1": 2}
GATES = {"gru": 3, "lstm": 4, "rnn": 1}


def recurrent(kind, size, steps):
    """The input's product is one matrix product; the recurrent weights are read anew in every step."""
    name = f"{kind}_{size}_{steps}"
    run = Run(name, states("h:h_out", *(["c:c_out"] if kind == "lstm" else [])))
    each = 4 * GATES[kind] * size * size

    def limit(machine):
        one = machine.limit_us((each / 2, each, each))
        inputs = each / 2 * steps / machine.gflops * 1e-3
        return steps * one + (inputs if steps > 1 else machine.limit_us((each / 2, each, 2 * each)))
    return Case(name, "recurrent layers, size and steps", {"rill": [run], "ort": [run], "tract": [run]},
                bar=BARS.get(name, 0), limit=limit)


def product(m, k, n):
    name, big = f"mm_{m}x{k}x{n}", min(m, k, n) >= 256
    run = Run(name)
    return Case(name, "products", {"rill": [run], "ort": [run], "blas": [Run(name, (str(m), str(k), str(n)))]},
                bar=0.95, roof=1.15 if big else 0, judged=("ort", "blas"),
                work=(2 * m * k * n, 4 * k * n * (1 if m < 16 else 0), 4 * k * n))


def product_8(m, k, n):
    """Weights of 8 bits, the input quantised as it comes; ONNX Runtime takes VNNI where the machine has it."""
    run = Run(f"q8_{m}x{k}x{n}")
    return Case(run.net, "products of 8 bits", {"rill": [run], "ort": [run]}, bar=1,
                work=(2 * m * k * n, k * n, k * n))


LAYERS = [recurrent(k, s, t) for k in GATES for s, t in ((128, 50), (256, 100), (128, 1), (256, 1))]
LAYERS += [product(*p) for p in PRODUCTS] + [product_8(*p) for p in PRODUCTS_8]

# ---- .tflite files as they are published ----


def tflite(bar, case, *files):
    runs = [Run(f"models/tflite/{name}.tflite") for name in files or [case]]
    return Case(case, ".tflite files of 8 bits", {"rill": [Run(r.net, ("--pulse", "1")) for r in runs], "litert": runs},
                bar=bar, judged=("litert",))


TFLITE = [tflite(1, f"micro_{name}") for name in ("vad", "hey_jarvis", "okay_nabu")]
TFLITE += [tflite(1.5, "dtln pair, nets alone", "dtln_model_quant_1", "dtln_model_quant_2")]

# ---- streams ----


def tdnn(pulse, bar):
    step = Run(f"tdnn_step_{pulse}", states(*(f"s{i}:s{i}_out" for i in range(3))))
    return Case(f"tdnn, pulse of {pulse}", "convolutions over time",
                {"rill": [Run("tdnn", ("--pulse", str(pulse)))], "ort": [step], "tract": [step]}, bar=bar)


STREAMS = [tdnn(4, 3), tdnn(8, 1.9), tdnn(24, 1.3)]
RNNOISE = Run("rnnoise", states(*(f"h{i}:h{i}_out" for i in range(3))))
STREAMS += [Case("rnnoise-shaped net", "models", {"rill": [RNNOISE], "ort": [RNNOISE], "tract": [RNNOISE],
                                                   "other": [Run("")]})]
STREAMS += [Case("silero_v6, each of 64 streams", "models",
                 {"rill": [Run(silero(1).net, silero(1).args + ("--streams", "64"))], "ort": [silero(64)]}, bar=5,
                 share={"rill": 64, "ort": 64})]

# ---- convolutional nets and their ops, on whole inputs ----

IMAGES = [Case(label, "convolutions and pools", {"rill": [Run(name)], "ort": [Run(name)]}, bar=1)
          for name, label in zip(cnn.NETS, cnn.LABELS)]

CASES = MODELS + I16 + EIGHT + LAYERS + TFLITE + STREAMS + IMAGES
