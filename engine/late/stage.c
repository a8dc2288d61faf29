/* SPDX-License-Identifier: MIT */
/* A stage: what fixes its plan, the plans made of it, and how one runs. */
#include "engine/late/internal.h"
#include "engine/graph/control.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/typing/typed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBSERVED_MAX 64 /* elements of a tensor that fixes sizes */
#define BYTES_MAX ((size_t) 1 << 30)
#define OWN_BYTES ((size_t) 64 << 20)  /* that a plan may keep whatever the limit is */
#define VARIANTS_MAX 1024              /* plans of one stage that are kept, and */
#define KEPT_BYTES ((size_t) 64 << 20) /* what they may take, the last one apart, beside */
#define KEPT_WEIGHTS 2                 /* times the weights */

/* ---- what fixes the plan ---- */

static enum dtype bits_of(enum dtype t)
{
    return t == DTYPE_F32 ? DTYPE_I32 : t == DTYPE_F64 ? DTYPE_I64 : t;
}

static rill_status size_add(struct stage *s, uint32_t e)
{
    if (e == SIZE_NONE || !size_cache_init(&s->caches[s->n_caches], &s->sizes, e, &s->arena))
        return RILL_NOMEM;
    s->n_caches++;
    return RILL_OK;
}

static rill_status sizes_of_input(struct stage *s, uint32_t i, const struct tensor *t)
{
    for (int k = 0; k < t->rank; k++)
        TRY(size_add(s, size_of_axis(&s->sizes, i, k)));
    for (int64_t k = 0; s->observed[i] && k < tensor_count(t); k++)
        TRY(size_add(s, size_element(&s->sizes, i, size_constant(&s->sizes, k))));
    return RILL_OK;
}

static rill_status sizes_computed(struct stage *s)
{
    for (uint32_t i = 0; i < s->n_computed; i++) {
        struct computed *c = &s->computed[i];
        c->first = s->n_caches;
        for (int64_t k = 0; k < tensor_count(&c->t); k++)
            TRY(size_add(s, c->e[k]));
    }
    return RILL_OK;
}

/* The node that a wire is read by; NULL: none. */
static const struct node *reader_of(const struct stage *s, uint32_t wire, unsigned *ret_input)
{
    const struct graph *g = s->late->g;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node *n = &g->nodes[s->nodes[i]];
        for (unsigned k = 0; k < n->n_in; k++)
            if (n->in[k] == wire) {
                *ret_input = k;
                return n;
            }
    }
    return NULL;
}

/* Puts the node in front that reads the wire, and which of its inputs that is. */
static rill_status wire_refuse(const struct stage *s, uint32_t wire, rill_status why,
                               rill_error *err)
{
    unsigned input;
    const struct node *n = reader_of(s, wire, &input);
    return n ? err_prefix(err, why, "%s%snode '%.80s' (%s): input %u ('%.80s')",
                          n->origin ? n->origin : "", n->origin ? ": " : "", n->name, n->op->name,
                          input, s->late->g->wires[wire].name)
             : err_prefix(err, why, "'%.80s'", s->late->g->wires[wire].name);
}

/* What the size is computed from, to be given other numbers. */
static void leaves_print(const struct stage *s, const struct size_cache *c, char *ret, size_t cap)
{
    size_t at = 0;
    ret[0] = 0;
    for (uint32_t i = 0; i < c->n_seen && at < cap; i++) {
        const uint32_t wire = s->inputs[c->seen[i].leaf.tensor];
        bool told = false;
        for (uint32_t k = 0; k < i; k++)
            told |= s->inputs[c->seen[k].leaf.tensor] == wire;
        if (!told)
            at += (size_t) snprintf(ret + at, cap - at, "%s'%.60s'", i ? ", " : "",
                                    s->late->g->wires[wire].name);
    }
}

/* Of a size that is computed, why it has no value: told of the node that it is for. */
static rill_status size_refuse(const struct stage *s, uint32_t cache, rill_status why,
                               rill_error *err)
{
    const struct computed *c = NULL;
    char leaves[200];
    for (uint32_t i = 0; i < s->n_computed; i++)
        if (s->computed[i].first <= cache)
            c = &s->computed[i];
    if (!c || !err || cache >= c->first + (uint32_t) tensor_count(&c->t))
        return why;
    const rill_error told = *err;
    leaves_print(s, &s->caches[cache], leaves, sizeof leaves);
    if (leaves[0])
        err_set(err, why, "%s; give %s %s numbers", told.text, leaves,
                why == RILL_LIMIT ? "smaller" : "other");
    return wire_refuse(s, c->wire, why, err);
}

/* Once the inputs are there for the first time: their ranks stay. The shapes of those that sizes
 * alone read are fixed by the stage before. */
static rill_status sizes_make(struct stage *s, rill_error *err)
{
    struct arena *a = &s->arena;
    size_t n = 1;
    for (uint32_t i = 0; i < s->n_computed; i++)
        n += (size_t) tensor_count(&s->computed[i].t);
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const struct tensor *t = s->late->wires[s->inputs[i]].t;
        if (s->observed[i] && tensor_count(t) > OBSERVED_MAX) {
            err_set(err, RILL_LIMIT, "it decides a size with %lld elements; at most %d do",
                    (long long) tensor_count(t), OBSERVED_MAX);
            return wire_refuse(s, s->inputs[i], RILL_LIMIT, err);
        }
        s->ranks[i] = t->rank;
        n += (size_t) t->rank + (s->observed[i] ? OBSERVED_MAX : 0);
    }
    s->caches = arena_array(a, struct size_cache, n);
    s->key = arena_array(a, int64_t, n);
    if (!s->caches || !s->key)
        return late_no_memory(err);
    rill_status made = sizes_computed(s);
    for (uint32_t i = 0; made == RILL_OK && i < s->n_inputs; i++)
        if (!s->key_only[i])
            made = sizes_of_input(s, i, s->late->wires[s->inputs[i]].t);
    return made == RILL_OK ? RILL_OK : late_no_memory(err);
}

static rill_status sources_set(struct stage *s, rill_error *err)
{
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const struct size_source *w = &s->late->wires[s->inputs[i]];
        s->views[i] = *w->t;
        if (s->observed[i])
            s->views[i].type = bits_of(w->t->type);
        s->sources[i] = (struct size_source) { &s->views[i], w->writes };
        if (s->key && w->t->rank != s->ranks[i]) {
            err_set(err, RILL_UNSUPPORTED, "it has %d axes, and had %d before: that may not change",
                    w->t->rank, s->ranks[i]);
            return wire_refuse(s, s->inputs[i], RILL_UNSUPPORTED, err);
        }
    }
    return RILL_OK;
}

static rill_status key_make(struct stage *s, rill_error *err)
{
    TRY(sources_set(s, err));
    if (!s->key)
        TRY(sizes_make(s, err));
    for (uint32_t i = 0; i < s->n_caches; i++) {
        const uint64_t hits = s->caches[i].hits;
        const rill_status got = size_cached(&s->caches[i], s->sources, &s->key[i], err);
        if (got != RILL_OK)
            return size_refuse(s, i, got, err);
        *(s->caches[i].hits > hits ? &s->late->counts.hits : &s->late->counts.misses) += 1;
    }
    return RILL_OK;
}

/* ---- planning ---- */

static rill_status input_fact(struct stage *s, struct variant *v, uint32_t i, struct fact *ret,
                              rill_error *err)
{
    const struct tensor *t = s->late->wires[s->inputs[i]].t;
    fact_of_tensor(ret, s->late->g->dims, t);
    ret->number = t->number;
    ret->value = s->observed[i] ? tensor_clone(&v->arena, t) : NULL;
    return s->observed[i] && !ret->value ? late_no_memory(err) : RILL_OK;
}

/* The nodes of the stage as a graph of their own; wires keep their numbers. */
static rill_status graph_make(struct stage *s, struct variant *v, struct graph *ret,
                              rill_error *err)
{
    const struct graph *g = s->late->g;
    *ret = *g;
    ret->arena = &v->arena;
    ret->cap_wires = ret->cap_nodes = ret->cap_inputs = ret->cap_outputs = 0;
    ret->wires = arena_copy(&v->arena, g->wires, g->n_wires * sizeof *g->wires);
    ret->nodes = arena_array(&v->arena, struct node, s->n_nodes + 1u);
    ret->inputs = arena_array(&v->arena, uint32_t, s->n_inputs + 1u);
    if (!ret->wires || !ret->nodes || !ret->inputs)
        return late_no_memory(err);
    for (uint32_t w = 0; w < g->n_wires; w++) {
        ret->wires[w].node = WIRE_NONE;
        ret->wires[w].fact.value = v->known[w];
        ret->wires[w].declared = NULL;
    }
    ret->n_nodes = s->n_nodes;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        ret->nodes[i] = g->nodes[s->nodes[i]];
        for (unsigned k = 0; k < ret->nodes[i].n_out; k++)
            if (ret->nodes[i].out[k] != WIRE_NONE)
                ret->wires[ret->nodes[i].out[k]].node = i;
    }
    ret->n_inputs = 0;
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        if (s->key_only[i])
            continue;
        ret->inputs[ret->n_inputs++] = s->inputs[i];
        TRY(input_fact(s, v, i, &ret->wires[s->inputs[i]].fact, err));
    }
    return RILL_OK;
}

static size_t bytes_max(const struct late *l)
{
    return l->opts.bytes_max ? l->opts.bytes_max : BYTES_MAX;
}

static rill_status plan_make(struct stage *s, struct variant *v, const struct tgraph *typed,
                             rill_error *err)
{
    struct dgraph decluttered;
    const size_t most = bytes_max(s->late);
    const struct plan_opts opts = { .cpu = s->late->opts.cpu,
                                    .mem_bytes_max = most,
                                    .shared = s->late->packs,
                                    .own_bytes_max =
                                        most + OWN_BYTES + 2 * s->late->weights_bytes };
    TRY(dgraph_from_tgraph(&decluttered, typed, NULL, err));
    TRY(graph_settle(&v->settled.g, &decluttered.g, NULL, err));
    TRY(plan_from_sgraph(&v->plan, &v->settled, &opts, err));
    s->late->counts.plans++;
    return v->plan->n_outputs == v->n_outputs
        ? RILL_OK
        : err_set(err, RILL_INTERNAL, "a stage gives %u tensors, wanted are %u", v->plan->n_outputs,
                  v->n_outputs);
}

/* Inputs whose elements a node's sizes hang on: all but its data. */
static bool observes(const struct node *n, unsigned k, const struct fact *f)
{
    struct tensor t;
    return fact_to_tensor(f, &t) && tensor_count(&t) <= OBSERVED_MAX &&
        (k > 0 || t.rank == 0 || dtype_is_int(t.type)) && !(n->op->flags & OP_CONTROL);
}

static bool is_computed(const struct stage *s, uint32_t wire)
{
    for (uint32_t i = 0; s && i < s->n_computed; i++)
        if (s->computed[i].wire == wire)
            return true;
    return false;
}

/* Of a node that is left though all that it reads is there: what of it is to be known next. */
static bool node_observes(struct stage *s, const struct variant *v, const struct node *n,
                          const struct tensor *const *shapes, bool *ret_observed)
{
    bool any = false;
    for (unsigned k = 0; k < n->n_in; k++) {
        const uint32_t w = n->in[k];
        struct fact f;
        if (w != WIRE_NONE && is_computed(v->then, w))
            any = true;
        if (w == WIRE_NONE || v->known[w] || !shapes[w] || is_computed(v->then, w))
            continue;
        fact_of_tensor(&f, s->late->g->dims, shapes[w]);
        if (observes(n, k, &f))
            ret_observed[w] = any = true;
    }
    return any;
}

/* Shapes of all that is there behind the stage: its inputs, and what the plan gives. */
static const struct tensor **shapes_after(struct stage *s, struct variant *v)
{
    const struct graph *g = s->late->g;
    const struct tensor **list = arena_array(&v->arena, const struct tensor *, g->n_wires + 1u);
    for (uint32_t i = 0; list && i < s->n_inputs; i++)
        list[s->inputs[i]] = s->late->wires[s->inputs[i]].t;
    for (uint32_t i = 0; list && i < v->n_outputs; i++)
        list[v->outputs[i]] = &v->plan->outputs[i].shape;
    return list;
}

static rill_status between_add(struct stage *s, struct variant *v, uint32_t node, rill_error *err)
{
    const struct late *l = s->late;
    const struct node *n = &l->g->nodes[node];
    struct between *b = &v->between[v->n_between++];
    b->node = node;
    for (unsigned k = 0; k < n->n_body; k++) {
        const unsigned first = node_is(n, OP_IF) ? 1 : 0,
                       n_states = node_is(n, OP_IF)
            ? 0
            : 2 + (unsigned) ((const struct loop_attr *) n->attr)->n_states;
        const struct tensor **known =
            arena_array(&v->arena, const struct tensor *, n->body[k]->n_inputs + 1u);
        if (!known)
            return late_no_memory(err);
        for (unsigned i = n_states; i < n->body[k]->n_inputs; i++)
            if (n->in[first + i] != WIRE_NONE)
                known[i] = v->known[n->in[first + i]];
        TRY(l->calls->make(&b->body[k], n->body[k], known, &l->opts, err));
    }
    return RILL_OK;
}

/* Nothing that comes later helps the node. */
/* n: node number `node` of the stage. */
static rill_status left_error(const struct typed_left *left, uint32_t node, const struct node *n,
                              rill_error *err)
{
    const struct left_why *w = left->why;
    while (w && w->node != node)
        w = w->next;
    if (err && w)
        *err = w->err;
    return w ? w->err.status
             : op_fail(err, RILL_UNSUPPORTED, n,
                       "data decides the size of what it gives, and no size can be computed from "
                       "these data, or it is over 2^63; sizes of inputs and integers computed from "
                       "inputs are taken, and an input that never changes can be made a constant");
}

static bool given_make(const struct stage *s, struct variant *v)
{
    size_t n = v->n_outputs;
    for (uint32_t i = 0; i < v->n_between; i++)
        n += s->late->g->nodes[v->between[i].node].n_out;
    v->given = arena_array(&v->arena, struct given, n + 1);
    return v->given;
}

/* The nodes that are left: those that run in between, and those of the next stage. */
static rill_status rest_make(struct stage *s, struct variant *v, const struct typed_left *left,
                             rill_error *err)
{
    const struct graph *g = s->late->g;
    uint32_t *rest = arena_array(&v->arena, uint32_t, s->n_nodes + 1u), n_rest = 0;
    bool *observed = arena_array(&v->arena, bool, g->n_wires + 1u);
    const struct tensor **shapes = shapes_after(s, v);
    v->between = arena_array(&v->arena, struct between, s->n_nodes + 1u);
    if (!rest || !observed || !shapes || !v->between)
        return late_no_memory(err);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node *n = &g->nodes[s->nodes[i]];
        if (left->kind[i] == LEFT_ITSELF && between_can(n)) {
            TRY(between_add(s, v, s->nodes[i], err));
            continue;
        }
        if (left->kind[i] == LEFT_ITSELF && !node_observes(s, v, n, shapes, observed))
            return left_error(left, i, n, err);
        if (left->kind[i] != LEFT_NOT)
            rest[n_rest++] = s->nodes[i];
    }
    if (!given_make(s, v))
        return late_no_memory(err);
    if (n_rest && !v->then && !(v->then = stage_new(s->late)))
        return late_no_memory(err);
    return n_rest ? stage_fill(v->then, rest, n_rest, v->known, observed, err) : RILL_OK;
}

/* What nodes that are left want to know and sizes can compute: the next stage's, which the plan
 * need not give. */
static rill_status computed_find(struct stage *s, struct variant *v, struct typed_left *left,
                                 rill_error *err)
{
    const struct graph *g = s->late->g;
    struct translation *t = translation_new(s->late, s, v);
    v->then = stage_new(s->late);
    for (uint32_t i = 0; t && v->then && i < s->n_nodes; i++) {
        const struct node *n = &g->nodes[s->nodes[i]];
        const bool waits =
            left->kind[i] == LEFT_ITSELF && !(n->op->flags & OP_CONTROL) && !between_can(n);
        for (unsigned k = 0; waits && k < n->n_in; k++)
            if (n->in[k] != WIRE_NONE && !v->known[n->in[k]] && !is_computed(v->then, n->in[k]))
                translation_write(t, n->in[k], v->then);
    }
    const bool made = t && v->then;
    translation_free(t);
    if (v->then && !v->then->n_computed)
        v->then = stage_free(v->then);
    return made ? RILL_OK : late_no_memory(err);
}

/* The plan need not give what is computed. */
static void outputs_spare(struct variant *v, struct graph *typed)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_outputs; i++)
        if (!is_computed(v->then, v->outputs[i])) {
            typed->outputs[n] = typed->outputs[i];
            v->outputs[n++] = v->outputs[i];
        }
    v->n_outputs = typed->n_outputs = n;
}

/* What the sizes of the stage came to. */
static rill_status computed_take(struct stage *s, struct variant *v, rill_error *err)
{
    for (uint32_t i = 0; i < s->n_computed; i++) {
        const struct computed *c = &s->computed[i];
        struct tensor *t = tensor_new(&v->arena, DTYPE_I64, c->t.rank, c->t.dim);
        if (!t)
            return late_no_memory(err);
        if (tensor_bytes(t))
            memcpy(t->data, v->key + c->first, tensor_bytes(t));
        v->known[c->wire] = t;
    }
    return RILL_OK;
}

static rill_status variant_fill(struct stage *s, struct variant *v, rill_error *err)
{
    struct mgraph m;
    struct tgraph typed;
    const uint32_t n_wires = s->late->g->n_wires;
    struct typed_left left = { .kind = arena_array(&v->arena, enum left_kind, s->n_nodes + 1u),
                               .value = arena_array(&v->arena, const struct tensor *, n_wires + 1u),
                               .outputs = arena_array(&v->arena, uint32_t, n_wires + 1u) };
    v->key = arena_copy(&v->arena, s->key, s->n_caches * sizeof *s->key);
    v->known = arena_copy(&v->arena, s->known, n_wires * sizeof *s->known);
    if (!left.kind || !left.value || !left.outputs || !v->key || !v->known)
        return late_no_memory(err);
    TRY(computed_take(s, v, err));
    TRY(graph_make(s, v, &m.g, err));
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (s->observed[i])
            v->known[s->inputs[i]] = m.g.wires[s->inputs[i]].fact.value;
    TRY(tgraph_from_mgraph(&typed, &m, &(struct typed_opts) { .left = &left }, err));
    v->outputs = left.outputs;
    v->n_outputs = left.n_outputs;
    for (uint32_t w = 0; w < n_wires; w++)
        if (left.value[w])
            v->known[w] = left.value[w];
    TRY(computed_find(s, v, &left, err));
    outputs_spare(v, &typed.g);
    TRY(plan_make(s, v, &typed, err));
    return rest_make(s, v, &left, err);
}

static void variant_free(const struct late *l, struct variant *v)
{
    if (v->then)
        stage_free(v->then);
    for (uint32_t i = 0; i < v->n_between; i++)
        for (int k = 0; k < 2; k++) {
            l->calls->free(v->between[i].body[k]);
            arena_drop(&v->between[i].state[k]);
        }
    plan_free(v->plan);
    arena_drop(&v->made);
    arena_drop(&v->arena);
    free(v);
}

static rill_status variant_new(struct stage *s, struct variant **ret, rill_error *err)
{
    struct variant *v = calloc(1, sizeof *v);
    if (!v)
        return late_no_memory(err);
    rill_status made = variant_fill(s, v, err);
    if (made != RILL_LIMIT && v->arena.ran_out)
        made = late_no_memory(err);
    if (made != RILL_OK) {
        variant_free(s->late, v);
        return made;
    }
    v->older = s->variants;
    s->variants = v;
    s->n_variants++;
    s->kept_bytes += arena_bytes(&v->arena) + arena_bytes(&v->plan->arena);
    *ret = v;
    return RILL_OK;
}

static void variants_free(struct stage *s)
{
    while (s->variants) {
        struct variant *v = s->variants;
        s->variants = v->older;
        variant_free(s->late, v);
    }
    s->n_variants = 0;
    s->kept_bytes = 0;
    s->last = NULL;
}

/* The plan for what the sizes are now. */
static rill_status variant_get(struct stage *s, struct variant **ret, rill_error *err)
{
    for (struct variant *v = s->variants; v; v = v->older)
        if (!memcmp(v->key, s->key, s->n_caches * sizeof *s->key)) {
            *ret = v;
            return RILL_OK;
        }
    if (s->n_variants == VARIANTS_MAX ||
        s->kept_bytes > KEPT_BYTES + KEPT_WEIGHTS * s->late->weights_bytes)
        variants_free(s);
    return variant_new(s, ret, err);
}

/* ---- stages ---- */

static bool is_input(const struct stage *s, uint32_t w)
{
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i] == w && !s->key_only[i])
            return true;
    return false;
}

static void inputs_find(struct stage *s, const bool *made, const bool *observed)
{
    const struct graph *g = s->late->g;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node *n = &g->nodes[s->nodes[i]];
        for (unsigned k = 0; k < n->n_in; k++) {
            const uint32_t w = n->in[k];
            if (w == WIRE_NONE || made[w] || s->known[w] || is_input(s, w))
                continue;
            s->observed[s->n_inputs] = observed && observed[w];
            s->inputs[s->n_inputs++] = w;
        }
    }
}

static rill_status lists_make(struct stage *s)
{
    struct arena *a = &s->arena;
    const size_t n = 2 * (size_t) s->late->g->n_wires + 1;
    s->sizes.arena = a;
    s->inputs = arena_array(a, uint32_t, n);
    s->observed = arena_array(a, bool, n);
    s->key_only = arena_array(a, bool, n);
    s->computed = arena_array(a, struct computed, s->late->g->n_wires + 1u);
    return s->inputs && s->observed && s->key_only && s->computed ? RILL_OK : RILL_NOMEM;
}

struct stage *stage_new(struct late *l)
{
    struct stage *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->late = l;
    return lists_make(s) == RILL_OK ? s : stage_free(s);
}

rill_status stage_fill(struct stage *s, const uint32_t *nodes, uint32_t n_nodes,
                       const struct tensor **known, const bool *observed, rill_error *err)
{
    struct arena *a = &s->arena;
    const struct graph *g = s->late->g;
    bool *made = arena_array(a, bool, g->n_wires + 1u);
    s->n_nodes = n_nodes;
    if (!made || !(s->nodes = arena_copy(a, nodes, n_nodes * sizeof *nodes)) ||
        !(s->known = arena_copy(a, known, g->n_wires * sizeof *known)))
        return late_no_memory(err);
    for (uint32_t i = 0; i < s->n_computed; i++)
        made[s->computed[i].wire] = true;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[nodes[i]].n_out; k++)
            if (g->nodes[nodes[i]].out[k] != WIRE_NONE)
                made[g->nodes[nodes[i]].out[k]] = true;
    inputs_find(s, made, observed);
    s->sources = arena_array(a, struct size_source, s->n_inputs + 1u);
    s->views = arena_array(a, struct tensor, s->n_inputs + 1u);
    s->ranks = arena_array(a, int, s->n_inputs + 1u);
    s->read = arena_array(a, uint64_t, s->n_inputs + 1u);
    return s->sources && s->views && s->ranks && s->read ? RILL_OK : late_no_memory(err);
}

struct stage *stage_free(struct stage *s)
{
    variants_free(s);
    s->late->counts.block_bytes -= s->block_bytes;
    free(s->block);
    arena_drop(&s->arena);
    free(s);
    return NULL;
}

/* ---- running ---- */

/* Half as much again as is wanted, so that what grows by little does not grow each time. */
static size_t reserve_bytes(const struct stage *s, size_t wanted)
{
    const size_t most = bytes_max(s->late), room = wanted / 2 / MEMPLAN_ALIGN_BYTES;
    const size_t bytes = wanted + room * MEMPLAN_ALIGN_BYTES;
    return !s->block || bytes > most ? wanted : bytes;
}

/* The block is that of whatever plan ran last. It grows where one wants more than is reserved, and
 * is never given back. */
static rill_status block_for(struct stage *s, const struct plan *p, rill_error *err)
{
    if (p->mem_bytes > s->block_bytes) {
        const size_t bytes = reserve_bytes(s, p->mem_bytes);
        free(s->block);
        s->late->counts.block_bytes -= s->block_bytes;
        s->block = aligned_alloc(MEMPLAN_ALIGN_BYTES, bytes);
        s->block_bytes = s->block ? bytes : 0;
        s->late->counts.block_bytes += s->block_bytes;
        s->late->counts.grown++;
    }
    if (!s->block)
        return late_no_memory(err);
    plan_reset(p, s->block);
    return RILL_OK;
}

/* What the key has is the same with the same variant. */
static bool is_as_read(const struct stage *s, const struct variant *v)
{
    bool same = s->has_run && s->last == v && !s->late->is_random;
    for (uint32_t i = 0; same && i < s->n_inputs; i++)
        same = s->observed[i] || s->key_only[i] || s->read[i] == s->sources[i].writes;
    return same;
}

static rill_status plan_feed_and_run(struct stage *s, struct variant *v, rill_error *err)
{
    if (s->last != v)
        TRY(block_for(s, v->plan, err));
    for (uint32_t i = 0, k = 0; i < s->n_inputs; i++) {
        const struct tensor *t = s->late->wires[s->inputs[i]].t;
        if (s->observed[i] || s->key_only[i])
            continue;
        if (k == v->plan->n_inputs || tensor_bytes(&v->plan->inputs[k].shape) != tensor_bytes(t))
            return err_set(err, RILL_INTERNAL, "'%.80s' does not fit the plan of its stage",
                           s->late->g->wires[s->inputs[i]].name);
        if (tensor_bytes(t))
            memmove(s->block + v->plan->inputs[k].at.offset, t->data, tensor_bytes(t));
        k++;
    }
    plan_run(v->plan, s->block);
    s->last = v;
    const struct fault *f = plan_fault(v->plan, s->block);
    if (f) {
        s->last = NULL;
        return fault_error(f, err);
    }
    return RILL_OK;
}

static void outputs_give(struct stage *s, struct variant *v)
{
    v->n_given = 0;
    for (uint32_t i = 0; i < v->n_outputs; i++) {
        struct tensor t = v->plan->outputs[i].shape;
        t.data = (void *) (uintptr_t) place_read(v->plan->outputs[i].at, s->block);
        given_add(s->late, v, v->outputs[i], &t);
    }
}

/* What the last run gave, where another variant's stages may have given the same wires since. */
static void outputs_give_again(struct late *l, const struct variant *v)
{
    for (uint32_t i = 0; i < v->n_given; i++)
        l->wires[v->given[i].wire] = (struct size_source) { &v->given[i].t, v->given[i].writes };
}

rill_status stage_probe(struct stage *s, rill_error *err)
{
    struct variant *v;
    TRY(key_make(s, err));
    return variant_get(s, &v, err);
}

rill_status stage_run(struct stage *s, struct variant **ret, rill_error *err)
{
    struct variant *v = NULL;
    struct late *l = s->late;
    TRY(key_make(s, err));
    TRY(variant_get(s, &v, err));
    *ret = v;
    l->counts.runs++;
    if (is_as_read(s, v)) {
        l->counts.spared++;
        outputs_give_again(l, v);
        return RILL_OK;
    }
    s->has_run = false;
    TRY(plan_feed_and_run(s, v, err));
    outputs_give(s, v);
    arena_rewind(&v->made);
    for (uint32_t i = 0; i < v->n_between; i++)
        TRY(between_run(l, v, &v->between[i], err));
    for (uint32_t i = 0; i < s->n_inputs; i++)
        s->read[i] = s->sources[i].writes;
    s->has_run = true;
    return RILL_OK;
}
