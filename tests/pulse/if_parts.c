/* SPDX-License-Identifier: MIT */
#include "tests/pulse/if_parts.h"
#include "engine/graph/control.h"

#include <math.h>

static uint32_t chain_put(struct gb *b, const struct chain *c, uint32_t x, float scale)
{
    struct stage s = { GB(b, "Mul", "", x, gb_scalar(b, scale)), c->channels };
    for (unsigned i = 0; i < c->n; i++)
        c->steps[i].kind->emit(b, &s, c->steps[i].v);
    return s.wire;
}

void branches_recipe(struct gb *b, const void *ctx)
{
    const struct branches *two = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, two->chain[0].channels, GB_TIME),
             gate = gb_input(b, "gate", 1, 1),
             on = GB(b, "Greater", "", GB(b, "Squeeze", "", gate), gb_scalar(b, 0));
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        uint32_t in = gb_body_input(&body[k], "x");
        gb_output(&body[k], chain_put(&body[k], &two->chain[k], in, k ? 0.5f : 1.5f));
        b->seed = body[k].seed;
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
        if (body[k].err.status != RILL_OK)
            b->err = body[k].err;
    }
    if (b->err.status != RILL_OK)
        return;
    uint32_t in[2] = { on, x }, out = graph_add_wire(b->g, "chosen", NULL);
    struct node *n = graph_add_node(b->g, &op_if, "chosen", NULL, in, 2, &out, 1);
    n->body = bodies;
    n->n_body = 2;
    gb_output(b, GB(b, "Add", "", out, gb_scalar(b, 0.25f)));
}

void chosen_put(struct gb *b, uint32_t on, branch_put *put, const void *ctx,
                const uint32_t *captures, unsigned n_captures, uint32_t *out, unsigned n_out)
{
    uint32_t in[3] = { on }, inner[2];
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        for (unsigned i = 0; i < n_captures; i++) {
            in[1 + i] = captures[i];
            inner[i] = gb_body_input(&body[k], i ? "first" : "x");
        }
        put(&body[k], inner, ctx, k);
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
    }
    for (unsigned i = 0; i < n_out; i++)
        out[i] = graph_add_wire(b->g, i ? "beside" : "chosen", NULL);
    struct node *n = graph_add_node(b->g, &op_if, "chosen", NULL, in, 1 + n_captures, out, n_out);
    n->body = bodies;
    n->n_body = 2;
}

struct one_output {
    branch_of *branch;
    const void *ctx;
};

static void one_put(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const struct one_output *one = ctx;
    gb_output(b, one->branch(b, in, one->ctx, branch));
}

uint32_t chosen_by(struct gb *b, uint32_t on, branch_of *branch, const void *ctx,
                   const uint32_t *captures, unsigned n_captures)
{
    const struct one_output one = { branch, ctx };
    uint32_t out;
    chosen_put(b, on, one_put, &one, captures, n_captures, &out, 1);
    return out;
}

uint32_t gate_on(struct gb *b)
{
    return GB(b, "Greater", "", GB(b, "Squeeze", "", gb_input(b, "gate", 1, 1)), gb_scalar(b, 0));
}

uint32_t chosen(struct gb *b, branch_of *branch, const void *ctx, const uint32_t *captures,
                unsigned n_captures)
{
    return chosen_by(b, gate_on(b), branch, ctx, captures, n_captures);
}

uint32_t time_input(struct gb *b)
{
    return gb_input(b, "x", 3, 1, CHANNELS, GB_TIME);
}

uint32_t convolved(struct gb *b, uint32_t x, const char *pads)
{
    return GB(b, "Conv", pads, x, gb_weights(b, 3, CHANNELS, CHANNELS, 3));
}

static uint32_t cell_from_first(struct gb *b, uint32_t x)
{
    const uint32_t frames = gb_transpose(b, x, "2,0,1"),
                   y = GB(b, "GRU", gb_printf(b, "hidden_size=%d", CHANNELS), frames,
                          gb_weights(b, 3, 1, 3 * CHANNELS, CHANNELS),
                          gb_weights(b, 3, 1, 3 * CHANNELS, CHANNELS), WIRE_NONE, WIRE_NONE,
                          gb_slice(b, frames, 0, 0, 1, 1));
    return gb_transpose(b, GB(b, "Squeeze", "", y, gb_ints(b, 1)), "1,2,0");
}

static uint32_t first_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const struct first_taken *t = ctx;
    const bool takes = branch == t->branch;
    uint32_t x = takes && t->where != OF_MADE ? in[0]
        : takes                               ? convolved(b, in[0], "pads=1,1")
                                              : convolved(b, in[0], "pads=2,0");
    if (t->where == RESULT)
        return gb_slice(b, x, 2, 0, 1, 1);
    if (!takes)
        return x;
    if (t->where == BEGINS)
        return cell_from_first(b, x);
    return GB(b, "Sub", "", x, t->where == OUTSIDE ? in[1] : gb_slice(b, x, 2, 0, 1, 1));
}

void first_recipe(struct gb *b, const void *ctx)
{
    const struct first_taken *t = ctx;
    uint32_t in[2] = { time_input(b) }, out;
    if (t->where == OUTSIDE)
        in[1] = gb_slice(b, in[0], 2, 0, 1, 1);
    out = chosen(b, first_branch, ctx, in, t->where == OUTSIDE ? 2 : 1);
    gb_output(b, t->where == RESULT ? GB(b, "Sub", "", in[0], out) : out);
}

const struct first_taken first_taken[FIRST_TAKEN] = {
    { "then without its first frame", 0, OF_INPUT },
    { "else without its first frame", 1, OF_INPUT },
    { "then without the first frame that it makes", 0, OF_MADE },
    { "else without the first frame that it makes", 1, OF_MADE },
    { "then of a cell that begins with its first frame", 0, BEGINS },
    { "else of a cell that begins with its first frame", 1, BEGINS },
    { "then without a first frame from outside", 0, OUTSIDE },
    { "else without a first frame from outside", 1, OUTSIDE },
    { "behind the first frames, then of the input", 0, RESULT },
    { "behind the first frames, else of the input", 1, RESULT },
};

/* ---- attention in branches ---- */

static uint32_t counted(struct gb *b, uint32_t x, unsigned axis, int64_t less)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    return GB(b, "Unsqueeze", "", GB(b, "Sub", "", at, gb_int(b, less)), gb_ints(b, axis));
}

uint32_t attention(struct gb *b, const struct attended *t, uint32_t x)
{
    const uint32_t q = gb_transpose(b, x, "0,2,1"),
                   k = t->tokens
        ? GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) t->tokens, CHANNELS), q)
        : q,
                   j = counted(b, k, 0, t->tokens), d = GB(b, "Sub", "", counted(b, q, 1, 0), j);
    uint32_t shown = GB(b, "And", "", GB(b, "LessOrEqual", "", d, gb_int(b, t->left)),
                        GB(b, "GreaterOrEqual", "", d, gb_int(b, -t->right)));
    if (t->first)
        shown = GB(b, "Or", "", shown,
                   GB(b, "And", "", GB(b, "Less", "", j, gb_int(b, t->first - t->tokens)),
                      GB(b, "GreaterOrEqual", "", d, gb_int(b, 0))));
    if (t->chosen) {
        const uint32_t by = gb_slice(b, gb_transpose(b, k, "0,2,1"), 1, 0, 1, 1);
        shown = GB(b, "And", "", shown,
                   GB(b, "Or", "", GB(b, "Greater", "", by, gb_scalar(b, 0.3f)),
                      GB(b, "Equal", "", d, gb_int(b, 0))));
    }
    uint32_t s = GB(b, "MatMul", "", q, gb_transpose(b, k, "0,2,1"));
    if (t->sloped)
        s = GB(b, "Sub", "", s, GB(b, "Mul", "", GB(b, "Cast", "to=1", d), gb_scalar(b, 0.125f)));
    s = GB(b, "Where", "", shown, s, gb_scalar(b, t->hidden < 0 ? t->hidden : -1e9f));
    return gb_transpose(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), k), "0,2,1");
}

uint32_t attended_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    return branch ? GB(b, "Neg", "", in[0]) : attention(b, ctx, in[0]);
}

static uint32_t nested_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    return branch ? GB(b, "Sigmoid", "", in[0]) : chosen_by(b, in[1], attended_branch, ctx, in, 1);
}

void attended_recipe(struct gb *b, const void *ctx)
{
    const struct attended *t = ctx;
    const uint32_t x = time_input(b), on = gate_on(b), in[] = { x, on };
    gb_output(b,
              t->nested ? chosen_by(b, on, nested_branch, ctx, in, 2)
                        : chosen_by(b, on, attended_branch, ctx, in, 1));
}
