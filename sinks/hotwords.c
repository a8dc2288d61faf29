/* SPDX-License-Identifier: MIT */
#include "sinks/hotwords.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MARK "\xe2\x96\x81" /* U+2581 */
#define NODES_MAX 262144
#define LINE_BYTES_MAX 1024
#define SCORE_MAX 1000

struct phrase {
    const uint32_t *tokens;
    uint32_t n, line;
    float score; /* of each token */
};

struct making {
    struct hotwords *g;
    struct arena *arena;
    const struct tokens *tokens;
    float *piece_score; /* of each token */
    bool has_marks;
    uint32_t line;
    rill_error *err;
    /* A token has a byte of the line or more, but for the mark of a word, for which there is the
     * blank before it or, of the first word, one more. */
    uint32_t phrase[LINE_BYTES_MAX + 1], n_phrase;
    struct phrase *phrases;
    uint32_t n_phrases, room_phrases;
    struct span *spans; /* of nodes */
    uint32_t room_spans;
};

static rill_status no_memory(const struct making *m)
{
    return err_set(m->err, RILL_NOMEM, "out of memory for hotwords");
}

/* ---- tokens of a phrase ---- */

/* What makes one way of cutting a word better than another: scores of a vocabulary file, "PIECE
 * SCORE" a line, or as few tokens as possible. */
static rill_status pieces_read(struct making *m, const char *text)
{
    m->piece_score = arena_array(m->arena, float, m->tokens->n);
    if (!m->piece_score)
        return no_memory(m);
    for (uint32_t i = 0; i < m->tokens->n; i++) {
        m->piece_score[i] = text ? -1e4f : -1;
        m->has_marks |= !strncmp(m->tokens->list[i].name, WORD_MARK, 3);
    }
    for (uint32_t line = 1; text && *text; line++) {
        size_t n = strcspn(text, "\n"), name_n = strcspn(text, "\t \n");
        char name[TOKEN_BYTES_MAX + 1] = "", *end;
        memcpy(name, text, name_n <= TOKEN_BYTES_MAX ? name_n : 0);
        float score = strtof(text + name_n, &end);
        int64_t token = *name ? tokens_find(m->tokens, name) : -1;
        if (name_n == n || end == text + name_n || end > text + n || !isfinite(score))
            return err_set(m->err, RILL_MALFORMED, "pieces, line %u: expected PIECE SCORE", line);
        if (token >= 0)
            m->piece_score[token] = score;
        text += n + (text[n] == '\n');
    }
    return RILL_OK;
}

struct cut {
    float score;
    uint32_t from, token;
};

/* The best ways to each place of a word; those that cannot be reached have -INFINITY. */
static void cuts_find(const struct making *m, const char *word, size_t n, struct cut *cuts)
{
    const size_t longest = m->tokens->longest_name_bytes;
    for (size_t i = 0; i <= n; i++)
        cuts[i] = (struct cut) { i ? -INFINITY : 0, 0, 0 };
    for (size_t i = 0; i < n; i++)
        for (size_t k = 1; isfinite(cuts[i].score) && k <= longest && k <= n - i; k++) {
            int64_t token = tokens_find_bytes(m->tokens, word + i, k);
            if (token < 0 || m->tokens->list[token].is_silent)
                continue;
            float score = cuts[i].score + m->piece_score[token];
            if (score > cuts[i + k].score)
                cuts[i + k] = (struct cut) { score, (uint32_t) i, (uint32_t) token };
        }
}

static rill_status word_cut(struct making *m, const char *word, size_t n)
{
    struct cut cuts[LINE_BYTES_MAX + 4];
    char marked[LINE_BYTES_MAX + 4];
    bool mark = m->has_marks && strncmp(word, WORD_MARK, 3) != 0;
    size_t at = mark ? 3 : 0;
    memcpy(marked, WORD_MARK, at);
    memcpy(marked + at, word, n);
    at += n;
    cuts_find(m, marked, at, cuts);
    if (!isfinite(cuts[at].score))
        return err_set(m->err, RILL_INVALID,
                       "hotwords, line %u: '%.*s' cannot be written in the tokens of this model",
                       m->line, (int) (n < 60 ? n : 60), word);
    uint32_t before = m->n_phrase, count = 0;
    for (size_t i = at; i; i = cuts[i].from)
        count++;
    m->n_phrase += count;
    for (size_t i = at; i; i = cuts[i].from)
        m->phrase[before + --count] = cuts[i].token;
    return RILL_OK;
}

/* Whether a word is a token by its own name where a line is one of tokens. */
static bool word_is_token(struct making *m, const char *word, size_t n)
{
    char name[TOKEN_BYTES_MAX + 1] = "";
    memcpy(name, word, n <= TOKEN_BYTES_MAX ? n : 0);
    int64_t token = *name ? tokens_find(m->tokens, name) : -1;
    if (token >= 0)
        m->phrase[m->n_phrase++] = (uint32_t) token;
    return token >= 0;
}

static rill_status phrase_read(struct making *m, const char *line, size_t n, float *score)
{
    bool of_tokens = n >= 3 && !strncmp(line, WORD_MARK, 3);
    m->n_phrase = 0;
    for (size_t at = 0, k; at < n; at += k) {
        k = strspn(line + at, " \t\r");
        if (k)
            continue;
        k = strcspn(line + at, " \t\r\n");
        k = k < n - at ? k : n - at;
        if (line[at] == ':') {
            char *end;
            *score = strtof(line + at + 1, &end);
            if (end != line + at + k || !(fabsf(*score) <= SCORE_MAX))
                return err_set(m->err, RILL_MALFORMED,
                               "hotwords, line %u: expected a number after ':', of -%d to %d",
                               m->line, SCORE_MAX, SCORE_MAX);
        } else if (!tokens_text_is_plain(line + at, k)) {
            return err_set(m->err, RILL_MALFORMED, "hotwords, line %u: not text in UTF-8", m->line);
        } else if (!of_tokens || !word_is_token(m, line + at, k)) {
            TRY(word_cut(m, line + at, k));
        }
    }
    return RILL_OK;
}

/* ---- the automaton ---- */

/* Children lie side by side by their tokens: a step of the real-time path halves them. 0: none. */
static uint32_t child_of(const struct hotwords *g, uint32_t node, uint32_t token)
{
    uint32_t at = g->nodes[node].first, n = g->nodes[node].n_children;
    while (n > 1) {
        uint32_t half = n / 2;
        at += g->nodes[at + half].token <= token ? half : 0;
        n -= half;
    }
    return n && g->nodes[at].token == token ? at : 0;
}

static rill_status phrase_keep(struct making *m, float score)
{
    struct phrase *more =
        arena_grow(m->arena, m->phrases, m->n_phrases, &m->room_phrases, sizeof *more);
    if (!more)
        return no_memory(m);
    m->phrases = more;
    more[m->n_phrases] = (struct phrase) { .tokens = arena_copy(m->arena, m->phrase,
                                                                m->n_phrase * sizeof *m->phrase),
                                           .n = m->n_phrase,
                                           .score = score,
                                           .line = m->line };
    return more[m->n_phrases++].tokens ? RILL_OK : no_memory(m);
}

static int phrases_order(const void *a, const void *b)
{
    const struct phrase *x = a, *y = b;
    for (uint32_t i = 0; i < x->n && i < y->n; i++)
        if (x->tokens[i] != y->tokens[i])
            return x->tokens[i] < y->tokens[i] ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

/* The phrases that begin as a node does; they stand side by side. */
struct span {
    uint32_t from, to, depth;
};

static rill_status node_make(struct making *m, struct hotword_node node, struct span span)
{
    struct hotwords *g = m->g;
    if (g->n == NODES_MAX)
        return err_set(m->err, RILL_LIMIT, "hotwords, line %u: more than %d tokens in all",
                       m->phrases[span.from].line, NODES_MAX);
    uint32_t room = m->room_spans;
    struct hotword_node *nodes = arena_grow(m->arena, g->nodes, g->n, &g->room, sizeof *nodes);
    struct span *spans = arena_grow(m->arena, m->spans, g->n, &room, sizeof *spans);
    if (!nodes || !spans)
        return no_memory(m);
    g->nodes = nodes;
    m->spans = spans;
    m->room_spans = room;
    nodes[g->n] = node;
    spans[g->n++] = span;
    return RILL_OK;
}

/* Of a token that several phrases share the greatest worth counts. */
static rill_status children_make(struct making *m, uint32_t node)
{
    const struct span own = m->spans[node];
    uint32_t at = own.from, end;
    while (at < own.to && m->phrases[at].n == own.depth)
        at++;
    m->g->nodes[node].first = m->g->n;
    for (; at < own.to; at = end) {
        struct hotword_node child = { .token = m->phrases[at].tokens[own.depth],
                                      .step = m->phrases[at].score };
        for (end = at; end < own.to && m->phrases[end].tokens[own.depth] == child.token; end++) {
            child.step = fmaxf(child.step, m->phrases[end].score);
            child.ends |= m->phrases[end].n == own.depth + 1;
        }
        child.sum = m->g->nodes[node].sum + child.step;
        TRY(node_make(m, child, (struct span) { at, end, own.depth + 1 }));
        m->g->nodes[node].n_children++;
    }
    return RILL_OK;
}

/* The longest other beginnings of the node's children: those of shorter ones are known. */
static void fails_fill(struct hotwords *g, uint32_t node)
{
    const struct hotword_node *n = &g->nodes[node];
    for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
        uint32_t at = n->fail, found = 0;
        while (node && !(found = child_of(g, at, g->nodes[c].token)) && at)
            at = g->nodes[at].fail;
        g->nodes[c].fail = found;
        g->nodes[c].output = g->nodes[found].ends ? found : g->nodes[found].output;
    }
}

/* From the root on, level after level. */
static rill_status nodes_make(struct making *m)
{
    if (m->n_phrases == 0)
        return RILL_OK;
    qsort(m->phrases, m->n_phrases, sizeof *m->phrases, phrases_order);
    TRY(node_make(m, (struct hotword_node) { 0 }, (struct span) { 0, m->n_phrases, 0 }));
    for (uint32_t i = 0; i < m->g->n; i++)
        TRY(children_make(m, i));
    for (uint32_t i = 0; i < m->g->n; i++)
        fails_fill(m->g, i);
    return RILL_OK;
}

rill_status hotwords_make(struct hotwords *ret, struct arena *a, const struct tokens *tokens,
                          const rill_sink_opts *o, rill_error *err)
{
    struct making m = { .g = ret, .arena = a, .tokens = tokens, .err = err };
    const char *text = o->hotwords;
    *ret = (struct hotwords) { 0 };
    if (!text || !text[strspn(text, " \t\r\n")])
        return RILL_OK;
    TRY(pieces_read(&m, o->pieces));
    for (m.line = 1; *text; m.line++) {
        size_t n = strcspn(text, "\n");
        float score = o->hotwords_score;
        if (n > LINE_BYTES_MAX)
            return err_set(err, RILL_LIMIT, "hotwords, line %u: more than %d bytes", m.line,
                           LINE_BYTES_MAX);
        TRY(phrase_read(&m, text, n, &score));
        if (m.n_phrase)
            TRY(phrase_keep(&m, score));
        text += n + (text[n] == '\n');
    }
    return nodes_make(&m);
}

const struct hotword_node *hotwords_next(const struct hotwords *g, uint32_t state, uint32_t *ret_n)
{
    *ret_n = g->n ? g->nodes[state].n_children : 0;
    return g->n ? g->nodes + g->nodes[state].first : NULL;
}

float hotwords_step(const struct hotwords *g, uint32_t token, uint32_t *state)
{
    const struct hotword_node *from = &g->nodes[*state], *to;
    uint32_t next = child_of(g, *state, token), at = from->fail;
    float score;
    if (next) {
        to = &g->nodes[next];
        score = to->step;
    } else {
        while (!(next = child_of(g, at, token)) && at)
            at = g->nodes[at].fail;
        to = &g->nodes[next];
        score = to->sum - from->sum;
    }
    if (!to->ends && !to->output) {
        *state = next;
        return score;
    }
    /* A phrase is whole: what it was worth stays, and a new one may begin. */
    *state = HOTWORDS_ROOT;
    return to->ends ? score : score + g->nodes[to->output].sum - to->sum;
}
