/* SPDX-License-Identifier: MIT */
#include "tools/recognisers.h"
#include "tools/library.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_NAMED_MAX 40

/* "TOKEN NUMBER" a line; what is never said begins with '<'. */
static void words_name(FILE *to, const char *tokens)
{
    unsigned n = 0;
    for (const char *l = tokens; *l; l += strcspn(l, "\n"), l += *l == '\n')
        n += *l != '<' && *l != '\n';
    if (n > WORDS_NAMED_MAX) {
        fprintf(to, ", which knows %u tokens", n);
        return;
    }
    fprintf(to, ", which knows nothing but:");
    for (const char *l = tokens; *l; l += strcspn(l, "\n"), l += *l == '\n')
        if (*l != '<' && *l != '\n')
            fprintf(to, " %.*s", (int) strcspn(l, " \n"), l);
}

static void taken_name(FILE *to, const struct hear *h)
{
    const rill_plan *p = h->n_words ? h->words[0] : h->parts[0].plan;
    rill_port ports[HEAR_PORTS_MAX];
    rill_sink_opts so;
    rill_error err;
    unsigned n = rill_plan_ports(p, ports, HEAR_PORTS_MAX);
    fprintf(to, "no --model is named; heard by %s", h->info.name);
    for (unsigned i = 0; i < n && i < HEAR_PORTS_MAX; i++)
        if (ports[i].kind == RILL_PORT_CTC &&
            rill_sink_defaults(&so, p, i, &err) == RILL_OK && so.tokens)
            words_name(to, so.tokens);
    fputc('\n', to);
}

static void recogniser_name(FILE *to, rill_model *m)
{
    rill_model_info info;
    rill_model_get_info(m, &info);
    if (!strcmp(info.task, "transcribe") || !strcmp(info.task, "asr"))
        fprintf(to, "  %-19s %s\n", info.name, info.summary);
}

/* What does not open is no recogniser. */
static bool library_name(void *arg, const char *name, const char *path)
{
    rill_model *m;
    rill_error err;
    (void) name;
    if (rill_model_open(&m, path, &err) == RILL_OK) {
        recogniser_name(arg, m);
        rill_model_free(m);
    }
    return true;
}

void recognisers_name(FILE *to, const struct hear *taken)
{
    const char *name;
    rill_model *m;
    rill_error err;
    taken_name(to, taken);
    fprintf(to, "recognisers at hand, for --model:\n");
    for (unsigned i = 0; (name = rill_model_builtin_name(i)); i++)
        if (rill_model_builtin(&m, name, &err) == RILL_OK) {
            recogniser_name(to, m);
            rill_model_free(m);
        }
    library_each(library_name, to);
    fflush(to);
}
