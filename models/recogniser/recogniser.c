/* SPDX-License-Identifier: MIT */
#include "models/recogniser/recogniser.h"
#include "models/recogniser/internal.h"
#include "models/recogniser/moonshine.h"
#include "models/tokens.h"

#include <string.h>

#define CONF_BYTES_MAX 65536
#define TOKENS_BYTES_MAX ((uint64_t) 4 << 20)
#define TOKENS_FILE "tokens.txt"
#define SAMPLE_RATE 16000

static bool is_named(const struct recogniser *r, const char *name)
{
    for (size_t k = 0; k < r->n_names; k++)
        if (!strcmp(r->names[k], name))
            return true;
    return false;
}

static bool has_network(const struct recogniser *r)
{
    for (size_t k = 0; k < r->n_names; k++) {
        size_t n = strlen(r->names[k]);
        if (n > 5 && !strcmp(r->names[k] + n - 5, ".onnx"))
            return true;
    }
    return false;
}

/* ---- tokens ---- */

static bool is_mark(const char *name)
{
    return !strncmp(name, "\xe2\x96\x81", 3) || !strcmp(name, "|") || !strcmp(name, "<space>") ||
        !strcmp(name, " ");
}

/* Every score has a name; of names beyond, those of the recipe's own symbols (#0, #1) are none of
 * the network's. */
static rill_status tokens_fit(struct recogniser *r, const struct tokens *t)
{
    uint32_t last = t->n;
    while (last > r->n_tokens && t->list[last - 1].name && t->list[last - 1].name[0] == '#')
        last--;
    for (uint32_t i = 0; i < t->n; i++)
        r->has_marks |= t->list[i].name && is_mark(t->list[i].name);
    if (last == r->n_tokens)
        return RILL_OK;
    const char *giver = r->is_ctc ? r->net->name : r->file[ROLE_JOINER].name;
    if (last > r->n_tokens)
        return err_set(r->err, RILL_INVALID,
                       "%s names %u tokens, and %.160s gives %u scores: they are not of one model",
                       r->tokens_name, last, giver, r->n_tokens);
    return err_set(r->err, RILL_INVALID,
                   "%s names %u tokens, and %.160s gives %u scores: token %u has no name, or they "
                   "are not of one model",
                   r->tokens_name, last, giver, r->n_tokens, last);
}

/* Publishers number each token, so a first line without a number is of another form. */
static rill_status tokens_form(const struct recogniser *r, const char *text)
{
    unsigned line = 1;
    for (; *text == '\n' || *text == '\r'; text++)
        line += *text == '\n';
    size_t n = strcspn(text, "\r\n"), end = n, from;
    while (end && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    for (from = end; from && text[from - 1] >= '0' && text[from - 1] <= '9'; from--)
        ;
    if (!n || (from < end && (!from || text[from - 1] == ' ' || text[from - 1] == '\t')))
        return RILL_OK;
    return err_set(r->err, RILL_MALFORMED,
                   "%s, line %u: '%.*s'; expected TOKEN NUMBER in each line, as '<blk> 0'",
                   r->tokens_name, line, (int) (end < 60 ? end : 60), text);
}

static rill_status tokens_check(struct recogniser *r)
{
    const uint8_t *text;
    size_t n;
    struct tokens t;
    TRY(folder_peek(r->folder, r->tokens_name, r->arena, TOKENS_BYTES_MAX, &text, &n, r->err));
    if (strlen((const char *) text) != n)
        return err_set(r->err, RILL_MALFORMED, "%s: a zero byte in a file of tokens",
                       r->tokens_name);
    TRY(tokens_form(r, (const char *) text));
    const rill_sink_opts o = { .tokens = (const char *) text };
    rill_status s = tokens_from_opts(&t, r->arena, &o, "the output", 0, r->err);
    return s == RILL_OK ? tokens_fit(r, &t) : err_prefix(r->err, s, "%s", r->tokens_name);
}

/* ---- the folder ---- */

static rill_status own_conf(struct recogniser *r, const char **ret)
{
    const uint8_t *text = (const uint8_t *) "";
    size_t n = 0;
    model_conf_default(&r->conf);
    if (is_named(r, "model.conf")) {
        TRY(folder_peek(r->folder, "model.conf", r->arena, CONF_BYTES_MAX, &text, &n, r->err));
        TRY(model_conf_parse(&r->conf, r->arena, "model.conf", (const char *) text, n, r->err));
    }
    *ret = (const char *) text;
    if (r->conf.info.sample_rate && r->conf.info.sample_rate != SAMPLE_RATE)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "model.conf: sample_rate is %u; features of recognisers are those of %d "
                       "samples a second (sound of other rates is resampled)",
                       r->conf.info.sample_rate, SAMPLE_RATE);
    r->has_pieces = is_named(r, "bpe.vocab");
    r->tokens_name = r->conf.recogniser.tokens ? r->conf.recogniser.tokens : TOKENS_FILE;
    return RILL_OK;
}

/* tokens: NULL where the folder's file is what it should be. */
static rill_status texts_put(struct recogniser *r, const char *own, const char *graph,
                             const char *conf, const char *tokens)
{
    uint32_t n = 0, at = 0;
    const struct folder_file *old = r->folder->built_in;
    while (old && old[n].name)
        n++;
    struct folder_file *list = arena_array(r->arena, struct folder_file, n + 4u);
    const char *whole = conf ? arena_printf(r->arena, "%s" CONF_OWN "\n%s", conf, own) : NULL;
    if (!list || !graph || !whole)
        return err_set(r->err, RILL_NOMEM, "out of memory");
    list[at++] = (struct folder_file) { "model.conf", (const uint8_t *) whole, strlen(whole) };
    list[at++] = (struct folder_file) { "graph.nnef", (const uint8_t *) graph, strlen(graph) };
    if (tokens)
        list[at++] =
            (struct folder_file) { MOONSHINE_TOKENS, (const uint8_t *) tokens, strlen(tokens) };
    for (uint32_t i = 0; i < n; i++)
        list[at++] = old[i];
    r->folder->built_in = list;
    return RILL_OK;
}

static rill_status read(struct recogniser *r)
{
    const char *own, *graph, *conf, *tokens;
    TRY(own_conf(r, &own));
    if (moonshine_is(r)) {
        TRY(moonshine_read(r, &graph, &conf, &tokens));
        return texts_put(r, own, graph, conf, tokens);
    }
    if (!is_named(r, r->tokens_name))
        return err_set(r->err, RILL_IO,
                       "%s is missing: expected encoder*.onnx, decoder*.onnx, joiner*.onnx (or "
                       "ctc*.onnx, model*.onnx) and tokens.txt",
                       r->tokens_name);
    TRY(recogniser_files(r));
    TRY(recogniser_kind_find(r));
    TRY(tokens_check(r));
    return texts_put(r, own, recogniser_graph(r), recogniser_conf(r), NULL);
}

rill_status recogniser_folder(struct folder *f, struct arena *a, rill_error *reterr)
{
    struct recogniser r = { .folder = f, .arena = a, .err = reterr };
    if (folder_has(f, "graph.nnef"))
        return RILL_OK;
    TRY(folder_list(f, a, &r.names, &r.n_names, reterr));
    if (!has_network(&r) && !moonshine_is(&r))
        return RILL_OK;
    rill_status s = read(&r);
    return s == RILL_OK ? s : err_prefix(reterr, s, "there is no graph.nnef; as a recogniser");
}
