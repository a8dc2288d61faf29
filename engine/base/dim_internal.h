/* SPDX-License-Identifier: MIT */
/* dim_internal.h - what the files of the dimension module share; nobody else includes it.
 *
 * Canonical form. A sum is constant + coefficients times terms, where a term is neither a constant
 * nor a sum; terms are sorted and differ. A product has two factors or more. min, max and broadcast
 * are flat and sorted. The order is by structure, so that it does not depend on who was made
 * first. */
#ifndef RILL_ENGINE_BASE_DIM_INTERNAL_H
#define RILL_ENGINE_BASE_DIM_INTERNAL_H
#include "engine/base/dim_claims.h"

#include <stddef.h>

/* The order of the kinds is the order in which operands are sorted and printed. */
enum dim_kind {
    DIM_POISON,
    DIM_INT,
    DIM_SYM,
    DIM_MUL,
    DIM_DIV,
    DIM_ADD,
    DIM_MIN,
    DIM_MAX,
    DIM_BROADCAST,
    DIM_GE,
    DIM_EQ
};

#define DIM_TERMS_MAX 64   /* terms of a sum, operands of anything else */
#define DIM_NODES_MAX 2000 /* nodes of one expression, counted as a tree */
#define DIM_DEPTH_MAX 40
#define DIM_SCOPE_MAX_BYTES ((size_t) 64 << 20)

struct dim {
    enum dim_kind kind;
    uint32_t hash, n, nodes, depth;
    int64_t value; /* INT: the value; ADD: the constant; DIV: the divisor */
    const struct dim **arg;
    int64_t *coef;           /* ADD only */
    const char *name;        /* SYM only */
    struct dim_bound *bound; /* SYM only */
    struct dim_rest *rest;   /* SYM only: what it leaves over a multiple */
    /* Who put lo and hi of a symbol; who made a broadcast, [0]. NULL where nobody is known. */
    const char **by;
    const struct dim *older; /* SYM only: the one that was named before it */
};

struct dim_bound {
    int64_t lo, hi;
}; /* INT64_MIN and INT64_MAX mean unbounded */

/* `rest` more than a multiple of `of`, 0 <= rest < of; of 1: any number. */
struct dim_rest {
    int64_t of, rest;
};

/* What somebody asserted: text says ge0 >= 0. */
struct dim_claim {
    const char *text;
    const struct dim *ge0;
    enum dim_claim_kind kind;
    struct dim_claim *next;
};

struct dims {
    struct arena arena;
    struct dim **slot; /* open addressing, a power of two of them */
    size_t n_slots, n_used;
    const struct dim *poison, *newest; /* newest: of the symbols */
    const struct dim **fact;           /* each is known to be >= 0 */
    unsigned n_facts, cap_facts, n_fresh;
    struct dim_claim *claims; /* the newest first */
    unsigned n_branches;      /* that what is assumed is of */
    struct dim_asker asker;
    const char *broadcast_by; /* of the one that is being substituted */
    bool failed_of_node;      /* err names it */
    rill_error err;
};

/* A sum while it is worked on, on the stack. */
struct lin {
    int64_t c;
    unsigned n;
    bool bad; /* overflow or too many terms; sticky */
    int64_t k[DIM_TERMS_MAX];
    const struct dim *t[DIM_TERMS_MAX];
};

const struct dim *dims_fail(struct dims *ds, rill_status s, const char *what);

/* The one place where nodes are made. args and coefs are copied. */
const struct dim *dim_intern(struct dims *ds, const struct dim *proto);
int dim_order(const struct dim *a, const struct dim *b);
static inline bool dim_is_bad(const struct dim *d)
{
    return !d || d->kind == DIM_POISON;
}

/* Of what a symbol's name is made that needs no quotes. */
static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool floor_div_checked(int64_t a, int64_t q, int64_t *ret); /* q > 0 */
int64_t gcd_i64(int64_t a, int64_t b); /* of the magnitudes; INT64_MIN counts as 1 */

void lin_init(struct lin *l, const struct dim *d);
void lin_add(struct lin *l, int64_t k, const struct dim *d); /* l += k * d */
void lin_scale(struct lin *l, int64_t k);                    /* k != 0 */
void lin_remove(struct lin *l, unsigned at);
const struct dim *dim_from_lin(struct dims *ds, struct lin *l);

/* n-ary min, max, broadcast. */
const struct dim *dim_lattice(struct dims *ds, enum dim_kind kind, const struct dim *const *arg,
                              unsigned n);

/* True only where the facts of the scope prove l >= 0. budget is the number of cases that may be
 * looked at. */
bool lin_proves_ge0(const struct dims *ds, const struct lin *l, int budget);
bool dim_proves_ge(const struct dims *ds, const struct dim *a, const struct dim *b, int budget);
struct dim_bound dim_bounds(const struct dim *d);

/* As a symbol is asserted to be. */
static inline struct dim_rest dim_rest_of(const struct dim *d)
{
    return d->kind == DIM_SYM ? *d->rest : (struct dim_rest) { 1, 0 };
}

/* Narrows *q, of which l is looked at, to what all values of l without its constant leave the same
 * rest over; returns that rest, or 0 where a number is too large. */
int64_t lin_rest(const struct lin *l, int64_t *q);
#endif
