/* SPDX-License-Identifier: MIT */
/* looks.h - a node of a mask, of which bands.c asks what its operands are. */
#ifndef RILL_PULSE_LOOKS_H
#define RILL_PULSE_LOOKS_H
#include "pulse/bands.h"
#include "pulse/measured.h"
#include "pulse/sizes.h"

#define STEPS_MAX 400 /* nodes between a sum and what hides; a stack has room for them */

struct found; /* bands.c */
struct there;

struct bands {
    struct found **of; /* per wire */
    struct there **there;
    struct size *sizes;
    struct measures *measures;
    struct arena *arena;
    unsigned steps; /* nodes that are being looked at */
};

struct look {
    const struct pulser *p;
    const struct node *n;
    int query, key;
    int64_t ahead; /* which key of each query is looked at, from that of its own frame */
};

/* The same of the negative number, or of the opposite. */
enum shows shows_turned(enum shows what);
bool is_lower_kind(enum shows what);
/* Input i is a constant of numbers between those. */
bool look_within(const struct look *l, unsigned i, double least, double most);
/* The constant operand among two; 2: none. */
unsigned look_constant(const struct look *l);
bool is_one(const struct pulser *p, uint32_t w);
/* 0 or 1 and nothing else. */
bool is_truth(const struct pulser *p, uint32_t w);
/* A truth value times constant c hides where it is 1. */
bool look_turns(const struct look *l, unsigned c, enum shows what);
/* What a comparison of a truth value with a constant gives for 0 and for 1; false: it is none.
 * ret_input: the truth value. */
bool look_compares(const struct look *l, bool ret_at[2], unsigned *ret_input);
/* Between which numbers input i lies. */
struct size look_size(const struct look *l, unsigned i);
bool look_finite(const struct look *l, unsigned i);
/* The least and the largest of the numbers of constant c, without their signs. */
double look_least(const struct look *l, unsigned c);
double look_most(const struct look *l, unsigned c);
#endif
