/* SPDX-License-Identifier: MIT */
/* oracle.h - the law, from outside: what a stream gives is what the whole-sequence run gives.
 *
 * The whole run is the interpreter on a graph built for that length. The stream gets the same
 * frames in random cuts, NaN after the end, the length as late as it can be told, memory full of
 * garbage, and now and then a snapshot in the middle or a reset after other data. Bits must agree;
 * NaN is one value. */
#ifndef TESTS_PULSE_ORACLE_H
#define TESTS_PULSE_ORACLE_H
#include "lib/stream_internal.h"
#include "tests/pulse/graph_build.h"

struct oracle {
    const struct pass *pass; /* of the whole sequence, too, where somebody sets it; or NULL */
    gb_recipe *recipe;
    const void *ctx;
    uint32_t seed; /* of the weights */
    rill_model *model;
    rill_plan *plan;
    float tolerance;  /* 0: the same bits */
    bool zeros_agree; /* 0 and -0 are the same; so is anything, and NaN of the whole run */
    bool nan_first;   /* the first number of each input is NaN */
    rill_error err;
};

enum verdict {
    LAW_HOLDS,
    LAW_REFUSED,  /* err says why */
    LAW_NO_WHOLE, /* the whole-sequence graph itself is refused for this length */
    LAW_BROKEN    /* err says where */
};

/* Types the recipe with a symbol S; then cuts it for a pulse. LAW_HOLDS or LAW_REFUSED. */
enum verdict oracle_open(struct oracle *o, gb_recipe *recipe, const void *ctx,
                         const char *assertion);
enum verdict oracle_pulse(struct oracle *o, int64_t pulse);

/* Runs both ways on `length` units of the symbol. */
enum verdict oracle_law(struct oracle *o, int64_t length, uint32_t cuts);

/* At each pulse and each length (lists end with -1), cut in another way each time; what is refused
 * or broken is a failed check. How many had a whole run. */
unsigned oracle_laws(struct oracle *o, const char *name, const int64_t *pulses,
                     const int64_t *lengths);

void oracle_close(struct oracle *o);

/* A recipe that streams, or is refused. */
struct oracle_case {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    const char *refusal[4]; /* all must stand in the message; none: it streams */
};

/* How cases are tried: each pulse with each length, cut in several ways. */
struct oracle_trial {
    const int *pulses, *lengths; /* each ends with -1 */
    uint32_t cuts;
    unsigned whole_least; /* of these, so many must have a whole run */
    bool refused_early;   /* a refusal may come before there is a pulse */
};

void oracle_try(const struct oracle_case *c, const struct oracle_trial *t);

/* By how many frames output 0 is later at that pulse than it must be; -1: it does not stream, or
 * the bound is not known. */
int64_t oracle_needless(gb_recipe *recipe, const void *ctx, const char *assertion, int64_t pulse);

/* Counting and printing of a test program. */
extern unsigned oracle_passed, oracle_failed;
/* Over all that streams gave since it was last set; NaN is one value, a subnormal number a zero of
 * its sign. */
extern uint64_t oracle_digest;
void oracle_check(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int oracle_end(void);
#endif
