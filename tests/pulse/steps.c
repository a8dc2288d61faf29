/* SPDX-License-Identifier: MIT */
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct step_kind *const tables[] = { steps_window,  steps_other,  steps_state,
                                                  steps_nets,    steps_moves,  steps_masks,
                                                  steps_windows, steps_lengths };

const struct step_kind *step_kind_at(unsigned i)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct step_kind *k = tables[t]; k->name; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

/* ---- drawing ---- */

static int between(uint32_t *seed, int least, int most)
{
    return least + (int) (gb_random(seed) % (uint32_t) (most - least + 1));
}

static unsigned kinds_count(void)
{
    unsigned n = 0;
    while (step_kind_at(n))
        n++;
    return n;
}

static struct chain_step step_draw(uint32_t *seed)
{
    struct chain_step s = { .kind = step_kind_at(
                                (unsigned) between(seed, 0, (int) kinds_count() - 1)) };
    for (int i = 0; i < PARAMS_MAX && s.kind->params[i].name; i++) {
        const struct step_param *p = &s.kind->params[i];
        s.v[i] = between(seed, 0, 2) ? between(seed, p->least, p->most) : p->otherwise;
    }
    return s;
}

struct chain chain_draw(uint32_t *seed)
{
    struct chain c = { .channels = between(seed, 1, 3) };
    c.times = between(seed, 0, 4) ? 1 : between(seed, 2, 3);
    c.n = (unsigned) between(seed, 1, 6);
    for (unsigned i = 0; i < c.n; i++)
        c.steps[i] = step_draw(seed);
    c.form = between(seed, 0, 2) ? 0 : between(seed, 1, FORMS - 1);
    c.taps = between(seed, 0, 3) ? 0 : between(seed, 1, 63);
    return c;
}

/* ---- text ---- */

static const struct step_kind *kind_find(const char *name)
{
    const struct step_kind *k;
    for (unsigned i = 0; (k = step_kind_at(i)) && strcmp(k->name, name); i++) {}
    return k;
}

static bool step_parse(struct chain_step *s, char *text)
{
    char *save = NULL, *w = strtok_r(text, " ", &save);
    s->kind = w ? kind_find(w) : NULL;
    for (int i = 0; s->kind && i < PARAMS_MAX; i++)
        s->v[i] = s->kind->params[i].otherwise;
    while (s->kind && (w = strtok_r(NULL, " ", &save))) {
        char *value = strchr(w, '=');
        int i = 0;
        if (!value)
            return false;
        *value++ = '\0';
        while (i < PARAMS_MAX && s->kind->params[i].name && strcmp(s->kind->params[i].name, w))
            i++;
        if (i == PARAMS_MAX || !s->kind->params[i].name)
            return false;
        s->v[i] = atoi(value);
    }
    return s->kind != NULL;
}

bool chain_parse(struct chain *c, const char *text)
{
    char copy[1024], *save = NULL, *rest;
    snprintf(copy, sizeof copy, "%s", text);
    *c = (struct chain) { .channels = (int) strtol(copy, &rest, 10), .times = 1 };
    if (*rest == 'x')
        c->times = (int) strtol(rest + 1, &rest, 10);
    if (*rest == '@')
        c->form = (int) strtol(rest + 1, &rest, 10);
    if (c->form < 0 || c->form >= FORMS || *rest++ != ':')
        return false;
    for (char *w = strtok_r(rest, ";", &save); w; w = strtok_r(NULL, ";", &save))
        if (c->n == STEPS_MAX || !step_parse(&c->steps[c->n++], w))
            return false;
    return true;
}

int chain_print(const struct chain *c, char *buf, size_t cap)
{
    int at = snprintf(buf, cap, "%d", c->channels);
    if (c->times > 1)
        at += snprintf(buf + at, cap - (size_t) at, "x%d", c->times);
    if (c->form)
        at += snprintf(buf + at, cap - (size_t) at, "@%d", c->form);
    at += snprintf(buf + at, cap - (size_t) at, ":");
    for (unsigned i = 0; i < c->n && at > 0 && (size_t) at < cap; i++) {
        const struct chain_step *s = &c->steps[i];
        at += snprintf(buf + at, cap - (size_t) at, "%s %s", i ? ";" : "", s->kind->name);
        for (int k = 0; k < PARAMS_MAX && s->kind->params[k].name && (size_t) at < cap; k++)
            if (s->v[k] != s->kind->params[k].otherwise)
                at += snprintf(buf + at, cap - (size_t) at, " %s=%d", s->kind->params[k].name,
                               s->v[k]);
    }
    return at;
}

/* Where time is in the first input and in the last output. */
static uint32_t form_input(struct gb *b, const struct chain *c)
{
    int t = GB_TIME * c->times;
    switch (c->form) {
    case 1:
        return gb_transpose(b,
                            GB(b, "Unsqueeze", "", gb_input(b, "x", 2, t, c->channels),
                               gb_ints(b, 0)),
                            "0,2,1");
    case 2: return GB(b, "Unsqueeze", "", gb_input(b, "x", 2, c->channels, t), gb_ints(b, 0));
    case 3:
        return gb_transpose(b,
                            GB(b, "Squeeze", "", gb_input(b, "x", 4, 1, t, 1, c->channels),
                               gb_ints(b, 2)),
                            "0,2,1");
    default: return gb_input(b, "x", 3, 1, c->channels, t);
    }
}

static uint32_t form_output(struct gb *b, const struct chain *c, uint32_t x)
{
    switch (c->form) {
    case 1: return gb_transpose(b, GB(b, "Squeeze", "", x, gb_ints(b, 0)), "1,0");
    case 2: return GB(b, "Squeeze", "", x, gb_ints(b, 0));
    case 3: return gb_transpose(b, GB(b, "Unsqueeze", "", x, gb_ints(b, 0)), "0,3,1,2");
    default: return x;
    }
}

void chain_recipe(struct gb *b, const void *ctx)
{
    const struct chain *c = ctx;
    struct stage s = { form_input(b, c), c->channels };
    for (unsigned i = 0; i < c->n; i++) {
        c->steps[i].kind->emit(b, &s, c->steps[i].v);
        if (c->taps >> i & 1 && i + 1 < c->n)
            gb_output(b, s.wire);
    }
    gb_output(b, form_output(b, c, s.wire));
}

bool chain_attends(const struct chain *c)
{
    static const char *const names[] = { "attend", "masked", "distances" };
    bool any = false;
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
            any |= !strcmp(c->steps[i].kind->name, names[k]);
    return any;
}
