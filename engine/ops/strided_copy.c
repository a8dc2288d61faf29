/* SPDX-License-Identifier: MIT */
#include "engine/ops/strided_copy.h"

#define SPEC(member)                                                                               \
    {                                                                                              \
        .name = #member, .kind = ATTR_INTS, .offset = offsetof(struct strided_copy_attr, member)   \
    }

static const struct attr_spec copy_attrs[] = {
    SPEC(shape),
    SPEC(pieces),
    SPEC(patch),
    { .name = "base",
      .kind = ATTR_INT,
      .offset = offsetof(struct strided_copy_attr, base),
      .def_i = -1 },
    { .name = "again", .kind = ATTR_INT, .offset = offsetof(struct strided_copy_attr, again) },
    { .name = "grids", .kind = ATTR_FLOATS, .offset = offsetof(struct strided_copy_attr, grids) },
    { 0 },
};

static bool whole_zero(float zero, int *ret)
{
    *ret = zero >= -256 && zero <= 256 ? (int) zero : 0;
    return !((float) *ret < zero || (float) *ret > zero);
}

bool strided_copy_grid(const float grid[COPY_GRID_FLOATS], struct kern_grid *ret)
{
    int zero, next;
    if (!whole_zero(grid[1], &zero) || !whole_zero(grid[3], &next) ||
        !kern_grid_set(ret, grid[0], -128 - zero, 127 - zero) || ret->divides)
        return false;
    return !(grid[2] > 0) || kern_grid_twice(ret, 1, grid[2], -128 - next, 127 - next);
}

static bool rounds(const struct strided_copy_attr *a, int64_t input)
{
    return a->grids.n && a->grids.v[input * COPY_GRID_FLOATS] > 0;
}

/* Also where it is not taken: addresses are computed of it. */
#define STRIDE_MAX ((int64_t) 1 << 40)

/* All elements of a piece lie within `count`. */
static bool axis_fits(int64_t first, const int64_t *n, const int64_t *stride, int64_t count)
{
    int64_t low = first, high = first;
    for (int i = 0; i < PIECE_AXES; i++) {
        int64_t reach;
        if (n[i] < 1 || stride[i] < -STRIDE_MAX || stride[i] > STRIDE_MAX ||
            __builtin_mul_overflow(n[i] - 1, stride[i], &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    return low >= 0 && high < count;
}

/* Not more elements than there are to write. */
static bool piece_is_small(const int64_t *n, int64_t count)
{
    int64_t all = 1;
    for (int i = 0; i < PIECE_AXES; i++)
        if (__builtin_mul_overflow(all, n[i], &all))
            return false;
    return all <= count;
}

static rill_status grids_check(struct prep *c)
{
    const struct strided_copy_attr *a = c->attr;
    struct kern_grid g;
    if (a->grids.n && a->grids.n != c->n_in * COPY_GRID_FLOATS)
        return prep_fail(c, "has %u numbers of grids for %u inputs, of each %d", a->grids.n,
                         c->n_in, COPY_GRID_FLOATS);
    for (unsigned i = 0; i < c->n_in; i++)
        if (rounds(a, i) && !strided_copy_grid(a->grids.v + i * COPY_GRID_FLOATS, &g))
            return prep_fail(c, "rounds input %u to a grid that is none", i);
    return RILL_OK;
}

static rill_status pieces_check(struct prep *c, struct attr_ints list)
{
    const struct piece *p = (const void *) list.v;
    if (list.n % PIECE_INTS)
        return prep_fail(c, "has a list of pieces that ends early");
    for (uint32_t i = 0; i < list.n / PIECE_INTS; i++) {
        const struct tensor *x = p[i].input >= 0 && p[i].input < c->n_in ? c->in[p[i].input] : NULL;
        if (!x || x->type != DTYPE_F32 ||
            !axis_fits(p[i].from, p[i].n, p[i].from_stride, tensor_count(x)) ||
            !axis_fits(p[i].to, p[i].n, p[i].to_stride, tensor_count(c->out[0])) ||
            !piece_is_small(p[i].n, tensor_count(c->out[0])) ||
            (rounds(c->attr, p[i].input) && !piece_has_rows(&p[i])))
            return prep_fail(c, "piece %u does not fit its tensors", i);
    }
    return RILL_OK;
}

/* The output may lie where the base lay: it needs the same room. */
static bool base_fits(const struct prep *c, int64_t base)
{
    const struct tensor *x = base >= 0 && base < c->n_in ? c->in[base] : NULL;
    return base == -1 || (x && x->type == DTYPE_F32 && tensor_count(x) == tensor_count(c->out[0]));
}

/* As many elements are written as there are. */
static bool pieces_cover(const struct prep *c, struct attr_ints list)
{
    const struct piece *p = (const void *) list.v;
    int64_t all = 0;
    for (uint32_t i = 0; i < list.n / PIECE_INTS; i++) {
        int64_t n = p[i].n[0];
        for (int k = 1; k < PIECE_AXES; k++)
            n *= p[i].n[k]; /* each fits its tensors by now */
        if (__builtin_add_overflow(all, n, &all))
            return false;
    }
    return all == tensor_count(c->out[0]);
}

static rill_status copy_check(struct prep *c)
{
    const struct strided_copy_attr *a = c->attr;
    TRY(grids_check(c));
    TRY(pieces_check(c, a->pieces));
    if (!pieces_cover(c, a->pieces))
        return prep_fail(c, "has pieces that do not make its output");
    TRY(pieces_check(c, a->patch));
    if (!base_fits(c, a->base))
        return prep_fail(c, "has base %lld of %u inputs, which is none or of another size",
                         (long long) a->base, c->n_in);
    return RILL_OK;
}

/* The planner looks at pieces before they are prepared. */
static rill_status copy_infer_check(struct infer *c)
{
    struct tensor *t = arena_array(c->arena, struct tensor, c->n_in + 1), y;
    const struct tensor **in = arena_array(c->arena, const struct tensor *, c->n_in + 1), *out = &y;
    if (!t || !in)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < c->n_in; i++)
        if (c->in[i])
            in[i] = fact_to_tensor(c->in[i], &t[i]) ? &t[i] : NULL;
    if (!fact_to_tensor(&c->out[0], &y))
        return infer_fail(c, "has a shape that is none");
    struct prep p = { .node = c->node,
                      .attr = c->attr,
                      .n_in = c->n_in,
                      .n_out = 1,
                      .in = in,
                      .out = &out,
                      .err = c->err };
    return copy_check(&p);
}

static rill_status copy_infer(struct infer *c)
{
    const struct strided_copy_attr *a = c->attr;
    const struct dim *shape[RANK_MAX];
    if (a->shape.n > RANK_MAX)
        return infer_fail(c, "has a shape of %u axes, at most %d", a->shape.n, RANK_MAX);
    for (uint32_t i = 0; i < a->shape.n; i++)
        shape[i] = dim_int(c->dims, a->shape.v[i]);
    infer_shape(c, 0, DTYPE_F32, (int) a->shape.n, shape);
    return copy_infer_check(c);
}

struct part {
    unsigned input;
    int64_t from, to;
    struct kern_strided_copy m;
    bool woven; /* every second element, the next part all between: both are made at once */
};

struct parts {
    struct part *p;
    uint32_t n;
};
struct strided_copy {
    struct parts all, patch;
    int64_t base;
};

/* Grids of each input. NULL: no memory. */
static struct kern_grid *grids_make(struct prep *c)
{
    const struct strided_copy_attr *a = c->attr;
    struct kern_grid *ret = arena_array(c->arena, struct kern_grid, c->n_in + 1);
    for (unsigned i = 0; ret && i < c->n_in; i++)
        if (rounds(a, i))
            strided_copy_grid(a->grids.v + i * COPY_GRID_FLOATS, &ret[i]);
    return ret;
}

static bool parts_make(struct prep *c, struct attr_ints list, const struct kern_grid *grid,
                       bool in_place, struct parts *ret)
{
    const struct piece *p = (const void *) list.v;
    ret->n = list.n / PIECE_INTS;
    ret->p = arena_array(c->arena, struct part, ret->n + 1);
    for (uint32_t i = 0; ret->p && i < ret->n; i++) {
        struct part *q = &ret->p[i];
        *q = (struct part) { .input = (unsigned) p[i].input, .from = p[i].from, .to = p[i].to };
        q->m.overlaps = in_place;
        q->m.grid = rounds(c->attr, p[i].input) ? &grid[p[i].input] : NULL;
        for (int k = 0; k < PIECE_AXES; k++) {
            q->m.n[k] = (size_t) p[i].n[k];
            q->m.from[k] = (ptrdiff_t) p[i].from_stride[k];
            q->m.to[k] = (ptrdiff_t) p[i].to_stride[k];
        }
    }
    return ret->p != NULL;
}

static bool is_every_second(const struct part *p)
{
    return p->m.n[0] == 1 && p->m.n[1] == 1 && p->m.n[2] == 1 && p->m.from[3] == 1 &&
        p->m.to[3] == 2;
}

/* Pairs of parts that lie between each other, the one that begins before the other in front. */
static void parts_weave(struct parts *list)
{
    for (struct part *p = list->p, *end = p + list->n; p + 1 < end; p++) {
        if (!is_every_second(&p[0]) || !is_every_second(&p[1]) || p[0].m.n[3] != p[1].m.n[3] ||
            (p[1].to != p[0].to + 1 && p[0].to != p[1].to + 1))
            continue;
        if (p[1].to < p[0].to) {
            const struct part first = p[1];
            p[1] = p[0];
            p[0] = first;
        }
        p++->woven = true;
    }
}

static rill_status copy_prepare(struct prep *c)
{
    const struct strided_copy_attr *a = c->attr;
    struct strided_copy *m = arena_new(c->arena, struct strided_copy);
    TRY(copy_check(c));
    const struct kern_grid *grid = grids_make(c);
    if (!m || !grid || !parts_make(c, a->pieces, grid, false, &m->all) ||
        !parts_make(c, a->patch, grid, true, &m->patch))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    parts_weave(&m->all);
    m->base = a->base;
    c->args = m;
    c->kernel = "strided_copy_f32";
    return RILL_OK;
}

static void copy_eval(const struct eval *e)
{
    const struct strided_copy *m = e->args;
    bool there = m->base >= 0 && e->y[0] == e->x[m->base];
    const struct parts *list = there ? &m->patch : &m->all;
    for (const struct part *p = list->p, *end = p + list->n; p != end; p++) {
        float *y = (float *) e->y[0] + p->to;
        const float *x = (const float *) e->x[p->input] + p->from;
        if (p->woven) {
            p++;
            e->kern->weave_f32(y, x, (const float *) e->x[p->input] + p->from, p->m.n[3]);
        } else {
            e->kern->strided_copy_f32(y, x, &p->m);
        }
    }
}

bool strided_copy_is_part(const struct node *n, unsigned *ret_input, int64_t *ret_first)
{
    const struct strided_copy_attr *a = n->attr;
    const struct piece *p = n->op == &op_strided_copy ? (const void *) a->pieces.v : NULL;
    if (!p || a->pieces.n != PIECE_INTS || p->to != 0 || a->grids.n)
        return false;
    int64_t inner = 1;
    for (int i = PIECE_AXES; i-- > 0; inner *= p->n[i])
        if (p->n[i] != 1 && (p->from_stride[i] != inner || p->to_stride[i] != inner))
            return false;
    int64_t count = 1;
    for (uint32_t i = 0; i < a->shape.n; i++)
        count *= a->shape.v[i]; /* of a tensor: no overflow */
    *ret_input = (unsigned) p->input;
    *ret_first = p->from;
    return inner == count;
}

static int copy_base(const struct node *n, unsigned o)
{
    return o ? -1 : (int) ((const struct strided_copy_attr *) n->attr)->base;
}

static bool copy_reads_base_again(const struct node *n)
{
    return ((const struct strided_copy_attr *) n->attr)->again;
}

const struct op op_strided_copy = {
    .id = OP_STRIDED_COPY,
    .name = "StridedCopy",
    .attrs = copy_attrs,
    .attr_bytes = sizeof(struct strided_copy_attr),
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = copy_infer,
    .prepare = copy_prepare,
    .eval = copy_eval,
    .base = copy_base,
    .reads_base_again = copy_reads_base_again,
    .help = "elements of some tensors put together to another",
};
