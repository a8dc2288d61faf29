/* SPDX-License-Identifier: MIT */
/* tract_core_scan: a fragment run along an axis.
 *
 *     (y, last) = tract_core_scan(body = "step", scan = [("x", frames, 0, 1)], full = [("w", w)],
 *                                 state = [("h", h0, "h_next")],
 *                                 output = [("h_next", "full", 0, 1), ("h_next", "last", 0, 1)]);
 *
 * scan: (parameter, tensor, axis, step): a slice keeps the axis, with one place; step -1 goes from
 * the end. full: (parameter, value). state: (parameter, first value, result). output: (result,
 * "full" for all of them along an axis or "last", axis, step), in the order of the results. Names
 * may have characters that names of the text have not: those are '_' there, and one more '_' stands
 * in front of what does not begin as a name does. */
#include "engine/graph/control.h"
#include "models/nnef/build.h"

#include <ctype.h>
#include <string.h>

struct part {
    const char *name, *other; /* parameter or result; of a state: its result */
    struct val v;             /* scan, full and state: what is given */
    int64_t axis, step;
    bool last; /* of an output */
    struct nnef_pos pos;
};

struct tract_scan {
    const struct call *c;
    const struct nnef_fragment *body;
    struct part *scan, *full, *state, *output;
    unsigned n_scan, n_full, n_state, n_output;
    uint32_t *in; /* of the node */
    unsigned n_in;
    const struct dim *length;
    bool restarts;
    struct carried **carried; /* one for each state; NULL: they begin anew in every run */
};

static bool name_fits(const char *inside, const char *given)
{
    while (*inside && (*inside == *given || (*inside == '_' && !isalnum((unsigned char) *given)))) {
        inside++;
        if (!*given++)
            return false;
    }
    return !*inside && !*given;
}

static bool begins_as_name(const char *s)
{
    return isalpha((unsigned char) *s) || *s == '_';
}

static const struct nnef_param *param_find(const struct nnef_param *list, uint32_t n,
                                           const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (begins_as_name(name) ? name_fits(list[i].name, name)
                                 : *list[i].name == '_' && name_fits(list[i].name + 1, name))
            return &list[i];
    return NULL;
}

/* ---- what the call says ---- */

static rill_status part_fail(const struct tract_scan *ts, const struct part *p, const char *what)
{
    return nnef_fail(ts->c->b, ts->c->s, p->pos, RILL_MALFORMED, "'%s': '%.60s' %s", ts->c->e->text,
                     p->name, what);
}

static rill_status int_read(const struct tract_scan *ts, const struct nnef_expr *e, int64_t *ret)
{
    struct val v;
    TRY(eval_expr(ts->c->b, ts->c->s, e, &v));
    *ret = v.i;
    return v.kind == VAL_INT ? RILL_OK
                             : nnef_fail(ts->c->b, ts->c->s, e->pos, RILL_MALFORMED,
                                         "found %s, expected an integer", val_kind_name(v));
}

/* Axis and step, the last two of a tuple. */
static rill_status way_read(const struct tract_scan *ts, struct nnef_expr *const *tuple,
                            struct part *p)
{
    TRY(int_read(ts, tuple[2], &p->axis));
    TRY(int_read(ts, tuple[3], &p->step));
    if (p->axis >= 0 && p->axis < RANK_MAX && (p->step == 1 || p->step == -1))
        return RILL_OK;
    return nnef_fail(ts->c->b, ts->c->s, p->pos, RILL_UNSUPPORTED,
                     "'%s': '%.60s' goes along axis %lld by %lld, supported: by 1 or -1 along an "
                     "axis from 0 on",
                     ts->c->e->text, p->name, (long long) p->axis, (long long) p->step);
}

static rill_status given_read(struct tract_scan *ts, struct nnef_expr *const *tuple, struct part *p,
                              bool wire)
{
    const struct call *c = ts->c;
    p->pos = tuple[0]->pos;
    TRY(expr_name(c, tuple[0], &p->name));
    TRY(eval_expr(c->b, c->s, tuple[1], &p->v));
    const struct nnef_param *q = param_find(ts->body->params, ts->body->n_params, p->name);
    if (!q)
        return part_fail(ts, p, "is no parameter of the fragment");
    p->name = q->name;
    if (!wire)
        return RILL_OK;
    uint32_t w;
    TRY(val_to_wire(c->b, c->s, tuple[1]->pos, p->v, DTYPE_F32, &w));
    p->v = val_of_wire(w);
    return RILL_OK;
}

static rill_status result_read(const struct tract_scan *ts, const struct nnef_expr *e,
                               struct part *p, const char **name)
{
    TRY(expr_name(ts->c, e, name));
    const struct nnef_param *q = param_find(ts->body->results, ts->body->n_results, *name);
    if (!q)
        return part_fail(ts, p, "names no result of the fragment");
    *name = q->name;
    return RILL_OK;
}

/* The tuples of an argument, with a part for each. */
static rill_status parts_read(const struct tract_scan *ts, const char *name, uint32_t width,
                              struct nnef_expr *const **list, struct part **ret, unsigned *ret_n)
{
    TRY(arg_tuples(ts->c, name, width, list, ret_n));
    *ret = arena_array(ts->c->b->arena, struct part, *ret_n + 1u);
    return *ret ? RILL_OK : nnef_no_memory(ts->c->b);
}

static rill_status inputs_read(struct tract_scan *ts)
{
    const struct call *c = ts->c;
    struct nnef_expr *const *list;
    TRY(parts_read(ts, "scan", 4, &list, &ts->scan, &ts->n_scan));
    for (unsigned i = 0; i < ts->n_scan; i++) {
        struct part *p = &ts->scan[i];
        TRY(given_read(ts, list[i]->part, p, true));
        TRY(way_read(ts, list[i]->part, p));
        const struct fact *f = wire_fact(c->s, p->v.wire);
        if (p->axis >= f->rank || (ts->length && ts->length != f->shape[p->axis]))
            return part_fail(ts, p, "has no such axis, or another length along it than the others");
        ts->length = f->shape[p->axis];
    }
    TRY(parts_read(ts, "full", 2, &list, &ts->full, &ts->n_full));
    for (unsigned i = 0; i < ts->n_full; i++)
        TRY(given_read(ts, list[i]->part, &ts->full[i], false));
    TRY(parts_read(ts, "state", 3, &list, &ts->state, &ts->n_state));
    for (unsigned i = 0; i < ts->n_state; i++) {
        struct part *p = &ts->state[i];
        TRY(given_read(ts, list[i]->part, p, true));
        TRY(result_read(ts, list[i]->part[2], p, &p->other));
    }
    if (!ts->n_scan)
        return call_fail(c, RILL_MALFORMED, "a scan needs a tensor to scan");
    ts->in = arena_array(c->b->arena, uint32_t, ts->n_scan + ts->n_full + ts->n_state);
    return ts->in ? RILL_OK : nnef_no_memory(c->b);
}

static const struct part *state_of(const struct tract_scan *ts, const char *result)
{
    for (unsigned i = 0; i < ts->n_state; i++)
        if (!strcmp(ts->state[i].other, result))
            return &ts->state[i];
    return NULL;
}

static rill_status outputs_read(struct tract_scan *ts)
{
    struct nnef_expr *const *list;
    const char *which;
    TRY(parts_read(ts, "output", 4, &list, &ts->output, &ts->n_output));
    for (unsigned i = 0; i < ts->n_output; i++) {
        struct part *p = &ts->output[i];
        p->pos = list[i]->pos;
        p->name = "output";
        TRY(result_read(ts, list[i]->part[0], p, &p->name));
        TRY(expr_name(ts->c, list[i]->part[1], &which));
        p->last = !strcmp(which, "last");
        if (!p->last && strcmp(which, "full") != 0)
            return part_fail(ts, p, "is neither \"full\" nor \"last\"");
        if (p->last && !state_of(ts, p->name))
            return part_fail(ts, p, "is wanted as it is last, but is no state");
        TRY(way_read(ts, list[i]->part, p));
    }
    return ts->n_output ? RILL_OK : call_fail(ts->c, RILL_MALFORMED, "a scan needs an output");
}

static rill_status body_find(struct tract_scan *ts)
{
    const struct call *c = ts->c;
    const char *name;
    int64_t skip, length;
    TRY(expr_name(c, arg_expr(c, "body"), &name));
    TRY(arg_int(c, "skip", &skip));
    TRY(arg_int(c, "seq_length", &length));
    if (skip || length != -1)
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': skip = %lld, seq_length = %lld: a graph that was made a stream "
                         "before it was written; give the one it was made from",
                         c->e->text, (long long) skip, (long long) length);
    if (!(ts->body = fragment_find(c->b, name)))
        return nnef_fail(c->b, c->s, arg_expr(c, "body")->pos, RILL_MALFORMED,
                         "'%.60s' is no fragment of this text", name);
    return RILL_OK;
}

/* The library's own fragments say themselves what goes on. */
static bool is_of_text(const struct tract_scan *ts)
{
    const struct nnef_fragment *f = ts->c->b->doc->fragments;
    while (f && f != ts->body)
        f = f->next;
    return f != NULL;
}

static rill_status states_begin(struct tract_scan *ts)
{
    if (ts->restarts || !ts->n_state || !is_of_text(ts) || !is_of_pulses(ts->c->b))
        return RILL_OK;
    if (!(ts->carried = arena_array(ts->c->b->arena, struct carried *, ts->n_state)))
        return nnef_no_memory(ts->c->b);
    for (unsigned i = 0; i < ts->n_state; i++)
        TRY(carried_begin(ts->c, ts->state[i].name, &ts->state[i].v.wire, &ts->carried[i]));
    return RILL_OK;
}

static rill_status states_store(const struct tract_scan *ts, const uint32_t *out)
{
    for (unsigned i = 0; ts->carried && i < ts->n_state; i++)
        TRY(carried_store(ts->c, ts->carried[i], out[i]));
    return RILL_OK;
}

/* ---- the body ---- */

static rill_status input_add(struct tract_scan *ts, struct scope *in, const struct part *p,
                             const struct fact *f, uint32_t *ret)
{
    struct fact inside = *f;
    inside.value = NULL;
    *ret = graph_add_input(in->g, p->name, &inside);
    ts->in[ts->n_in++] = p->v.wire;
    return *ret == WIRE_NONE ? nnef_no_memory(ts->c->b) : RILL_OK;
}

/* The slice without its axis comes in, and has it again. */
static rill_status slice_bind(struct tract_scan *ts, struct scope *in, const struct part *p)
{
    struct fact f = *wire_fact(ts->c->s, p->v.wire);
    uint32_t pair[2], w;
    f.rank--;
    memmove(f.shape + p->axis, f.shape + p->axis + 1,
            (size_t) (f.rank - p->axis) * sizeof *f.shape);
    TRY(input_add(ts, in, p, &f, &pair[0]));
    TRY(const_i64(ts->c->b, in->g, &p->axis, 1, &pair[1]));
    TRY(build_node(ts->c->b, in, p->pos, "Unsqueeze", NULL, 0, pair, 2, &w, 1));
    return scope_bind(ts->c->b, in, p->name, val_of_wire(w));
}

static rill_status params_bind(struct tract_scan *ts, struct scope *in)
{
    struct builder *b = ts->c->b;
    uint32_t w;
    for (unsigned i = 0; i < ts->n_state; i++) {
        TRY(input_add(ts, in, &ts->state[i], wire_fact(ts->c->s, ts->state[i].v.wire), &w));
        TRY(scope_bind(b, in, ts->state[i].name, val_of_wire(w)));
    }
    for (unsigned i = 0; i < ts->n_scan; i++)
        TRY(slice_bind(ts, in, &ts->scan[i]));
    for (unsigned i = 0; i < ts->n_full; i++) {
        struct part *p = &ts->full[i];
        struct val v = p->v;
        if (v.kind == VAL_WIRE) {
            TRY(input_add(ts, in, p, wire_fact(ts->c->s, v.wire), &w));
            v = val_of_wire(w);
        }
        TRY(scope_bind(b, in, p->name, v));
    }
    for (uint32_t i = 0; i < ts->body->n_params; i++)
        if (!scope_find(in, ts->body->params[i].name))
            return call_fail(ts->c, RILL_MALFORMED, "'%s': nothing is given for parameter '%.60s'",
                             ts->c->e->text, ts->body->params[i].name);
    return RILL_OK;
}

static rill_status result_wire(const struct tract_scan *ts, struct scope *in, const char *name,
                               const struct val *values, uint32_t *ret)
{
    uint32_t k = 0;
    while (strcmp(ts->body->results[k].name, name) != 0)
        k++;
    return val_to_wire(ts->c->b, in, ts->body->results[k].pos, values[k], DTYPE_F32, ret);
}

static rill_status state_out(const struct tract_scan *ts, struct scope *in, const struct part *p,
                             const struct val *values)
{
    uint32_t w;
    char a[120], z[120];
    TRY(result_wire(ts, in, p->other, values, &w));
    const struct fact *from = wire_fact(ts->c->s, p->v.wire), *to = wire_fact(in, w);
    if (!fact_same(from, to)) {
        fact_print(from, a, sizeof a);
        fact_print(to, z, sizeof z);
        return nnef_fail(ts->c->b, ts->c->s, p->pos, RILL_MALFORMED,
                         "state '%.50s' starts as %s but '%.50s' is %s; both must agree", p->name,
                         a, p->other, z);
    }
    return graph_add_output(in->g, w) ? RILL_OK : nnef_no_memory(ts->c->b);
}

/* One place along the axis goes out of a step. */
static rill_status step_out(const struct tract_scan *ts, struct scope *in, const struct part *p,
                            const struct val *values)
{
    uint32_t pair[2], w;
    TRY(result_wire(ts, in, p->name, values, &pair[0]));
    TRY(const_i64(ts->c->b, in->g, &p->axis, 1, &pair[1]));
    TRY(build_node(ts->c->b, in, p->pos, "Squeeze", NULL, 0, pair, 2, &w, 1));
    return graph_add_output(in->g, w) ? RILL_OK : nnef_no_memory(ts->c->b);
}

static rill_status body_build(struct tract_scan *ts, struct graph *g)
{
    struct builder *b = ts->c->b;
    struct val *values = arena_array(b->arena, struct val, ts->body->n_results);
    const char *prefix = arena_printf(b->arena, "%s%s/", ts->c->s->prefix, ts->body->name);
    if (!values || !prefix)
        return nnef_no_memory(b);
    graph_init(g, b->arena, b->dims, ts->body->name);
    struct scope in = { .g = g, .file = b->doc->file, .prefix = prefix };
    TRY(params_bind(ts, &in));
    if (++b->calls > b->limits->calls)
        return call_fail(ts->c, RILL_LIMIT, "fragments call each other more than %u deep",
                         b->limits->calls);
    TRY(fragment_run(b, &in, ts->body, values));
    b->calls--;
    for (unsigned i = 0; i < ts->n_state; i++)
        TRY(state_out(ts, &in, &ts->state[i], values));
    for (unsigned i = 0; i < ts->n_output; i++)
        if (!ts->output[i].last)
            TRY(step_out(ts, &in, &ts->output[i], values));
    return RILL_OK;
}

/* ---- the node ---- */

static bool ways_list(const struct tract_scan *ts, const struct part *parts, unsigned n,
                      struct attr_ints *axes, struct attr_ints *reverse)
{
    int64_t *a = arena_array(ts->c->b->arena, int64_t, n + 1u),
            *r = arena_array(ts->c->b->arena, int64_t, n + 1u);
    uint32_t k = 0;
    for (unsigned i = 0; a && r && i < n; i++)
        if (!parts[i].last) {
            a[k] = parts[i].axis;
            r[k++] = parts[i].step < 0;
        }
    *axes = (struct attr_ints) { k, a };
    *reverse = (struct attr_ints) { k, r };
    return a && r;
}

static rill_status results_list(const struct tract_scan *ts, const uint32_t *out, struct val *ret)
{
    struct val *list = arena_array(ts->c->b->arena, struct val, ts->n_output + 1u);
    unsigned stacked = ts->n_state;
    if (!list)
        return nnef_no_memory(ts->c->b);
    for (unsigned i = 0; i < ts->n_output; i++) {
        const struct part *p = &ts->output[i];
        list[i] =
            val_of_wire(out[p->last ? (unsigned) (state_of(ts, p->name) - ts->state) : stacked++]);
    }
    *ret = (struct val) { .kind = VAL_LIST, .n = ts->n_output, .list = list };
    if (ts->n_output == 1)
        *ret = list[0];
    return RILL_OK;
}

rill_status build_tract_scan(const struct call *c, struct val *ret)
{
    struct tract_scan *ts = arena_new(c->b->arena, struct tract_scan);
    struct scan_node sn = { .body = arena_new(c->b->arena, struct graph), .wants_last = true };
    if (!ts || !sn.body)
        return nnef_no_memory(c->b);
    ts->c = c;
    TRY(body_find(ts));
    TRY(inputs_read(ts));
    TRY(outputs_read(ts));
    TRY(arg_bool(c, "reset_every_turn", &ts->restarts));
    TRY(states_begin(ts));
    TRY(body_build(ts, sn.body));
    uint32_t *out = arena_array(c->b->arena, uint32_t, sn.body->n_outputs + 1u);
    sn.attr = (struct scan_attr) { .n_states = ts->n_state,
                                   .n_scanned = ts->n_scan,
                                   .restarts = ts->restarts };
    if (!out || !ways_list(ts, ts->scan, ts->n_scan, &sn.attr.in_axes, &sn.attr.in_reverse) ||
        !ways_list(ts, ts->output, ts->n_output, &sn.attr.out_axes, &sn.attr.out_reverse))
        return nnef_no_memory(c->b);
    sn.length = ts->length;
    sn.in = ts->in;
    sn.n_in = ts->n_in;
    TRY(scan_node_add(c, &sn, out));
    TRY(states_store(ts, out));
    return results_list(ts, out, ret);
}
