/* SPDX-License-Identifier: MIT */
#include "sinks/ngram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ORDER_MAX 16
#define NODES_MAX ((uint64_t) 1 << 26)
#define GRAM_BYTES_MIN 4 /* a digit, a blank, a letter and the end of the line */
#define LOG_10 2.302585093f
#define LOGARITHM_MAX 1e6f /* beyond it sums say nothing; of -inf it is this much */

struct making {
    struct ngram *g;
    struct arena *arena;
    const struct tokens *tokens;
    const char *at; /* what is not read yet */
    uint32_t line;
    rill_error *err;
};

/* Numbers of words that are no tokens. */
#define WORD_BEGIN (UINT32_MAX - 1)
#define WORD_END (UINT32_MAX - 2)
#define WORD_UNKNOWN (UINT32_MAX - 3)
#define WORD_NONE UINT32_MAX

static rill_status wrong(const struct making *m, const char *what)
{
    return err_set(m->err, RILL_MALFORMED, "lm, line %u: %s", m->line, what);
}

/* ---- the table ---- */

/* An odd number that who wrote the file does not know, so that n-grams cannot be chosen to share
 * places (multiply-shift; Dietzfelbinger et al. 1997). */
static uint64_t multiplier_choose(void)
{
    uint64_t odd;
    if (getrandom(&odd, sizeof odd, GRND_NONBLOCK) != sizeof odd)
        odd = 0x9e3779b97f4a7c15u;
    return odd | 1;
}

static uint32_t place_of(const struct ngram *g, uint32_t parent, uint32_t token)
{
    uint64_t h = ((uint64_t) parent << 32 | token) * g->multiplier;
    return (uint32_t) (h >> (64 - g->bits));
}

/* The node, 0: there is none; *ret_place: where it is or would be. */
static uint32_t node_find(const struct ngram *g, uint32_t parent, uint32_t token,
                          uint32_t *ret_place)
{
    uint32_t at = place_of(g, parent, token), mask = ((uint32_t) 1 << g->bits) - 1;
    while (g->places[at] &&
           (g->nodes[g->places[at]].parent != parent || g->nodes[g->places[at]].token != token))
        at = (at + 1) & mask;
    *ret_place = at;
    return g->places[at];
}

static uint32_t child_of(const struct ngram *g, uint32_t parent, uint32_t token)
{
    uint32_t place;
    return node_find(g, parent, token, &place);
}

/* ---- lines ---- */

/* The next line without its end; NULL at the end of the text. */
static const char *line_next(struct making *m, size_t *ret_n)
{
    if (!*m->at)
        return NULL;
    const char *line = m->at;
    size_t n = strcspn(line, "\n");
    m->at += n + (line[n] == '\n');
    m->line++;
    while (n && strchr(" \t\r", line[n - 1]))
        n--;
    *ret_n = n;
    return line;
}

static bool line_is(const char *line, size_t n, const char *what)
{
    return n == strlen(what) && !strncmp(line, what, n);
}

static bool name_is(const char *name, const char *small, const char *large)
{
    return !strcmp(name, small) || !strcmp(name, large);
}

static uint32_t word_number(const struct making *m, const char *word, size_t n)
{
    char name[TOKEN_BYTES_MAX + 1] = "";
    if (n > TOKEN_BYTES_MAX)
        return WORD_NONE;
    memcpy(name, word, n);
    int64_t token = tokens_find(m->tokens, name);
    if (name_is(name, "<s>", "<S>"))
        return WORD_BEGIN;
    if (name_is(name, "</s>", "</S>"))
        return WORD_END;
    if (name_is(name, "<unk>", "<UNK>"))
        return WORD_UNKNOWN;
    return token < 0 ? WORD_NONE : (uint32_t) token;
}

/* ---- n-grams ---- */

static rill_status node_put(struct making *m, const uint32_t *word, int order, float log_prob,
                            float backoff)
{
    struct ngram *g = m->g;
    uint32_t parent = 0, place;
    for (int i = 0; i + 1 < order; i++)
        if (!(parent = child_of(g, parent, word[i])))
            return wrong(m, "an n-gram whose beginning is none");
    if (node_find(g, parent, word[order - 1], &place))
        return wrong(m, "this n-gram stands there already");
    if (g->n == g->room)
        return wrong(m, "more n-grams than \\data\\ says");
    uint32_t shorter = g->nodes[parent].shorter, last = word[order - 1];
    uint32_t found = parent ? child_of(g, shorter, last) : 0;
    while (parent && !found && shorter) {
        shorter = g->nodes[shorter].shorter;
        found = child_of(g, shorter, last);
    }
    g->nodes[g->n] = (struct ngram_node) { parent, last, found, log_prob, backoff };
    g->places[place] = g->n++;
    return RILL_OK;
}

static rill_status ngram_read(struct making *m, const char *line, size_t n, int order)
{
    char *end;
    uint32_t word[ORDER_MAX];
    float log_prob = strtof(line, &end), backoff = 0;
    const char *at = end, *stop = line + n;
    if (end == line || !(log_prob <= LOGARITHM_MAX))
        return wrong(m, "expected a logarithm, the words of an n-gram and a weight");
    for (int i = 0; i < order; i++) {
        at += strspn(at, " \t");
        size_t k = strcspn(at, " \t\r\n");
        if (at >= stop || !k)
            return wrong(m, "fewer words than the n-gram has");
        if (!tokens_text_is_plain(at, k))
            return wrong(m, "not text in UTF-8");
        word[i] = word_number(m, at, k);
        if (word[i] == WORD_NONE)
            return err_set(
                m->err, RILL_INVALID,
                "lm, line %u: '%.*s' is no token of this model; the n-grams are to be of "
                "tokens",
                m->line, (int) (k < 60 ? k : 60), at);
        at += k;
    }
    if (at < stop) {
        backoff = strtof(at, &end);
        if (end == at || end > stop || !(backoff <= LOGARITHM_MAX))
            return wrong(m, "expected a weight behind the words");
    }
    return node_put(m, word, order, fmaxf(log_prob, -LOGARITHM_MAX) * LOG_10,
                    fmaxf(backoff, -LOGARITHM_MAX) * LOG_10);
}

/* Digits at *at, which goes behind them; UINT64_MAX: there are none, or too large a number. */
static uint64_t number_read(const char **at)
{
    uint64_t n = 0;
    const char *from = *at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        n = n > NODES_MAX ? UINT64_MAX / 20 : 10 * n + (uint64_t) (**at - '0');
    return *at == from || n > NODES_MAX ? UINT64_MAX : n;
}

static void blanks_pass(const char **at)
{
    *at += strspn(*at, " \t");
}

/* Of "ngram 2=1234", n bytes. */
static rill_status count_read(const struct making *m, const char *line, size_t n, uint64_t *all)
{
    const char *at = line + 6;
    if (n < 6 || strncmp(line, "ngram ", 6) != 0)
        return wrong(m, "expected 'ngram N=COUNT'");
    blanks_pass(&at);
    uint64_t order = number_read(&at);
    blanks_pass(&at);
    if (order < 1 || order > ORDER_MAX || *at++ != '=')
        return wrong(m, "expected 'ngram N=COUNT', N a number of 1 to 16");
    blanks_pass(&at);
    bool has_count = *at >= '0' && *at <= '9';
    uint64_t count = number_read(&at);
    if (!has_count || (count != UINT64_MAX && at != line + n))
        return wrong(m, "expected 'ngram N=COUNT', COUNT a whole number");
    if (count > NODES_MAX - *all)
        return err_set(m->err, RILL_LIMIT, "lm, line %u: more than 2^26 n-grams", m->line);
    *all += count;
    return RILL_OK;
}

/* Of "\\2-grams:", n bytes; 0: it is none. */
static int order_read(const char *line, size_t n)
{
    const char *at = line + 1;
    uint64_t order = *line == '\\' ? number_read(&at) : 0;
    bool good =
        order >= 1 && order <= ORDER_MAX && line_is(at, n - (size_t) (at - line), "-grams:");
    return good ? (int) order : 0;
}

/* The rest of the file must be long enough for so many, so that it is no file of a few bytes that
 * memory for many is taken for. */
static rill_status room_check(const struct making *m, uint64_t n)
{
    uint64_t rest = strlen(m->at), most = rest / GRAM_BYTES_MIN + 1;
    return n <= most
        ? RILL_OK
        : err_set(m->err, RILL_MALFORMED,
                  "lm, line %u: \\data\\ says that %llu n-grams follow, but %llu bytes "
                  "do, which hold %llu at most",
                  m->line, (unsigned long long) n, (unsigned long long) rest,
                  (unsigned long long) most);
}

/* The lines of counts: room for all. What follows may follow at once, without an empty line. */
static rill_status counts_read(struct making *m)
{
    const char *line;
    size_t n;
    uint64_t all = 1;
    while ((line = line_next(m, &n)) && !line_is(line, n, "\\data\\"))
        ;
    if (!line)
        return wrong(m, "expected \\data\\, as in an ARPA file");
    while (*m->at != '\\' && (line = line_next(m, &n)) && n)
        TRY(count_read(m, line, n, &all));
    TRY(room_check(m, all - 1));
    struct ngram *g = m->g;
    g->multiplier = multiplier_choose();
    for (g->bits = 4; (uint64_t) 1 << g->bits < 2 * all; g->bits++)
        ;
    g->room = (uint32_t) all;
    g->nodes = arena_array(m->arena, struct ngram_node, g->room);
    g->places = arena_array(m->arena, uint32_t, (size_t) 1 << g->bits);
    g->n = 1;
    return g->nodes && g->places ? RILL_OK
                                 : err_set(m->err, RILL_NOMEM, "out of memory for n-grams");
}

rill_status ngram_make(struct ngram *ret, struct arena *a, const struct tokens *tokens,
                       const rill_sink_opts *o, rill_error *err)
{
    struct making m = { .g = ret, .arena = a, .tokens = tokens, .at = o->lm, .err = err };
    const char *line;
    size_t n;
    int order = 0;
    *ret = (struct ngram) { 0 };
    if (!o->lm || !*o->lm)
        return RILL_OK;
    TRY(counts_read(&m));
    while ((line = line_next(&m, &n)) && !line_is(line, n, "\\end\\")) {
        if (!n)
            continue;
        if (line[0] != '\\' && order) {
            TRY(ngram_read(&m, line, n, order));
            continue;
        }
        if (!(order = order_read(line, n)))
            return wrong(&m, "expected \\N-grams: of 1 to 16 words");
    }
    if (!line)
        return wrong(&m, "expected \\end\\: the file is cut off");
    uint32_t unknown = child_of(ret, 0, WORD_UNKNOWN);
    ret->begin = child_of(ret, 0, WORD_BEGIN);
    ret->unknown = unknown ? ret->nodes[unknown].log_prob : -20;
    return RILL_OK;
}

float ngram_step(const struct ngram *g, uint32_t token, uint32_t *state)
{
    uint32_t at = *state, next;
    float score = 0;
    while (!(next = child_of(g, at, token)) && at) {
        score += g->nodes[at].backoff;
        at = g->nodes[at].shorter;
    }
    *state = next;
    return score + (next ? g->nodes[next].log_prob : g->unknown);
}
