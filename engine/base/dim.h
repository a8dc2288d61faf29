/* SPDX-License-Identifier: MIT */
/* dim.h - a dimension: an integer expression of symbols, in canonical form.
 *
 * Expressions are interned in a scope: two expressions of one scope are equal exactly when their
 * pointers are equal. Kinds: constant, symbol, sum, product, floor division by a positive constant,
 * min, max, broadcast (1 gives way, anything else must agree), comparisons as 0 or 1. Division is
 * floor division. Facts asserted about symbols (S >= 0) feed the simplifier.
 *
 * Errors are sticky: an overflow, a division by zero or a failed allocation sets the scope's status
 * once, and the maker returns a poison value that every maker passes on; callers check
 * dims_status() once per node, not per expression. Not thread-safe: a scope belongs to one stage
 * under construction. */
#ifndef RILL_ENGINE_BASE_DIM_H
#define RILL_ENGINE_BASE_DIM_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct dim;
struct dims;

struct dims *dims_new(void); /* NULL: out of memory */
/* The arena has run out where the machine has no more memory for the scope. */
void dims_set_owner(struct dims *ds, struct arena *owner);
struct dims *dims_free(struct dims *ds); /* takes and returns NULL */
rill_status dims_status(const struct dims *ds, rill_error *reterr);

const struct dim *dim_int(struct dims *ds, int64_t value);
const struct dim *dim_symbol(struct dims *ds, const char *name); /* [A-Za-z_][A-Za-z0-9_./]* */
/* The symbol that was named last, and the one before that; NULL: none. */
const struct dim *dims_newest_symbol(const struct dims *ds);
const struct dim *dim_older_symbol(const struct dim *symbol);
const struct dim *dim_fresh(struct dims *ds); /* a symbol nobody else has, for "unknown" */
const struct dim *dim_add(struct dims *ds, const struct dim *a, const struct dim *b);
const struct dim *dim_sub(struct dims *ds, const struct dim *a, const struct dim *b);
const struct dim *dim_mul(struct dims *ds, const struct dim *a, const struct dim *b);
const struct dim *dim_add_int(struct dims *ds, const struct dim *a, int64_t k);
const struct dim *dim_mul_int(struct dims *ds, const struct dim *a, int64_t k);
const struct dim *dim_div_int(struct dims *ds, const struct dim *a, int64_t k); /* floor, k > 0 */
/* ceiling, k > 0 */
const struct dim *dim_div_ceil_int(struct dims *ds, const struct dim *a, int64_t k);
/* towards 0, as programs divide integers; k > 0 */
const struct dim *dim_div_cut_int(struct dims *ds, const struct dim *a, int64_t k);
/* The number k for which a is k * b whatever the symbols are; false: none is seen. a / b is k then,
 * and a modulo b 0, wherever there is such a quotient. */
bool dim_ratio(struct dims *ds, const struct dim *a, const struct dim *b, int64_t *ret);
const struct dim *dim_min(struct dims *ds, const struct dim *a, const struct dim *b);
const struct dim *dim_max(struct dims *ds, const struct dim *a, const struct dim *b);
const struct dim *dim_broadcast(struct dims *ds, const struct dim *a, const struct dim *b);
/* 1 if a >= b else 0 */
const struct dim *dim_ge(struct dims *ds, const struct dim *a, const struct dim *b);
/* 1 if a == b else 0 */
const struct dim *dim_eq(struct dims *ds, const struct dim *a, const struct dim *b);

bool dim_is_const(const struct dim *d);
int64_t dim_value(const struct dim *d);          /* of a constant */
bool dim_is(const struct dim *d, int64_t value); /* is the constant `value` */
bool dim_mentions(const struct dim *d, const struct dim *symbol);
bool dim_has_symbol(const struct dim *d); /* any symbol */

/* d == a/b exactly as a linear function: *ret_num/(*ret_den) is what d grows by per unit of symbol.
 * False when d is not (floor-)linear in it. */
bool dim_slope(const struct dim *d, const struct dim *symbol, int64_t *ret_num, int64_t *ret_den);

/* Adds the symbols of d that are not among list[0..n) yet, at most to cap; returns how many there
 * are now. */
unsigned dim_symbols(const struct dim *d, const struct dim **list, unsigned n, unsigned cap);
/* of a symbol, NULL of anything else; lives as long as the scope */
const char *dim_name(const struct dim *d);

/* The integer that symbol must be for expr == value, where expr is a number times the symbol plus a
 * number. INVALID with the reason: there is none, or it contradicts a bound; UNSUPPORTED: expr is
 * of another form. */
rill_status dim_solve(const struct dim *expr, const struct dim *symbol, int64_t value, int64_t *ret,
                      rill_error *reterr);

/* d with `to` in the place of symbol, simplified. */
const struct dim *dim_subst(struct dims *ds, const struct dim *d, const struct dim *symbol,
                            const struct dim *to);

/* `to` inherits what is asserted about symbol; INVALID where it cannot. To be called
 * when symbol is replaced by `to` everywhere; `to` may not mention it. */
rill_status dims_inherit(struct dims *ds, const struct dim *symbol, const struct dim *to,
                         rill_error *reterr);

/* How an expression is made, for those who write it elsewhere. */
enum dim_form {
    DIM_FORM_OTHER, /* no size at all */
    DIM_FORM_INT,
    DIM_FORM_SYMBOL,
    DIM_FORM_SUM, /* value + coef[i] * arg[i] */
    DIM_FORM_PRODUCT,
    DIM_FORM_QUOTIENT, /* arg[0] / value, rounded down */
    DIM_FORM_LEAST,
    DIM_FORM_MOST,
    DIM_FORM_BROADCAST,
    DIM_FORM_AT_LEAST, /* 1 where arg[0] >= arg[1], else 0 */
    DIM_FORM_EQUAL     /* 1 where they are equal, else 0 */
};

struct dim_parts {
    enum dim_form form;
    int64_t value;
    unsigned n;
    const struct dim *const *arg;
    const int64_t *coef; /* of a sum */
};

struct dim_parts dim_parts(const struct dim *d);

/* Value with symbol bound to v; false if another symbol is left or the arithmetic overflows. No
 * allocation. */
bool dim_eval(const struct dim *d, const struct dim *symbol, int64_t v, int64_t *ret);

/* "S>=1", "T < 2*S"... Adds to what the simplifier may assume. */
rill_status dims_assert(struct dims *ds, const char *text, rill_error *reterr);

/* The same of what somebody says whom sizes may prove wrong: it is kept as text too. */
rill_status dims_claim(struct dims *ds, const char *text, rill_error *reterr);
/* Keeps what was claimed of other expressions alike: nothing is assumed. Kept once. */
rill_status dims_claim_keep(struct dims *ds, const char *text, const struct dim *ge0,
                            rill_error *reterr);
/* Adds the symbols of both sides of such a text to list[n..cap); none where it is no comparison. */
unsigned dims_relation_symbols(struct dims *ds, const char *text, const struct dim **list,
                               unsigned n, unsigned cap);
/* Claim number i, which holds where *ret_ge0 >= 0; an equation is two. NULL: there are not so many.
 */
const char *dims_claim_at(const struct dims *ds, unsigned i, const struct dim **ret_ge0);
/* One that does not hold with symbol bound to v; those that mention other symbols have no say.
 * NULL: none. No allocation. */
const char *dims_claim_broken(const struct dims *ds, const struct dim *symbol, int64_t v);

/* d >= 0 from now on, because nothing could run otherwise. INVALID where it contradicts what is
 * known. Expressions made before keep their form; dim_refresh gives the one they have with all that
 * is known now. */
rill_status dims_assume(struct dims *ds, const struct dim *d, rill_error *reterr);
const struct dim *dim_refresh(struct dims *ds, const struct dim *d);

/* A node, as errors name it; op may be NULL. */
struct dim_asker {
    const char *name, *op;
};
/* Bounds that follow are said to be of that node; who it was before. */
struct dim_asker dims_ask_for(struct dims *ds, struct dim_asker who);

/* A size that is broadcast of a number and others is said to be of that node (its words are copied)
 * where substitution proves that they do not fit; who comes first stays. */
void dim_blame(struct dims *ds, const struct dim *d, const char *who);
bool dim_is_blamed(const struct dim *d); /* or nobody can be: it is no broadcast */
/* dims_status with the wire in front of the words that is said to be wrong, unless they name a node
 * already. */
rill_status dims_status_at(const struct dims *ds, const char *wire, rill_error *reterr);
/* The same with a node. */
rill_status dims_status_of(const struct dims *ds, const char *node, const char *op,
                           rill_error *reterr);

/* d as it is where no number bounds it, as the rows that are cut out of a table that is long
 * enough: of min(500, T) T, of min(599, 299 + T) - max(0, 300 - T) 2*T - 1. */
const struct dim *dim_unbounded(struct dims *ds, const struct dim *d);
/* From now on d is that. INVALID where it contradicts what is known. */
rill_status dims_assume_unbounded(struct dims *ds, const struct dim *d, rill_error *reterr);

/* Whether what is asserted holds with symbol bound to v; assertions that mention other symbols have
 * no say. */
bool dims_allow(const struct dims *ds, const struct dim *symbol, int64_t v);

/* Printed forms parse back to the same pointer. */
rill_status dim_parse(struct dims *ds, const char *text, const struct dim **ret,
                      rill_error *reterr);
/* Whether text is the name of one symbol, without quotes. */
bool dim_is_name(const char *text);
int dim_print(const struct dim *d, char *buf, size_t cap); /* as snprintf */
#endif
