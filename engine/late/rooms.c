/* SPDX-License-Identifier: MIT */
#include "engine/late/rooms.h"
#include "engine/base/float_mode.h"
#include "engine/graph/subst.h"
#include "engine/late/padded.h"
#include "engine/plan/plan.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/typing/typed.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_LEAST 16
#define BYTES_MAX ((size_t) 1 << 30)

struct room {
    struct room *smaller;
    int64_t frames;
    struct arena arena;
    struct sgraph settled;
    struct plan *plan;
    struct tensor *out; /* per output of the graph; data of states that grow are its own */
};

struct rooms {
    struct padded of;
    struct late_opts opts;
    const struct carry *states;
    uint32_t n_ports, n_results;
    int64_t most; /* frames that are reserved */
    struct room *largest;
    const struct room *in_block; /* whose plan the block is set for */
    unsigned char *block;
    size_t block_bytes;
    struct late_counts counts;
};

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory for a step whose states grow");
}

/* ---- making ---- */

/* For any number of frames; constant masks are folded by decluttering. */
static rill_status typed_make(struct dgraph *ret, const struct graph *g, const struct fact *facts,
                              uint32_t n_ports)
{
    struct tgraph typed;
    const struct mgraph m = { .g = *g };
    struct typed_input *in = arena_array(g->arena, struct typed_input, n_ports + 1u);
    if (!in)
        return RILL_NOMEM;
    for (uint32_t i = 0; i < n_ports; i++)
        in[i] = (struct typed_input) { g->wires[g->inputs[i]].name, facts[i] };
    TRY(tgraph_from_mgraph(&typed, &m, &(struct typed_opts) { in, n_ports, .ret_facts = NULL },
                           NULL));
    TRY(dgraph_from_tgraph(ret, &typed, NULL, NULL));
    return ret->g.n_inputs == g->n_inputs && ret->g.n_outputs == g->n_outputs ? RILL_OK
                                                                              : RILL_UNSUPPORTED;
}

rill_status rooms_new(struct rooms **ret, const struct graph *g, const struct carry *states,
                      const struct fact *facts, const struct late_opts *opts, rill_error *reterr)
{
    struct dgraph typed;
    struct rooms *r = calloc(1, sizeof *r);
    *ret = NULL;
    if (!r)
        return no_memory(reterr);
    r->opts = *opts;
    r->states = states;
    r->n_ports = g->n_inputs - states->n;
    r->n_results = g->n_outputs - states->n;
    for (uint32_t i = 0; i < states->n; i++)
        if (states->list[i].axis >= 0)
            r->most = states->list[i].most.dim[states->list[i].axis];
    if (typed_make(&typed, g, facts, r->n_ports) != RILL_OK ||
        padded_from_typed(&r->of, &typed.g, r->n_ports) != RILL_OK) {
        free(r);
        return RILL_OK;
    }
    *ret = r;
    return RILL_OK;
}

static void room_free(struct room *m)
{
    plan_free(m->plan);
    arena_drop(&m->arena);
    free(m);
}

struct rooms *rooms_free(struct rooms *r)
{
    for (struct room *m = r ? r->largest : NULL, *next; m; m = next) {
        next = m->smaller;
        room_free(m);
    }
    if (r)
        free(r->block);
    free(r);
    return NULL;
}

/* What a run gives: states that grow, from whatever place of the plan's, one after the other. */
static rill_status outputs_make(const struct rooms *r, struct room *m, rill_error *err)
{
    m->out = arena_array(&m->arena, struct tensor, m->plan->n_outputs + 1u);
    if (!m->out)
        return no_memory(err);
    for (uint32_t i = 0; i < m->plan->n_outputs; i++) {
        m->out[i] = m->plan->outputs[i].shape;
        const bool grows = i >= r->n_results && r->states->list[i - r->n_results].axis >= 0;
        if (grows && !(m->out[i].data = arena_alloc(&m->arena, tensor_bytes(&m->out[i]))))
            return no_memory(err);
    }
    return RILL_OK;
}

/* One for all rooms. */
static rill_status block_grow(struct rooms *r, size_t bytes, rill_error *err)
{
    if (bytes <= r->block_bytes)
        return RILL_OK;
    unsigned char *block = aligned_alloc(MEMPLAN_ALIGN_BYTES, bytes);
    if (!block)
        return no_memory(err);
    r->counts.grown += r->block != NULL;
    free(r->block);
    r->block = block;
    r->counts.block_bytes = r->block_bytes = bytes;
    r->in_block = NULL;
    return RILL_OK;
}

static rill_status room_fill(struct rooms *r, struct room *m, rill_error *err)
{
    struct tgraph typed;
    struct dgraph decluttered;
    const size_t most = r->opts.bytes_max ? r->opts.bytes_max : BYTES_MAX;
    const struct plan_opts opts = {
        .cpu = r->opts.cpu, .mem_bytes_max = most, .shared = r->opts.packs, .own_bytes_max = most
    };
    struct graph *g = &r->of.g;
    TRY(graph_substituted(&typed.g, g, r->of.past, dim_int(g->dims, m->frames), &m->arena, err));
    TRY(dgraph_from_tgraph(&decluttered, &typed, NULL, err));
    TRY(graph_settle(&m->settled.g, &decluttered.g, NULL, err));
    TRY(plan_from_sgraph(&m->plan, &m->settled, &opts, err));
    if (m->plan->n_inputs != g->n_inputs || m->plan->n_outputs != g->n_outputs)
        return err_set(err, RILL_INTERNAL, "a room takes %u tensors and gives %u, not %u and %u",
                       m->plan->n_inputs, m->plan->n_outputs, g->n_inputs, g->n_outputs);
    TRY(outputs_make(r, m, err));
    return block_grow(r, m->plan->mem_bytes, err);
}

static int64_t frames_for(const struct rooms *r, int64_t wanted)
{
    int64_t frames = FRAMES_LEAST;
    while (frames < wanted)
        frames *= 2;
    return frames < r->most ? frames : r->most;
}

static struct room *room_find(const struct rooms *r, int64_t frames)
{
    struct room *m = r->largest;
    while (m && m->frames != frames)
        m = m->smaller;
    return m;
}

static rill_status room_add(struct rooms *r, int64_t frames, rill_error *err)
{
    struct room *m = calloc(1, sizeof *m);
    if (!m)
        return no_memory(err);
    m->frames = frames;
    const rill_status made = room_fill(r, m, err);
    if (made != RILL_OK) {
        room_free(m);
        return made;
    }
    m->smaller = r->largest;
    r->largest = m;
    r->counts.plans++;
    return RILL_OK;
}

rill_status rooms_prepare(struct rooms *r, rill_error *reterr)
{
    int64_t frames = 0;
    do {
        frames = frames_for(r, frames + 1);
        const rill_status s = room_find(r, frames) ? RILL_OK : room_add(r, frames, reterr);
        if (s != RILL_OK)
            return r->largest ? RILL_OK : s; /* the run that has more frames says why */
    } while (frames < r->most);
    return RILL_OK;
}

static rill_status room_get(struct rooms *r, int64_t wanted, const struct room **ret,
                            rill_error *err)
{
    const int64_t frames = frames_for(r, wanted);
    const bool there = room_find(r, frames);
    if (!there)
        TRY(room_add(r, frames, err));
    *(there ? &r->counts.hits : &r->counts.misses) += 1;
    *ret = room_find(r, frames);
    if (r->in_block != *ret)
        plan_reset((*ret)->plan, r->block);
    r->in_block = *ret;
    return RILL_OK;
}

/* ---- running ---- */

static int64_t frames_of(const struct rooms *r, const struct size_source *inputs)
{
    int64_t frames = -1;
    for (uint32_t i = 0; i < r->states->n; i++) {
        const int axis = r->states->list[i].axis;
        if (axis < 0)
            continue;
        const int64_t now = inputs[r->n_ports + i].t->dim[axis];
        if (frames >= 0 && frames != now)
            return -1;
        frames = now;
    }
    return frames;
}

bool rooms_fit(const struct rooms *r, const struct size_source *inputs)
{
    const int64_t frames = frames_of(r, inputs);
    return frames >= 0 && frames <= r->most;
}

/* Bytes of one frame along the axis, and how many lines of frames there are. */
static size_t frame_bytes(const struct tensor *t, int axis, size_t *ret_lines)
{
    size_t bytes = dtype_bytes(t->type);
    *ret_lines = 1;
    for (int k = 0; k < t->rank; k++) {
        *ret_lines *= k < axis ? (size_t) t->dim[k] : 1;
        bytes *= k > axis ? (size_t) t->dim[k] : 1;
    }
    return bytes;
}

/* Behind as many zeros as there is room in front. */
static void state_feed(const struct tensor *shape, const struct tensor *t, int axis,
                       unsigned char *to)
{
    size_t lines;
    const size_t frame = frame_bytes(t, axis, &lines), line = (size_t) t->dim[axis] * frame,
                 room = (size_t) shape->dim[axis] * frame;
    for (size_t i = 0; i < lines; i++, to += room) {
        memset(to, 0, room - line);
        if (line)
            memcpy(to + room - line, (const unsigned char *) t->data + i * line, line);
    }
}

static rill_status inputs_feed(const struct rooms *r, const struct room *m,
                               const struct size_source *inputs, int64_t missing, rill_error *err)
{
    const struct plan *p = m->plan;
    const uint32_t n = r->n_ports + r->states->n;
    for (uint32_t i = 0; i < n; i++) {
        const struct tensor *t = inputs[i].t;
        const int axis = i < r->n_ports ? -1 : r->states->list[i - r->n_ports].axis;
        unsigned char *to = r->block + p->inputs[i].at.offset;
        if (axis >= 0)
            state_feed(&p->inputs[i].shape, t, axis, to);
        else if (tensor_bytes(t) != tensor_bytes(&p->inputs[i].shape))
            return err_set(err, RILL_INTERNAL, "'%.80s' does not fit its room", p->inputs[i].name);
        else if (tensor_bytes(t))
            memcpy(to, t->data, tensor_bytes(t));
    }
    unsigned char *there = r->block + p->inputs[n].at.offset;
    memset(there, 0, (size_t) missing);
    memset(there + missing, 1, (size_t) (m->frames + r->of.more - missing));
    memcpy(r->block + p->inputs[n + 1].at.offset, &missing, sizeof missing);
    return RILL_OK;
}

static void outputs_give(const struct rooms *r, const struct room *m, int64_t missing,
                         const struct tensor **ret)
{
    for (uint32_t i = 0; i < m->plan->n_outputs; i++) {
        const struct plan_port *o = &m->plan->outputs[i];
        const unsigned char *from = place_read(o->at, r->block);
        const int axis = i < r->n_results ? -1 : r->states->list[i - r->n_results].axis;
        struct tensor *t = &m->out[i];
        ret[i] = t;
        if (axis < 0) {
            t->data = (void *) (uintptr_t) from;
            continue;
        }
        size_t lines;
        const size_t frame = frame_bytes(t, axis, &lines),
                     room = (size_t) o->shape.dim[axis] * frame,
                     line = room - (size_t) missing * frame;
        t->dim[axis] = o->shape.dim[axis] - missing;
        for (size_t k = 0; k < lines; k++)
            memcpy((unsigned char *) t->data + k * line, from + (k + 1) * room - line, line);
    }
}

rill_status rooms_run(struct rooms *r, const struct size_source *inputs,
                      const struct tensor **ret_outputs, rill_error *reterr)
{
    const struct room *m = NULL;
    const int64_t frames = frames_of(r, inputs);
    TRY(room_get(r, frames, &m, reterr));
    TRY(inputs_feed(r, m, inputs, m->frames - frames, reterr));
    const uint64_t mode = floats_flush();
    plan_run(m->plan, r->block);
    floats_restore(mode);
    r->counts.runs++;
    const struct fault *f = plan_fault(m->plan, r->block);
    if (f) {
        const rill_status s = fault_error(f, reterr);
        r->in_block = NULL;
        return s;
    }
    outputs_give(r, m, m->frames - frames, ret_outputs);
    return RILL_OK;
}

void rooms_count(const struct rooms *r, struct late_counts *ret)
{
    if (r)
        late_counts_add(ret, &r->counts);
}
