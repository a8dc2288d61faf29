/* SPDX-License-Identifier: MIT */
#include "engine/late/internal.h"
#include "engine/base/float_mode.h"
#include "engine/graph/packs.h"
#include "engine/typing/half.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_PAGES_FROM ((size_t) 3 << 20) /* as plans have it */

/* ---- making ---- */

static bool any_random(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op->flags & OP_RANDOM)
            return true;
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            if (any_random(g->nodes[i].body[k]))
                return true;
    }
    return false;
}

static size_t constants_bytes(const struct graph *g)
{
    size_t bytes = 0;
    for (uint32_t w = 0; w < g->n_wires; w++)
        bytes += g->wires[w].fact.value ? tensor_bytes(g->wires[w].fact.value) : 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            bytes += constants_bytes(g->nodes[i].body[k]);
    return bytes;
}

/* Data of constants, those of bodies too; returns how many. ret NULL: counts. */
static size_t constants_list(const struct graph *g, const void **ret)
{
    size_t n = 0;
    for (uint32_t w = 0; w < g->n_wires; w++)
        if (g->wires[w].fact.value && tensor_bytes(g->wires[w].fact.value)) {
            if (ret)
                ret[n] = g->wires[w].fact.value->data;
            n++;
        }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            n += constants_list(g->nodes[i].body[k], ret ? ret + n : NULL);
    return n;
}

static rill_status packs_make(struct late *l, rill_error *err)
{
    l->packs = l->opts.packs;
    if (l->packs)
        return RILL_OK;
    const size_t n = constants_list(l->g, NULL);
    const void **constants = malloc((n + 1) * sizeof *constants);
    if (constants)
        constants_list(l->g, constants);
    l->packs =
        constants ? pack_store_new(constants, n, l->weights_bytes >= LARGE_PAGES_FROM) : NULL;
    free(constants);
    l->packs_own = l->packs;
    l->opts.packs = l->packs;
    return l->packs ? RILL_OK : late_no_memory(err);
}

static rill_status late_check(const struct graph *g, rill_error *err)
{
    if (g->n_states)
        return err_set(
            err, RILL_UNSUPPORTED,
            "state '%.80s': where data decides sizes, nothing is carried to the next run",
            g->states[0].name);
    return RILL_OK;
}

static rill_status late_fill(struct late *l, const struct tensor *const *known, rill_error *err)
{
    const struct graph *g = l->g;
    uint32_t *nodes = arena_array(&l->arena, uint32_t, g->n_nodes + 1u);
    l->known = arena_array(&l->arena, const struct tensor *, g->n_wires + 1u);
    l->wires = arena_array(&l->arena, struct size_source, g->n_wires + 1u);
    l->taken = arena_array(&l->arena, uint64_t, g->n_inputs + 1u);
    l->rounded = arena_array(&l->arena, struct rounded, g->n_inputs + 1u);
    if (!nodes || !l->known || !l->wires || !l->taken || !l->rounded)
        return late_no_memory(err);
    for (uint32_t w = 0; w < g->n_wires; w++)
        l->known[w] = g->wires[w].fact.value;
    for (uint32_t i = 0; known && i < g->n_inputs; i++)
        if (known[i])
            l->known[g->inputs[i]] = known[i];
    for (uint32_t i = 0; i < g->n_nodes; i++)
        nodes[i] = i;
    return (l->root = stage_new(l)) ? stage_fill(l->root, nodes, g->n_nodes, l->known, NULL, err)
                                    : late_no_memory(err);
}

static const struct late_calls calls = { late_new, late_run, late_free };

rill_status late_new(struct late **ret, const struct graph *g, const struct tensor *const *known,
                     const struct late_opts *opts, rill_error *reterr)
{
    TRY(late_check(g, reterr));
    struct late *l = calloc(1, sizeof *l);
    if (!l)
        return late_no_memory(reterr);
    l->calls = &calls;
    l->g = g;
    l->opts = *opts;
    l->is_random = any_random(g);
    l->weights_bytes = constants_bytes(g);
    kern_init(&l->kern, opts->cpu);
    rill_status made = packs_make(l, reterr);
    if (made == RILL_OK)
        made = late_fill(l, known, reterr);
    if (made != RILL_OK) {
        late_free(l);
        return made;
    }
    *ret = l;
    return RILL_OK;
}

struct late *late_free(struct late *l)
{
    if (!l)
        return NULL;
    if (l->root)
        stage_free(l->root);
    if (l->packs_own)
        pack_store_free(l->packs);
    for (uint32_t i = 0; l->rounded && i < l->g->n_inputs; i++)
        free(l->rounded[i].t.data);
    arena_drop(&l->arena);
    free(l);
    return NULL;
}

/* ---- running ---- */

static rill_status stages_run(struct late *l, const struct variant **ret_last, rill_error *err)
{
    struct variant *v = NULL;
    for (struct stage *s = l->root; s; s = v->then)
        TRY(stage_run(s, &v, err));
    *ret_last = v;
    return RILL_OK;
}

/* In memory that stays, which grows where it is too little. */
static rill_status input_round(struct rounded *r, const struct tensor *t, enum dtype half,
                               rill_error *err)
{
    const size_t bytes = tensor_bytes(t);
    void *data = r->t.data;
    if (bytes > r->room_bytes) {
        if (!(data = realloc(data, bytes)))
            return late_no_memory(err);
        r->room_bytes = bytes;
    }
    r->t = *t;
    r->t.number = half;
    r->t.data = data;
    if (t->data)
        half_round_numbers(data, t->data, (size_t) tensor_count(t), half);
    return RILL_OK;
}

static rill_status input_take(struct late *l, uint32_t i, const struct size_source *from,
                              rill_error *err)
{
    const struct wire *w = &l->g->wires[l->g->inputs[i]];
    const bool half = dtype_is_half(w->fact.type), rounds = half && from->t->number != w->fact.type;
    struct size_source *at = &l->wires[l->g->inputs[i]];
    const bool fresh = !at->writes || l->taken[i] != from->writes;
    if (w->fact.type && from->t->type != (half ? DTYPE_F32 : w->fact.type))
        return err_set(err, RILL_INVALID, "input '%.80s' is %s, the model wants %s", w->name,
                       dtype_name(from->t->type), dtype_name(w->fact.type));
    if (rounds && fresh)
        TRY(input_round(&l->rounded[i], from->t, w->fact.type, err));
    if (fresh)
        at->writes = ++l->writes;
    at->t = rounds ? &l->rounded[i].t : from->t;
    l->taken[i] = from->writes;
    return RILL_OK;
}

static rill_status inputs_take(struct late *l, const struct size_source *inputs, rill_error *err)
{
    for (uint32_t i = 0; i < l->g->n_inputs; i++)
        if (!l->known[l->g->inputs[i]])
            TRY(input_take(l, i, &inputs[i], err));
    return RILL_OK;
}

rill_status late_probe(struct late *l, const struct size_source *inputs, rill_error *reterr)
{
    TRY(inputs_take(l, inputs, reterr));
    return stage_probe(l->root, reterr);
}

rill_status late_run(struct late *l, const struct size_source *inputs,
                     const struct tensor **ret_outputs, rill_error *reterr)
{
    const struct variant *last = NULL;
    TRY(inputs_take(l, inputs, reterr));
    const uint64_t mode = floats_flush();
    rill_status s = stages_run(l, &last, reterr);
    floats_restore(mode);
    TRY(s);
    for (uint32_t i = 0; i < l->g->n_outputs; i++) {
        ret_outputs[i] = late_tensor(l, last, l->g->outputs[i]);
        if (!ret_outputs[i])
            return err_set(reterr, RILL_INTERNAL, "output '%.80s' was not made",
                           l->g->wires[l->g->outputs[i]].name);
    }
    return RILL_OK;
}

/* ---- counting ---- */

struct pack_store *late_packs(const struct late *l)
{
    return l->packs;
}

void late_counts_add(struct late_counts *to, const struct late_counts *more)
{
    to->hits += more->hits;
    to->misses += more->misses;
    to->plans += more->plans;
    to->runs += more->runs;
    to->spared += more->spared;
    to->grown += more->grown;
    to->block_bytes += more->block_bytes;
    to->packed_bytes += more->packed_bytes;
    to->weights_bytes += more->weights_bytes;
}

static void stage_count(const struct stage *s, struct late_counts *to)
{
    for (const struct variant *v = s->variants; v; v = v->older) {
        for (uint32_t i = 0; i < v->n_between; i++)
            for (int k = 0; k < 2; k++) {
                struct late_counts inner = { 0 };
                if (v->between[i].body[k])
                    late_count(v->between[i].body[k], &inner);
                late_counts_add(to, &inner);
            }
        if (v->then)
            stage_count(v->then, to);
    }
}

void late_count(const struct late *l, struct late_counts *ret)
{
    *ret = l->counts;
    ret->packed_bytes = l->packs_own ? pack_store_bytes(l->packs) : 0;
    ret->weights_bytes = l->packs_own ? l->weights_bytes : 0;
    stage_count(l->root, ret);
}

const struct graph *late_source(const struct late *l)
{
    return l->g;
}

const char *late_isa(const struct late *l)
{
    return l->kern.isa;
}
