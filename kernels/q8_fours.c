/* SPDX-License-Identifier: MIT */
#include "kernels/q8_fours.h"

#include <stdlib.h>
#include <string.h>

#define MOST 64 /* half of the weights of one sign that may meet: 255 * 128 are 16 bits */
#define GROUP 64

static int part_weight(int v, unsigned half)
{
    return half == 0 ? v : half == 1 ? v / 2 : v - v / 2;
}

static void part_sum(struct fours_part *part, const int8_t *w)
{
    part->size = 0;
    for (int i = 0; i < GROUP / 2; i++) {
        const int a = part_weight(w[2 * i], part->half), b = part_weight(w[2 * i + 1], part->half);
        const int more = (a > 0 ? a : 0) + (b > 0 ? b : 0), less = more - a - b;
        part->sums[i] = (uint8_t) ((more + 1) / 2);
        part->sums[32 + i] = (uint8_t) ((less + 1) / 2);
        part->size += part->sums[i] + part->sums[32 + i];
    }
}

/* Two parts, or one and NULL. Sums are at most 128: a byte's highest bit says that it has too much.
 */
static bool parts_meet(const struct fours_part *a, const struct fours_part *b)
{
    uint64_t over = 0;
    for (int i = 0; i < GROUP; i += 8) {
        uint64_t x, y = 0;
        memcpy(&x, a->sums + i, sizeof x);
        if (b)
            memcpy(&y, b->sums + i, sizeof y);
        over |= x + y + 0x0101010101010101u * (127 - MOST);
    }
    return !(over & 0x8080808080808080u);
}

static void part_add(struct fours *f, const int8_t *w, size_t group, unsigned half)
{
    struct fours_part *part = f->parts + f->n++;
    *part = (struct fours_part) { .group = (uint8_t) group, .half = (uint8_t) half };
    part_sum(part, w + group * GROUP);
}

static void part_halve(struct fours *f, const int8_t *w, struct fours_part *part)
{
    part->half = 1;
    part_sum(part, w + part->group * GROUP);
    part_add(f, w, part->group, 2);
}

/* Groups whose own pairs are too large lie in two halves, and an even number of groups does. */
static void parts_find(struct fours *f, const int8_t *w)
{
    struct fours_part *largest = NULL;
    f->n = 0;
    for (size_t i = 0; i < f->groups; i++)
        part_add(f, w, i, 0);
    for (size_t i = 0; i < f->groups; i++) {
        struct fours_part *part = f->parts + i;
        if (!parts_meet(part, NULL))
            part_halve(f, w, part);
        else if (!largest || part->size > largest->size)
            largest = part;
    }
    if ((f->n - f->groups) % 2 && largest)
        part_halve(f, w, largest);
}

static int by_size(const void *a, const void *b)
{
    const struct fours_part *x = a, *y = b;
    return x->size != y->size  ? (x->size < y->size) - (x->size > y->size)
        : x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                               : x->half - y->half;
}

/* The first that part i may meet; n: none. */
static size_t other_of(const struct fours *f, size_t i)
{
    for (size_t j = i + 1; j < f->n; j++)
        if (!f->parts[j].is_taken && parts_meet(f->parts + i, f->parts + j))
            return j;
    return f->n;
}

/* The largest with the largest that it may meet. */
void fours_find(struct fours *ret, const int8_t *w, size_t groups)
{
    uint16_t single[2 * FOURS_GROUPS];
    size_t singles = 0;
    ret->groups = groups, ret->fours = 0;
    parts_find(ret, w);
    qsort(ret->parts, ret->n, sizeof *ret->parts, by_size);
    for (size_t i = 0; i < ret->n; i++) {
        const size_t j = ret->parts[i].is_taken ? i : other_of(ret, i);
        if (j == ret->n)
            single[singles++] = (uint16_t) i;
        if (j == ret->n || j == i)
            continue;
        ret->parts[j].is_taken = true;
        ret->order[2 * ret->fours] = (uint16_t) i;
        ret->order[2 * ret->fours++ + 1] = (uint16_t) j;
    }
    memcpy(ret->order + 2 * ret->fours, single, singles * sizeof *single);
}

void fours_weights(int8_t *to, const int8_t *w, const struct fours_part *part)
{
    for (int i = 0; i < GROUP; i++)
        to[i] = (int8_t) part_weight(w[part->group * GROUP + i], part->half);
}
