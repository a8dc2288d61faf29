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
    rill_port ports[HEAR_PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    rill_sink_opts so = { .struct_bytes = sizeof so };
    rill_error err;
    unsigned n = rill_plan_ports(p, ports, HEAR_PORTS_MAX);
    fprintf(to, "no --model is named; heard by %s", h->info.name);
    for (unsigned i = 0; i < n && i < HEAR_PORTS_MAX; i++)
        if (ports[i].kind == RILL_PORT_CTC && rill_sink_defaults(&so, p, i, &err) == RILL_OK &&
            so.tokens)
            words_name(to, so.tokens);
    fputc('\n', to);
}

static void recogniser_name(FILE *to, const char *name, const struct model_conf *conf)
{
    bool words = false;
    for (unsigned i = 0; i < conf->n_ports; i++)
        words |= conf->ports[i].kind == RILL_PORT_CTC ||
            conf->ports[i].kind == RILL_PORT_TRANSDUCER ||
            conf->ports[i].kind == RILL_PORT_ATTENTION;
    if (words)
        fprintf(to, "  %-19s %s\n", name, conf->info.summary);
}

static bool is_builtin(const char *name)
{
    const char *b;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (!strcmp(b, name))
            return true;
    return false;
}

/* By what model.conf says: no network is opened. Names that are built in were told. */
static bool library_name(void *arg, const char *name, const char *path)
{
    struct arena a = { 0 };
    struct model_conf conf;
    rill_error err;
    if (!is_builtin(name) && library_conf_read(&conf, &a, path, &err) == RILL_OK &&
        library_is_whole(path, &conf))
        recogniser_name(arg, name, &conf);
    arena_drop(&a);
    return true;
}

void recognisers_name(FILE *to, const struct hear *taken)
{
    struct model_conf conf;
    struct arena a = { 0 };
    taken_name(to, taken);
    fprintf(to, "recognisers at hand, for --model:\n");
    for (unsigned i = 0; library_conf_builtin(&conf, &a, i); i++)
        recogniser_name(to, rill_model_builtin_name(i), &conf);
    arena_drop(&a);
    library_each(library_name, to);
    fflush(to);
}
