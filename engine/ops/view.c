/* SPDX-License-Identifier: MIT */
#include "engine/ops/view.h"
#include "kernels/bytes.h"

#include <string.h>

void view_copy_init(struct view_copy *v, int rank, const int64_t *dim, const int64_t *from,
                    const int64_t *to, size_t bytes)
{
    *v = (struct view_copy) { .bytes = bytes };
    for (int i = 0; i < rank; i++) {
        int k = v->rank - 1;
        if (dim[i] == 1)
            continue;
        if (k >= 0 && v->from[k] == from[i] * dim[i] && v->to[k] == to[i] * dim[i]) {
            v->dim[k] *= dim[i];
            v->from[k] = from[i];
            v->to[k] = to[i];
            continue;
        }
        v->dim[v->rank] = dim[i];
        v->from[v->rank] = from[i];
        v->to[v->rank++] = to[i];
    }
    if (v->rank == 0) {
        v->rank = 1;
        v->dim[0] = v->from[0] = v->to[0] = 1;
    }
}

#define ROW(type)                                                                                  \
    static void row_##type(void *to, const void *from, int64_t n, int64_t to_stride,               \
                           int64_t from_stride)                                                    \
    {                                                                                              \
        type *t = to;                                                                              \
        const type *f = from;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                            \
            t[i * to_stride] = f[i * from_stride];                                                 \
    }
ROW(uint8_t)
ROW(uint16_t)
ROW(uint32_t)
ROW(uint64_t)
#undef ROW

static void row_copy(const struct view_copy *v, unsigned char *to, const unsigned char *from)
{
    int k = v->rank - 1;
    int64_t n = v->dim[k], ts = v->to[k], fs = v->from[k];
    if (ts == 1 && fs == 1)
        memcpy(to, from, (size_t) n * v->bytes);
    else if (v->bytes == 4)
        row_uint32_t(to, from, n, ts, fs);
    else if (v->bytes == 8)
        row_uint64_t(to, from, n, ts, fs);
    else if (v->bytes == 2)
        row_uint16_t(to, from, n, ts, fs);
    else
        row_uint8_t(to, from, n, ts, fs);
}

void view_copy_run(const struct view_copy *v, void *to, const void *from)
{
    int64_t at[RANK_MAX + 1] = { 0 }, bytes = (int64_t) v->bytes;
    unsigned char *t = (unsigned char *) to + v->to_at * bytes;
    const unsigned char *f = (const unsigned char *) from + v->from_at * bytes;
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i] == 0)
            return;
    for (;;) {
        row_copy(v, t, f);
        int i = v->rank - 2;
        for (; i >= 0; i--) {
            t += v->to[i] * bytes;
            f += v->from[i] * bytes;
            if (++at[i] < v->dim[i])
                break;
            t -= v->to[i] * v->dim[i] * bytes;
            f -= v->from[i] * v->dim[i] * bytes;
            at[i] = 0;
        }
        if (i < 0)
            return;
    }
}

/* Of four bytes and up to four axes, as the kernel moves them: the axis whose elements lie side by
 * side in `from` comes last but one, where it is not the last, so that both are turned together. */
static bool kernel_copy_set(const struct view_copy *v, struct kern_strided_copy *ret)
{
    int order[4], first = 4 - v->rank;
    if (v->bytes != sizeof(float) || v->rank > 4)
        return false;
    for (int i = 0; i < v->rank; i++) {
        if (v->dim[i] == 0) /* the kernel may read where rows begin */
            return false;
        order[i] = i;
    }
    for (int i = 0; i + 2 < v->rank; i++)
        if (v->from[i] == 1) {
            order[i] = v->rank - 2;
            order[v->rank - 2] = i;
            break;
        }
    *ret = (struct kern_strided_copy) { .n = { 1, 1, 1, 1 } };
    for (int i = 0; i < v->rank; i++) {
        ret->n[first + i] = (size_t) v->dim[order[i]];
        ret->from[first + i] = (ptrdiff_t) v->from[order[i]];
        ret->to[first + i] = (ptrdiff_t) v->to[order[i]];
    }
    return true;
}

/* The axis whose bytes lie side by side in `from`, where those of the last one do in `to` alone.
 * -1: there is none. */
static int turned_axis(const struct view_copy *v)
{
    const int last = v->rank - 1;
    if (v->bytes != 1 || v->to[last] != 1 || v->from[last] < 1)
        return -1;
    for (int i = 0; i < last; i++)
        if (v->from[i] == 1 && v->to[i] >= 1 && v->from[last] != 1)
            return i;
    return -1;
}

/* Both axes are turned together, the others gone through. */
static void view_copy_turn(const struct view_copy *v, int axis, const struct eval *e)
{
    const int last = v->rank - 1;
    const uint8_t *x = (const uint8_t *) e->x[0] + v->from_at;
    uint8_t *y = (uint8_t *) e->y[0] + v->to_at;
    int64_t at[RANK_MAX] = { 0 }, n = 1, from = 0, to = 0;
    for (int i = 0; i < last; i++)
        n *= i == axis ? 1 : v->dim[i];
    for (; n > 0; n--) {
        kern_bytes_turn(y + to, (size_t) v->to[axis], x + from, (size_t) v->from[last],
                        (size_t) v->dim[last], (size_t) v->dim[axis]);
        for (int i = last - 1; i >= 0; i--) {
            if (i == axis)
                continue;
            from += v->from[i];
            to += v->to[i];
            if (++at[i] < v->dim[i])
                break;
            from -= v->from[i] * v->dim[i];
            to -= v->to[i] * v->dim[i];
            at[i] = 0;
        }
    }
}

void view_copy_eval(const struct eval *e)
{
    const struct view_copy *v = e->args;
    const int axis = turned_axis(v);
    struct kern_strided_copy m;
    if (axis >= 0)
        view_copy_turn(v, axis, e);
    else if (kernel_copy_set(v, &m))
        e->kern->strided_copy_f32((float *) e->y[0] + v->to_at,
                                  (const float *) e->x[0] + v->from_at, &m);
    else
        view_copy_run(v, e->y[0], e->x[0]);
}
