/* SPDX-License-Identifier: MIT */
#include "lib/stream_internal.h"
#include "engine/base/float_mode.h"

/* Streams that run together: so many at a time that what they touch in a step stays in cache. */
struct batch {
    rill_stream *stream[OP_MANY_MAX];
    rill_status *status[OP_MANY_MAX];
    unsigned n;
};

static bool batch_has(const struct batch *b, const rill_stream *s)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->stream[i] == s)
            return true;
    return false;
}

static void batch_run(struct batch *b)
{
    unsigned char *mem[OP_MANY_MAX];
    uint64_t mode = floats_flush();
    for (unsigned i = 0; i < b->n; i++) {
        stream_run_begin(b->stream[i]);
        mem[i] = stream_mem(b->stream[i]);
    }
    if (b->n == 1)
        plan_run(b->stream[0]->plan->plan, mem[0]);
    else if (b->n)
        plan_run_many(b->stream[0]->plan->plan, mem, b->n);
    floats_restore(mode);
    for (unsigned i = 0; i < b->n; i++)
        *b->status[i] = stream_run_end(b->stream[i]);
    b->n = 0;
}

rill_status rill_run_many(rill_stream *const *streams, unsigned n, rill_status *ret)
{
    struct batch b = { .n = 0 };
    for (unsigned i = 1; i < n; i++)
        if (streams[i]->plan != streams[0]->plan)
            return RILL_INVALID;
    for (unsigned i = 0; i < n; i++) {
        rill_stream *s = streams[i];
        if (s->plan->profile) {
            ret[i] = rill_stream_run(s);
            continue;
        }
        if (batch_has(&b, s))
            batch_run(&b);
        ret[i] = stream_run_check(s);
        if (ret[i] == RILL_OK) {
            b.stream[b.n] = s;
            b.status[b.n++] = &ret[i];
        }
        if (b.n == OP_MANY_MAX)
            batch_run(&b);
    }
    batch_run(&b);
    return RILL_OK;
}
