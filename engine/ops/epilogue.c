/* SPDX-License-Identifier: MIT */
#include "engine/ops/epilogue.h"

bool epilogue_reads(const struct tensor *x, const struct tensor *out, int axis)
{
    struct operand_lie l = operand_lie(x, out);
    return l.lie == LIE_AXES ? l.first == axis && l.last == axis : l.lie != LIE_NOT;
}

unsigned epilogue_inputs(const struct op *op, unsigned n_in)
{
    return n_in > op->epilogue_in ? n_in - op->epilogue_in : 0;
}

int epilogue_axis(const struct op *op, int rank)
{
    return op->epilogue_axis < 0 ? rank + op->epilogue_axis : op->epilogue_axis;
}

static rill_status steps_check(struct infer *c, struct attr_ints steps)
{
    int64_t values = 1 + (int64_t) epilogue_inputs(c->node->op, c->n_in);
    for (uint32_t i = 0; i < steps.n; i += FUSED_STEP_INTS) {
        const int64_t *s = steps.v + i;
        if (!fused_element_fits(s, values) || s[1] || (s[2] && fused_operands((int) s[0]) == 1))
            return infer_fail(c, "step %u of its epilogue is none", i / FUSED_STEP_INTS);
    }
    return RILL_OK;
}

rill_status epilogue_infer(struct infer *c, struct attr_ints steps)
{
    struct tensor out, x;
    unsigned first = c->node->op->epilogue_in, n_in = epilogue_inputs(c->node->op, c->n_in);
    int axis = epilogue_axis(c->node->op, c->out[0].rank);
    if (!steps.n)
        return n_in ? infer_fail(c, "%u inputs, its epilogue uses none", c->n_in) : RILL_OK;
    if (steps.n % FUSED_STEP_INTS || steps.n > EPILOGUE_STEPS_MAX * FUSED_STEP_INTS ||
        n_in > EPILOGUE_IN_MAX)
        return infer_fail(c, "its epilogue is not of at most %d steps and %d inputs",
                          EPILOGUE_STEPS_MAX, EPILOGUE_IN_MAX);
    if (c->out[0].type != DTYPE_F32)
        return infer_fail(c, "an epilogue follows an output of %s, only f32 works",
                          dtype_name(c->out[0].type));
    if (!fact_to_tensor(&c->out[0], &out))
        return infer_fail(c, "an epilogue needs an output of known size");
    TRY(steps_check(c, steps));
    for (unsigned i = 0; i < n_in; i++) {
        const struct fact *f = infer_has(c, first + i) ? c->in[first + i] : NULL;
        if (!f || f->type != DTYPE_F32 || !fact_to_tensor(f, &x) || !epilogue_reads(&x, &out, axis))
            return infer_fail(c,
                              "input %u does not fit the epilogue: f32 of the output's shape, one "
                              "per channel or a single one works",
                              first + i);
    }
    return RILL_OK;
}

static struct kern_operand operand_of(const struct epilogue *p, int64_t value)
{
    bool walks =
        !value || p->lie[value - 1] == LIE_ALL || (p->lie[value - 1] == LIE_AXES && !p->by_channel);
    return (struct kern_operand) { .buffer = (uint32_t) value,
                                   .one = !walks,
                                   .walk = walks ? SIZE_MAX : 0 };
}

struct inputs {
    const struct prep *c;
    const struct epilogue *p;
};

static const struct tensor *input_of(const void *of, int64_t value)
{
    const struct inputs *s = of;
    return value ? s->c->in[s->p->first_in + value - 1] : NULL;
}

/* What the node makes goes from step to step. */
static bool ends(const void *of, int64_t value, int64_t i)
{
    (void) of, (void) i;
    return value == 0;
}

/* Returns how many of the n steps are one instruction that rounds; 0: none, or no memory. */
static int64_t grid_make(struct prep *c, const struct epilogue *p, const struct kern_operand *at,
                         const int64_t *s, int64_t n, struct kern_instr *ret)
{
    const struct inputs in = { c, p };
    const struct fused_reader r = { &in, input_of, ends, at };
    struct kern_grid *g = s[0] <= KERN_DIV ? arena_array(c->arena, struct kern_grid, 2) : NULL;
    int64_t made = g ? fused_rounded(&r, s, n, g, ret) : 0;
    if (made || !g || s[0] != KERN_DIV || s[2])
        return made;
    *ret = (struct kern_instr) { .op = KERN_GRID, .to = at[0], .a = at[0], .grid = g };
    return fused_grid(&r, s, n, g);
}

/* Returns how many instructions the steps are. */
static size_t steps_make(struct prep *c, const struct epilogue *p, struct attr_ints steps,
                         struct kern_instr *ret)
{
    struct kern_operand at[1 + EPILOGUE_IN_MAX];
    size_t n = 0;
    for (unsigned i = 0; i <= p->n_in; i++)
        at[i] = operand_of(p, i);
    const int64_t end = steps.n / FUSED_STEP_INTS;
    for (int64_t i = 0, made; i < end; i += made, n++) {
        const int64_t *s = steps.v + i * FUSED_STEP_INTS;
        made = grid_make(c, p, at, s, end - i, &ret[n]);
        if (!made) {
            ret[n] = fused_element(s, at);
            made = 1;
        }
    }
    return n;
}

rill_status epilogue_prepare(struct prep *c, struct attr_ints steps, struct epilogue *ret)
{
    const struct tensor *y = c->out[0];
    const struct op *op = c->node->op;
    *ret = (struct epilogue) { .images = 1,
                               .channels = 1,
                               .places = 1,
                               .first_in = op->epilogue_in,
                               .n_in = epilogue_inputs(op, c->n_in) };
    if (!steps.n)
        return RILL_OK;
    int axis = epilogue_axis(op, y->rank);
    ret->channels = ret->row_floats = axis < 0 ? 1 : y->dim[axis];
    struct kern_instr *instr = arena_array(c->arena, struct kern_instr, steps.n / FUSED_STEP_INTS);
    if (!instr)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int i = 0; i < axis; i++)
        ret->images *= y->dim[i];
    for (int i = axis + 1; i < y->rank; i++)
        ret->places *= y->dim[i];
    const size_t places = ret->channel_step[0] = (size_t) ret->places;
    for (unsigned i = 0; i < ret->n_in; i++) {
        const struct tensor *t = c->in[ret->first_in + i];
        ret->lie[i] = operand_lie(t, y).lie;
        ret->by_channel |= ret->lie[i] == LIE_AXES && ret->places > 1;
        ret->channel_step[1 + i] = ret->lie[i] == LIE_ALL ? places : ret->lie[i] == LIE_AXES;
    }
    ret->program = (struct kern_program) { instr, steps_make(c, ret, steps, instr) };
    return RILL_OK;
}

/* ---- run time ---- */

void epilogue_channels_run(const struct epilogue *p, const struct eval *e, float *y, int64_t i,
                           int64_t first, int64_t n)
{
    float *buffer[1 + EPILOGUE_IN_MAX] = { y };
    if (n < 1)
        return;
    for (unsigned k = 0; k < p->n_in; k++) {
        const float *x = e->x[p->first_in + k];
        int64_t channel = p->lie[k] == LIE_ALL ? i * p->channels + first : first;
        buffer[1 + k] =
            (float *) (uintptr_t) x + (size_t) channel * p->channel_step[1 + k]; /* only read */
    }
    size_t rows = p->by_channel ? (size_t) n : 1, places = (size_t) p->places;
    e->kern->program_f32(&p->program, buffer, p->channel_step, rows,
                         p->by_channel ? places : (size_t) n * places);
}

unsigned epilogue_take_scale(struct epilogue *p)
{
    const struct kern_instr *first = p->program.instr;
    if (!p->program.n_instrs || first->op != KERN_MUL || first->to.buffer)
        return 0;
    const uint32_t by = first->a.buffer + first->b.buffer;
    if (!by || (first->a.buffer && first->b.buffer) || p->lie[by - 1] != LIE_ONE)
        return 0;
    p->program.instr++;
    p->program.n_instrs--;
    return p->first_in + by - 1;
}

void epilogue_rows_run(const struct epilogue *p, const struct eval *e, float *y, int64_t first,
                       int64_t n)
{
    const size_t channels = (size_t) p->channels, rows = (size_t) n,
                 at = (size_t) (first * p->row_floats);
    float *buffer[1 + EPILOGUE_IN_MAX] = { y + at };
    size_t step[1 + EPILOGUE_IN_MAX];
    /* no input begins anew with each row, nor does the output */
    bool whole = p->channels == p->row_floats;
    if (n < 1 || !channels)
        return;
    step[0] = (size_t) p->row_floats;
    for (unsigned k = 0; k < p->n_in; k++) {
        const bool all = p->lie[k] == LIE_ALL;
        buffer[1 + k] =
            (float *) (uintptr_t) e->x[p->first_in + k] + (all ? at : 0); /* only read */
        step[1 + k] = all ? step[0] : 0;
        whole = whole && p->lie[k] != LIE_AXES;
    }
    e->kern->program_f32(&p->program, buffer, step, whole ? 1 : rows,
                         whole ? rows * channels : channels);
}

void epilogue_shift(const struct epilogue *p, int64_t channel, int64_t element, size_t *shift_bytes)
{
    for (unsigned k = 0; k < p->n_in; k++)
        shift_bytes[p->first_in + k] += sizeof(float) *
            (size_t) (p->lie[k] == LIE_ALL        ? element
                          : p->lie[k] == LIE_AXES ? channel
                                                  : 0);
}
