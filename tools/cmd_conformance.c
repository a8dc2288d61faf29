/* SPDX-License-Identifier: MIT */
#include "tools/conformance.h"
#include "tools/tool.h"

const struct command cmd_conformance = {
    .name = "conformance",
    .usage = "[OPTIONS] DIR",
    .summary = "run folders of backend test cases",
    .details =
        "Runs every folder below DIR that holds model.onnx and "
        "test_data_set_<n>/{input,output}_<k>.pb, and compares the\n"
        "outputs (relative 1e-3, absolute 1e-7; integers exactly). Inputs are run-time values. A "
        "case of the list of what\n"
        "is not supported counts as skipped when it does not pass; one that is not listed, of an "
        "opset "
        "or op that rill does\n"
        "not know, counts as refused; any other refusal is a failure.",
    .run = conformance_main,
};
