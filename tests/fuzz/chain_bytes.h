/* SPDX-License-Identifier: MIT */
/* chain_bytes.h - any bytes as a chain of streaming steps. */
#ifndef TESTS_FUZZ_CHAIN_BYTES_H
#define TESTS_FUZZ_CHAIN_BYTES_H

#include "tests/fuzz/fuzz.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <string.h>

static inline unsigned chain_kinds(void)
{
    unsigned n = 0;
    while (step_kind_at(n))
        n++;
    return n;
}

static inline bool is_size(const char *name)
{
    static const char *const sizes[] = { "s",      "k",    "d",  "l",    "r",    "hop",  "step",
                                         "before", "from", "to", "size", "late", "right" };
    bool any = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        any |= !strcmp(sizes[i], name);
    return any;
}

/* Sizes reach `over` past what their rows allow. */
static inline struct chain chain_take(struct bytes_in *b, int over)
{
    int kinds = (int) chain_kinds();
    struct chain c = { .channels = take_int(b, 1, 3),
                       .times = take_int(b, 1, 3),
                       .form = take_int(b, 0, FORMS - 1),
                       .n = (unsigned) take_int(b, 1, STEPS_MAX),
                       .taps = take_int(b, 0, 63) };
    for (unsigned i = 0; i < c.n; i++) {
        struct chain_step *s = &c.steps[i];
        s->kind = step_kind_at((unsigned) take_int(b, 0, kinds - 1));
        for (int k = 0; k < PARAMS_MAX && s->kind->params[k].name; k++) {
            const struct step_param *p = &s->kind->params[k];
            int past = is_size(p->name) ? over : 0;
            s->v[k] = take_u8(b) & 1 ? take_int(b, p->least - past, p->most + past) : p->otherwise;
        }
    }
    return c;
}

#endif
