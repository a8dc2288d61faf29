/* SPDX-License-Identifier: MIT */
/* open.h - how bench and inspect open what they are given: a library model, or a bare file with declarations. */
#ifndef TOOLS_OPEN_H
#define TOOLS_OPEN_H
#include "tools/step_model.h"
#include "tools/tool.h"

struct open_opts { struct opt_list shapes, consts, states; };

#define OPEN_OPTS(o)                                                                                        \
    { "shape", 0, OPT_LIST, &(o).shapes, "IN=1,2,..", "fix the shape of an input of a bare file" },         \
    { "const", 0, OPT_LIST, &(o).consts, "IN=VALUE", "make an input of a bare file a constant" },           \
    { "state", 0, OPT_LIST, &(o).states, "IN:OUT", "an output of a bare file is fed back as an input" }

/* Library name, folder or file; with declarations the file is opened as a stream of steps. */
rill_status open_any(rill_model **ret, const char *name, const struct open_opts *o, rill_error *reterr);
#endif
