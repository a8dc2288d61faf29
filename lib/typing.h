/* SPDX-License-Identifier: MIT */
/* typing.h - which symbol of a model counts time, and the model graph typed for it. */
#ifndef RILL_LIB_TYPING_H
#define RILL_LIB_TYPING_H
#include "lib/model.h"

/* How time is found. */
struct time_choice {
    const char *name;   /* the symbol; NULL: by guess_by_name, or nothing streams */
    bool guess_by_name; /* the only one named like time, or else not named like a batch; a batch
                           symbol is 1 then */
};

/* Types g into *ret and sets m->stream. ret_facts: as in typed_opts, may be NULL. Everything lives
 * in m. */
rill_status model_type(rill_model *m, const struct mgraph *g, const struct time_choice *time,
                       struct tgraph *ret, struct fact *ret_facts, rill_error *reterr);

/* What model_type typed last, where it took a symbol as 1 (m->batch), with that symbol. */
rill_status model_type_batched(rill_model *m, struct tgraph *ret, rill_error *reterr);
#endif
