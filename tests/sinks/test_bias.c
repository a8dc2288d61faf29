/* SPDX-License-Identifier: MIT */
/* Files that bias a search, n-grams and phrases: counts that lie, lines at their limits. */
#include "sinks/hotwords.h"
#include "sinks/ngram.h"
#include "tests/sinks/sinks_test.h"

#include <math.h>
#include <time.h>

#define MARK "\xe2\x96\x81"
#define LINE_BYTES 1024

struct biased {
    struct arena arena;
    struct tokens tokens;
    rill_error err;
};

static void biased_make(struct biased *b, const char *words)
{
    *b = (struct biased) { 0 };
    rill_sink_opts o = { .words = words };
    CHECK(tokens_from_opts(&b->tokens, &b->arena, &o, "out", 0, &b->err) == RILL_OK, "%s",
          b->err.text);
}

/* ---- n-grams ---- */

#define GRAMS "\n\\1-grams:\n-1 <s>\n-1 a\n-2 b\n\n\\end\\\n"

static rill_status ngram_of(struct biased *b, struct ngram *g, const char *text)
{
    rill_sink_opts o = { .lm = text };
    b->err = (rill_error) { 0 };
    return ngram_make(g, &b->arena, &b->tokens, &o, &b->err);
}

static void ngram_refused(struct biased *b, const char *text, rill_status want, const char *words)
{
    struct ngram g;
    rill_status s = ngram_of(b, &g, text);
    CHECK(s == want && strstr(b->err.text, words), "%.40s: status %d, '%s' has '%s'", text, s,
          b->err.text, words);
}

static void counts_are_checked(void)
{
    struct biased b;
    struct ngram g;
    biased_make(&b, "<blk>,a,b");
    const char *no_number = "lm, line 2: expected 'ngram N=COUNT', COUNT a whole number";
    ngram_refused(&b, "\\data\\\nngram 1=-1\n" GRAMS, RILL_MALFORMED, no_number);
    ngram_refused(&b, "\\data\\\nngram 1=\n3\n" GRAMS, RILL_MALFORMED, no_number);
    const char *more = "lm, line 2: more than 2^26 n-grams";
    ngram_refused(&b, "\\data\\\nngram 1=18446744073709551615\n" GRAMS, RILL_LIMIT, more);
    ngram_refused(&b, "\\data\\\nngram 1=99999999999999999999\n" GRAMS, RILL_LIMIT, more);
    ngram_refused(&b, "\\data\\\nngram 1=3\nngram 2=67108863\n" GRAMS, RILL_LIMIT,
                  "lm, line 3: more than 2^26 n-grams");
    ngram_refused(&b, "\\data\\\nngram 1=2\n" GRAMS, RILL_MALFORMED,
                  "lm, line 7: more n-grams than \\data\\ says");
    ngram_refused(&b, "\\data\\\nngram 1=1\n\n\\1-grams:\n-1 a \f\n-2\n\\end\\\n", RILL_MALFORMED,
                  "lm, line 5: expected a weight behind the words");
    ngram_refused(&b, "\\data\\\nngram 1=1\n\n\\1-grams:\n-1 \033[2J\n\\end\\\n", RILL_MALFORMED,
                  "lm, line 5: not text in UTF-8");
    CHECK(ngram_of(&b, &g, "\\data\\\nngram 1= 3\n" GRAMS) == RILL_OK && g.n == 4, "%s",
          b.err.text);
    arena_drop(&b.arena);
}

/* A number is a number, and memory is taken for what the text has room for. */
static void numbers_are_strict(void)
{
    struct biased b;
    biased_make(&b, "<blk>,a,b");
    size_t before = b.arena.used_bytes;
    const char *order = "lm, line 2: expected 'ngram N=COUNT', N a number of 1 to 16",
               *head = "expected \\N-grams: of 1 to 16 words";
    ngram_refused(&b, "\\data\\\nngram x=3\n" GRAMS, RILL_MALFORMED, order);
    ngram_refused(&b, "\\data\\\nngram 4294967297=3\n" GRAMS, RILL_MALFORMED, order);
    ngram_refused(&b, "\\data\\\nngram 1=3 or so\n" GRAMS, RILL_MALFORMED,
                  "lm, line 2: expected 'ngram N=COUNT', COUNT a whole number");
    ngram_refused(&b, "\\data\\\nngram 1=1\n\n\\4294967297-grams:\n-1 a\n\\end\\\n", RILL_MALFORMED,
                  head);
    ngram_refused(&b, "\\data\\\nngram 1=1\n\n\\1-gramsx\n-1 a\n\\end\\\n", RILL_MALFORMED, head);
    ngram_refused(
        &b, "\\data\\\nngram 1=67108863\n" GRAMS, RILL_MALFORMED,
        "\\data\\ says that 67108863 n-grams follow, but 34 bytes do, which hold 9 at most");
    CHECK(b.arena.used_bytes < before + 65536, "%zu bytes", b.arena.used_bytes - before);
    arena_drop(&b.arena);
}

static void counts_end_at_grams(void)
{
    struct biased b;
    struct ngram g;
    biased_make(&b, "<blk>,a,b");
    rill_status s = ngram_of(&b, &g, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n\\end\\\n");
    CHECK(s == RILL_OK && g.n == 2, "no empty line: %s", b.err.text);
    arena_drop(&b.arena);
}

/* ---- phrases ---- */

static uint32_t depth_of(const struct hotwords *h)
{
    uint32_t node = h->nodes[HOTWORDS_ROOT].first, depth = 0;
    for (; node; node = h->nodes[node].n_children ? h->nodes[node].first : 0)
        depth++;
    return depth;
}

/* The mark of a word may be a token by itself: one more than the line has bytes. */
static void longest_line(void)
{
    struct biased b;
    struct hotwords h;
    char line[LINE_BYTES + 2], words[512] = "<blk>";
    for (int i = 0; i < 40; i++) /* the last token is to have a number that is no length */
        snprintf(words + strlen(words), 16, ",x%d", i);
    strcat(words, ",b," MARK);
    biased_make(&b, words);
    rill_sink_opts o = { .hotwords = line, .hotwords_score = 1 };
    memset(line, 'b', sizeof line);
    line[LINE_BYTES] = 0;
    rill_status s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    CHECK(s == RILL_OK && depth_of(&h) == LINE_BYTES + 1, "%u tokens; %s", depth_of(&h),
          b.err.text);
    for (int i = 1; i < LINE_BYTES; i += 2)
        line[i] = ' ';
    s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    CHECK(s == RILL_OK && depth_of(&h) == LINE_BYTES, "%u tokens; %s", depth_of(&h), b.err.text);
    memset(line, 'b', sizeof line);
    line[LINE_BYTES + 1] = 0;
    s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    CHECK(s == RILL_LIMIT && strstr(b.err.text, "line 1: more than 1024 bytes"), "%s", b.err.text);
    arena_drop(&b.arena);
}

static void piece_has_its_score(void)
{
    struct biased b;
    struct hotwords h;
    biased_make(&b, "<blk>,a,b");
    rill_sink_opts o = { .hotwords = "ab", .pieces = "a -1\nb \n-3\n" };
    rill_status s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    CHECK(s == RILL_MALFORMED && strstr(b.err.text, "pieces, line 2: expected PIECE SCORE"), "%s",
          b.err.text);
    arena_drop(&b.arena);
}

/* What cannot be written is named in the message, which people's terminals show. */
static void phrases_are_text(void)
{
    static const char *const phrases[] = { "ab\nb \xff\xfe", "ab\n\033[2J" };
    struct biased b;
    struct hotwords h;
    biased_make(&b, "<blk>,a,b");
    for (int i = 0; i < 2; i++) {
        rill_sink_opts o = { .hotwords = phrases[i] };
        rill_status s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
        CHECK(s == RILL_MALFORMED && !strcmp(b.err.text, "hotwords, line 2: not text in UTF-8"),
              "%s", b.err.text);
    }
    rill_sink_opts o = { .hotwords = "\xe5\xb0\x91" };
    rill_status s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    CHECK(s == RILL_INVALID && strstr(b.err.text, "line 1: '\xe5\xb0\x91' cannot be written"), "%s",
          b.err.text);
    arena_drop(&b.arena);
}

/* The loop of a daemon cuts what a client sends: no word is held against all tokens. */
static void many_tokens_cost_little(void)
{
    enum { N = 30000 };
    struct biased b = { 0 };
    struct hotwords h;
    char *names = malloc(N * 16), text[8 * LINE_BYTES + 1], *at = names;
    at += sprintf(at, "<blk> 0\nb 1\n");
    for (int i = 2; i < N; i++)
        at += sprintf(at, "b%d %d\n", i, i);
    rill_sink_opts o = { .tokens = names, .hotwords = text, .hotwords_score = 1 };
    rill_status s = tokens_from_opts(&b.tokens, &b.arena, &o, "out", N, &b.err);
    CHECK(s == RILL_OK && tokens_find(&b.tokens, "b29999") == 29999 &&
              tokens_find(&b.tokens, "b1") < 0 && tokens_find(&b.tokens, "") < 0,
          "%s", b.err.text);
    memset(text, 'b', sizeof text);
    for (int i = 1; i <= 8; i++)
        text[i * LINE_BYTES - 1] = '\n';
    text[8 * LINE_BYTES] = 0;
    clock_t began = clock();
    s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    double seconds = (double) (clock() - began) / CLOCKS_PER_SEC;
    CHECK(s == RILL_OK && depth_of(&h) == LINE_BYTES - 1, "%u tokens; %s", depth_of(&h),
          b.err.text);
    CHECK(seconds < 0.5, "%.3f s", seconds);
    arena_drop(&b.arena);
    free(names);
}

/* A step among thousands of phrases takes no longer than among ten. */
static void many_phrases_cost_little(void)
{
    enum { N = 30000, STEPS = 1000000 };
    struct biased b = { 0 };
    struct hotwords h;
    char *names = malloc(N * 16), *text = malloc(N * 16), *at = names, *line = text;
    at += sprintf(at, "<blk> 0\n");
    for (int i = 1; i < N; i++)
        at += sprintf(at, "w%dz %d\n", i, i);
    for (int i = N - 1; i > 0; i -= 2)
        line += sprintf(line, "w%dz\n", i);
    rill_sink_opts o = { .tokens = names, .hotwords = text, .hotwords_score = 1 };
    CHECK(tokens_from_opts(&b.tokens, &b.arena, &o, "out", N, &b.err) == RILL_OK, "%s", b.err.text);
    clock_t began = clock();
    rill_status s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    uint32_t state = HOTWORDS_ROOT, heard = 0;
    for (uint32_t k = 0; s == RILL_OK && k < STEPS; k++)
        heard += hotwords_step(&h, k % N, &state) > 0;
    double seconds = (double) (clock() - began) / CLOCKS_PER_SEC;
    CHECK(s == RILL_OK && h.n == N / 2 + 1, "%u nodes; %s", h.n, b.err.text);
    CHECK(heard == (STEPS / N) * (N / 2) + STEPS % N / 2, "%u", heard);
    CHECK(seconds < 1, "%.3f s", seconds);
    arena_drop(&b.arena);
    free(names);
    free(text);
}

/* What a phrase had is taken back, also where another one makes its beginning worth more. */
static void shared_beginnings_add_up(void)
{
    struct biased b;
    struct hotwords h;
    biased_make(&b, "<blk>,a,b,c,d");
    rill_sink_opts o = { .hotwords = "abc :1\nad :3\nbd :-2\n" };
    CHECK(hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err) == RILL_OK, "%s", b.err.text);
    uint32_t state = HOTWORDS_ROOT;
    float a = hotwords_step(&h, 1, &state), ab = hotwords_step(&h, 2, &state),
          back = hotwords_step(&h, 1, &state);
    CHECK(a == 3 && ab == 1 && back == -1, "%g %g %g", (double) a, (double) ab, (double) back);
    CHECK(hotwords_step(&h, 4, &state) == 3 && state == HOTWORDS_ROOT, "a whole phrase");
    CHECK(hotwords_step(&h, 2, &state) == -2 && hotwords_step(&h, 3, &state) == 2,
          "a worth below 0");
    arena_drop(&b.arena);
}

/* Sums of scores stay numbers. */
static void scores_are_finite(void)
{
    struct biased b;
    struct hotwords h;
    struct ngram g;
    biased_make(&b, "<blk>,a,b");
    rill_sink_opts o = { .hotwords = "ab :1e38" };
    rill_status s = hotwords_make(&h, &b.arena, &b.tokens, &o, &b.err);
    CHECK(s == RILL_MALFORMED &&
              strstr(b.err.text, "line 1: expected a number after ':', of -1000"),
          "%s", b.err.text);
    const char *logarithm = "lm, line 4: expected a logarithm";
    ngram_refused(&b, "\\data\\\nngram 1=1\n\\1-grams:\ninf a\n\\end\\\n", RILL_MALFORMED,
                  logarithm);
    ngram_refused(&b, "\\data\\\nngram 1=1\n\\1-grams:\n3e38 a\n\\end\\\n", RILL_MALFORMED,
                  logarithm);
    ngram_refused(&b, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a inf\n\\end\\\n", RILL_MALFORMED,
                  "lm, line 4: expected a weight");
    s = ngram_of(&b, &g, "\\data\\\nngram 1=1\n\\1-grams:\n-inf a -inf\n\\end\\\n");
    CHECK(s == RILL_OK && isfinite(g.nodes[1].log_prob) && isfinite(g.nodes[1].backoff), "%s",
          b.err.text);
    arena_drop(&b.arena);
}

int main(void)
{
    phrases_are_text();
    many_tokens_cost_little();
    many_phrases_cost_little();
    shared_beginnings_add_up();
    scores_are_finite();
    counts_are_checked();
    numbers_are_strict();
    counts_end_at_grams();
    longest_line();
    piece_has_its_score();
    return check_done();
}
