/* SPDX-License-Identifier: MIT */
#include "tools/conformance.h"
#include "tools/tool.h"

static int run(const struct command *self, int argc, char **argv)
{
    (void) self;
    return conformance_main(argc, argv);
}

const struct command cmd_conformance = {
    .name = "conformance", .usage = "[options] DIR", .summary = "run folders of backend test cases", .run = run,
};
