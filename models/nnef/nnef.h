/* SPDX-License-Identifier: MIT */
/* nnef.h - NNEF text and the files beside it -> model graph. */
#ifndef RILL_MODELS_NNEF_NNEF_H
#define RILL_MODELS_NNEF_NNEF_H
#include "engine/graph/graph.h"
#include "models/folder.h"
#include "models/nnef/parser.h"

struct nnef_source {
    const char *file; /* name that messages begin with */
    const char *text;
    size_t n;              /* bytes of text; no zero byte is needed at the end */
    struct folder *folder; /* where tensor files and imported networks lie; NULL: there are none */
};

/* Everything made lives in a, symbols in ds. Wires carry facts already. limits may be NULL. */
rill_status mgraph_from_nnef(struct mgraph *ret, struct arena *a, struct dims *ds,
                             const struct nnef_source *source, const struct nnef_limits *limits,
                             rill_error *reterr);

/* m with wires redefined by the statements of source (its file names the messages). facts: of m's
 * wires, as far as they are known (DTYPE_NONE: not). Redefined inputs that nothing reads any more
 * are gone. limits may be NULL. */
rill_status mgraph_patched(struct mgraph *ret, const struct mgraph *m, const struct fact *facts,
                           const struct nnef_source *source, const struct nnef_limits *limits,
                           rill_error *reterr);
#endif
