/* SPDX-License-Identifier: MIT */
/* nnef.h - NNEF text and the files beside it -> model graph. */
#ifndef RILL_MODELS_NNEF_NNEF_H
#define RILL_MODELS_NNEF_NNEF_H
#include "engine/graph/graph.h"
#include "models/conf.h"
#include "models/folder.h"
#include "models/nnef/parser.h"

struct pgraph;

/* How a graph becomes one that runs a frame of the symbol at a time: the reader knows no streams.
 * What is made lives in m's arena and in a. */
typedef rill_status nnef_cut(struct pgraph *ret, const struct mgraph *m, const struct dim *symbol,
                             struct arena *a, rill_error *reterr);

/* "S=4*T": sizes of the text by the symbol that counts time, without which it may not be typed. */
struct nnef_sizes {
    const char *const *set; /* ends in NULL; others stand among them */
    const char *stream;     /* that symbol */
    uint64_t taken;         /* bit i: the text has the symbol of set[i] */
};

struct nnef_source {
    const char *file; /* name that messages begin with */
    const char *text;
    size_t n;              /* bytes of text; no zero byte is needed at the end */
    struct folder *folder; /* where tensor files and imported networks lie; NULL: there are none */
    nnef_cut *cut;         /* NULL: conditional parts are refused */
    struct conf_option *options; /* what model.conf says; those that the text asks for are marked */
    uint32_t n_options;
    struct nnef_sizes *sizes; /* NULL: none is said */
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
