/* SPDX-License-Identifier: MIT */
#include "tools/quantize/pipeline.h"
#include "models/nnef/lexer.h"

#include <string.h>

static bool is_net(const struct nnef_token *t)
{
    return t->kind == NNEF_TEXT && t->n > 5 && !memcmp(t->at + t->n - 5, ".onnx", 5);
}

rill_status pipeline_nets(const char *text, size_t n,
                          rill_status (*see)(void *arg, const char *name, size_t name_bytes),
                          void *arg)
{
    struct nnef_lexer lexer;
    nnef_lexer_init(&lexer, text, n);
    for (;;) {
        struct nnef_token t = nnef_next(&lexer);
        if (t.kind == NNEF_END || t.kind == NNEF_BAD)
            return RILL_OK;
        if (is_net(&t))
            TRY(see(arg, t.at, t.n));
    }
}
