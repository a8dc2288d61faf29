/* SPDX-License-Identifier: MIT */
/* conformance_case.h - one test case: load, run in every way there is, compare. */
#ifndef TOOLS_CONFORMANCE_CASE_H
#define TOOLS_CONFORMANCE_CASE_H
#include "engine/base/err.h"
#include "models/onnx/reader.h"

#include <stdbool.h>

struct case_result {
    bool passed;
    bool refused;              /* at load or for want of a form of input; not a wrong result */
    enum onnx_unknown unknown; /* why it was refused at load, where that is it */
    const char *way;  /* "plan": planned and interpreted, "late": planned as data comes, "interp":
                         the  growable interpreter alone */
    char reason[600]; /* why not passed */
};

/* dir: model.onnx and test_data_set_<n>/{input,output}_<k>.pb. Inputs are run-time values. */
void case_run(const char *dir, struct case_result *ret);
#endif
