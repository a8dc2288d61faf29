/* SPDX-License-Identifier: MIT */
#include "lib/open_net.h"
#include "engine/base/lock.h"
#include "engine/late/late.h"
#include "lib/cpu.h"
#include "models/network/network.h"

#include <stdlib.h>
#include <string.h>

#define NET_ARENA_BYTES_MAX ((size_t) 4 << 30)

struct planned_net {
    struct open_net net; /* stands first */
    struct arena arena;
    struct dims *dims;
    struct lock *lock;
    struct mgraph g;
    struct late *late;
    struct tensor in[OPEN_NET_PORTS_MAX];
    struct size_source sources[OPEN_NET_PORTS_MAX];
    const struct tensor *out[OPEN_NET_PORTS_MAX];
    uint64_t runs;
};

static struct open_net *net_free(struct open_net *n)
{
    struct planned_net *p = (struct planned_net *) n;
    late_free(p->late);
    lock_free(p->lock);
    dims_free(p->dims);
    arena_drop(&p->arena);
    free(p);
    return NULL;
}

/* ---- a run ---- */

static void inputs_view(struct planned_net *p, const struct open_value *in)
{
    p->runs++;
    for (unsigned i = 0; i < p->net.n_in; i++) {
        struct tensor *t = &p->in[i];
        *t = (struct tensor) { .type = p->net.in[i].is_i64 ? DTYPE_I64 : DTYPE_F32,
                               .rank = in[i].rank,
                               .data = (void *) (uintptr_t) in[i].data };
        memcpy(t->dim, in[i].dim, sizeof in[i].dim);
        p->sources[i] = (struct size_source) { t, p->runs };
    }
}

static void outputs_give(const struct planned_net *p, open_net_take take, void *arg)
{
    struct open_value out[OPEN_NET_PORTS_MAX];
    for (unsigned i = 0; i < p->net.n_out; i++) {
        const struct tensor *t = p->out[i];
        out[i] = (struct open_value) { .name = p->net.out[i].name,
                                       .is_f32 = t->type == DTYPE_F32,
                                       .is_i64 = t->type == DTYPE_I64,
                                       .rank = t->rank,
                                       .data = t->data };
        memcpy(out[i].dim, t->dim, sizeof out[i].dim);
    }
    take(arg, out);
}

static rill_status net_run(struct open_net *n, const struct open_value *in, open_net_take take,
                           void *arg, rill_error *err)
{
    struct planned_net *p = (struct planned_net *) n;
    lock_take(p->lock);
    inputs_view(p, in);
    const rill_status s = late_run(p->late, p->sources, p->out, err);
    if (s == RILL_OK)
        outputs_give(p, take, arg);
    lock_give(p->lock);
    return s == RILL_OK ? s : err_prefix(err, s, "%.160s", n->file);
}

/* ---- making ---- */

/* What is said of it; a size that is no number is open. */
static void port_describe(struct open_value *ret, const struct graph *g, uint32_t wire)
{
    const struct wire *w = &g->wires[wire];
    const struct declared *d = w->declared;
    const enum dtype type = w->fact.type ? w->fact.type : d ? d->type : DTYPE_NONE;
    *ret = (struct open_value) { .name = w->name,
                                 .is_f32 = type == DTYPE_F32,
                                 .is_i64 = type == DTYPE_I64,
                                 .rank = w->fact.type ? w->fact.rank
                                     : d              ? d->rank
                                                      : -1 };
    for (int k = 0; k < ret->rank; k++)
        ret->dim[k] = !w->fact.type          ? d->dim[k]
            : dim_is_const(w->fact.shape[k]) ? dim_value(w->fact.shape[k])
                                             : -1;
}

static rill_status ports_describe(struct planned_net *p, rill_error *err)
{
    const struct graph *g = &p->g.g;
    if (g->n_inputs > OPEN_NET_PORTS_MAX || g->n_outputs > OPEN_NET_PORTS_MAX)
        return err_set(err, RILL_INVALID,
                       "it has %u inputs and %u outputs; at most %d of each are taken", g->n_inputs,
                       g->n_outputs, OPEN_NET_PORTS_MAX);
    p->net.n_in = g->n_inputs;
    p->net.n_out = g->n_outputs;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        port_describe(&p->net.in[i], g, g->inputs[i]);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        port_describe(&p->net.out[i], g, g->outputs[i]);
    return RILL_OK;
}

static rill_status net_fill(struct planned_net *p, const char *name, const struct bytes *b,
                            rill_error *err)
{
    struct late_opts opts = { 0 };
    p->arena.limit_bytes = NET_ARENA_BYTES_MAX;
    p->dims = dims_new();
    p->lock = lock_new();
    p->net.file = arena_string(&p->arena, name);
    if (!p->dims || !p->lock || !p->net.file)
        return err_set(err, RILL_NOMEM, "out of memory");
    TRY(mgraph_from_network(&p->g, &p->arena, p->dims, b, err));
    TRY(ports_describe(p, err));
    TRY(cpu_choose(0, &opts.cpu, err));
    return late_new(&p->late, &p->g.g, NULL, &opts, err);
}

rill_status open_net_new(struct open_net **ret, const char *name, const uint8_t *data, size_t n,
                         rill_error *reterr)
{
    struct planned_net *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    p->net.run = net_run;
    p->net.free = net_free;
    rill_status s = net_fill(p, name, &(struct bytes) { .data = data, .n = n }, reterr);
    if (s != RILL_OK) {
        net_free(&p->net);
        return err_prefix(reterr, s, "%.200s", name);
    }
    *ret = &p->net;
    return RILL_OK;
}
