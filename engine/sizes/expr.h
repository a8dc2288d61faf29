/* SPDX-License-Identifier: MIT */
/* expr.h - sizes that data decides: whole numbers made of constants, elements and sizes of tensors,
 * + - * floor and ceiling division, min, max, comparison, and the maximum over a range of a
 * variable.
 *
 * An expression is its number in a table; operands come before what reads them, and it is constant
 * once made. It is evaluated by one serial walk, in memory of the table's size. */
#ifndef RILL_ENGINE_SIZES_EXPR_H
#define RILL_ENGINE_SIZES_EXPR_H
#include "engine/base/err.h"
#include "engine/graph/tensor.h"

#define SIZE_NONE UINT32_MAX /* no expression: no memory, or one too large; so is what reads it */
#define SIZE_VARIABLES_MAX 8
#define SIZE_DEPTH_MAX 100
#define SIZE_PARTS_MAX 4096 /* of one expression, shared ones counted as often as they are read */
#define SIZE_TRIPS_MAX UINT32_MAX /* of one range */

enum size_op {
    SIZE_ADD,
    SIZE_SUB,
    SIZE_MUL,
    SIZE_DIV_FLOOR,
    SIZE_DIV_CEIL,
    SIZE_MIN_OF,
    SIZE_MAX_OF,
    SIZE_LESS, /* 1 where it holds, 0 where not */
    SIZE_LESS_OR_EQUAL,
    SIZE_EQUAL,
    SIZE_OPS
};

struct size_node;

struct sizes {
    struct arena *arena;
    struct size_node *nodes;
    uint32_t n_nodes, cap_nodes;
    uint32_t *leaves; /* the expressions that read a tensor, or its size */
    uint32_t n_leaves, cap_leaves;
    uint32_t n_variables;
};

/* What an expression reads: tensor number k of a list, of whole numbers where elements are read, or
 * of floats, which are cut towards zero.
 * `writes` counts what is written into its buffer, by whoever writes. */
struct size_source {
    const struct tensor *t;
    uint64_t writes;
};

uint32_t size_constant(struct sizes *s, int64_t value);
uint32_t size_of_axis(struct sizes *s, uint32_t tensor, int axis);
/* Element `at`, in the order of memory, which is an expression too. */
uint32_t size_element(struct sizes *s, uint32_t tensor, uint32_t at);
uint32_t size_of(struct sizes *s, enum size_op op, uint32_t a, uint32_t b);
/* A variable that the next size_max_over binds. */
uint32_t size_variable(struct sizes *s);
/* The greatest value of body with the variable 0 .. trips - 1; 0 where there is none. */
uint32_t size_max_over(struct sizes *s, uint32_t variable, uint32_t trips, uint32_t body);

/* INVALID: an element that there is not, a division by zero; LIMIT: more than 63 bits, or a range
 * over SIZE_TRIPS_MAX. A range whose body cannot have its maximum inside is not walked. */
rill_status size_value(const struct sizes *s, uint32_t e, const struct size_source *sources,
                       int64_t *ret, rill_error *reterr);

/* ---- for the cache ---- */

struct size_leaf {
    uint32_t tensor;
    int axis; /* whose size; -1: an element */
};
struct size_leaf size_leaf_at(const struct sizes *s, uint32_t leaf);
/* Marks the leaves that e reads, below ranges without iterations too. */
void size_leaves_mark(const struct sizes *s, uint32_t e, bool *ret_read);
#endif
