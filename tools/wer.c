/* SPDX-License-Identifier: MIT */
#include "tools/wer.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* The character at s as a number, and how many bytes it has; a byte that begins none is one. */
static uint32_t char_at(const char *s, size_t *ret_n)
{
    const unsigned char *u = (const unsigned char *) s;
    size_t n = *u < 0xc0 ? 1 : *u < 0xe0 ? 2 : *u < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? *u : *u & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80) {
            *ret_n = 1;
            return *u;
        }
        c = c << 6 | (u[i] & 0x3fu);
    }
    *ret_n = n;
    return c;
}

static size_t char_put(char *to, uint32_t c, const char *from, size_t n)
{
    if (n == 2) { /* capitals become letters of as many bytes */
        to[0] = (char) (0xc0 | c >> 6);
        to[1] = (char) (0x80 | (c & 0x3f));
    } else {
        memcpy(to, from, n);
        if (n == 1)
            to[0] = (char) c;
    }
    return n;
}

/* Capitals of Latin, Greek and Cyrillic. */
static uint32_t char_lower(uint32_t c)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
        (c >= 0x391 && c <= 0x3a9) || (c >= 0x410 && c <= 0x42f))
        return c + 32;
    if (c >= 0x400 && c <= 0x40f)
        return c + 80;
    bool odd_pair =
        (c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177); /* capitals are even */
    bool even_pair = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e);
    return (odd_pair && !(c & 1)) || (even_pair && (c & 1)) ? c + 1 : c;
}

static bool is_blank(uint32_t c)
{
    return c <= ' ' || c == 0xa0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200b);
}

/* Signs and punctuation: of ASCII, Latin-1, the general block, CJK and the wide forms. */
static bool is_mark(uint32_t c)
{
    if (c < 0x80)
        return !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    return (c > 0xa0 && c < 0xc0 && c != 0xaa && c != 0xb5 && c != 0xba) || c == 0xd7 ||
        c == 0xf7 || (c >= 0x2010 && c <= 0x205e) || (c >= 0x3001 && c <= 0x3020) ||
        (c >= 0xff01 && c <= 0xff0f) || (c >= 0xff1a && c <= 0xff20);
}

static bool is_apostrophe(uint32_t c)
{
    return c == '\'' || c == 0x2019;
}

struct writing {
    struct wer_words *words;
    char *at;
    bool in_word, chars;
};

static void word_end(struct writing *w)
{
    if (w->in_word)
        *w->at++ = 0;
    w->in_word = false;
}

static void letter_put(struct writing *w, uint32_t c, const char *from, size_t n)
{
    if (!w->in_word)
        w->words->word[w->words->n++] = w->at;
    w->in_word = true;
    w->at += char_put(w->at, c, from, n);
    if (w->chars)
        word_end(w);
}

bool wer_words_make(struct wer_words *ret, const char *text, bool normal, bool chars)
{
    size_t bytes = strlen(text);
    *ret = (struct wer_words) { .text = malloc(2 * bytes + 1),
                                .word = calloc(bytes + 1, sizeof *ret->word) };
    struct writing w = { .words = ret, .at = ret->text, .chars = chars };
    if (!ret->text || !ret->word) {
        wer_words_drop(ret);
        return false;
    }
    for (size_t n; *text; text += n) {
        uint32_t c = char_at(text, &n), next;
        size_t next_n;
        bool within = false;
        if (normal && is_apostrophe(c) && w.in_word && text[n]) {
            next = char_at(text + n, &next_n);
            within = !is_blank(next) && !is_mark(next);
        }
        if (within)
            letter_put(&w, '\'', "'", 1);
        else if (is_blank(c) || (normal && is_mark(c)))
            word_end(&w);
        else
            letter_put(&w, normal ? char_lower(c) : c, text, n);
    }
    word_end(&w);
    return true;
}

void wer_words_drop(struct wer_words *w)
{
    free(w->text);
    free(w->word);
    *w = (struct wer_words) { 0 };
}

/* ---- changes ---- */

struct cell {
    uint32_t errors, insertions, deletions;
};

static bool is_better(struct cell a, struct cell b)
{
    return a.errors < b.errors ||
        (a.errors == b.errors && a.insertions + a.deletions < b.insertions + b.deletions);
}

static struct cell best_of(struct cell left, struct cell up, struct cell corner, bool same)
{
    struct cell best = corner;
    best.errors += !same;
    left.errors++;
    left.insertions++;
    up.errors++;
    up.deletions++;
    best = is_better(up, best) ? up : best;
    return is_better(left, best) ? left : best;
}

bool wer_compare(struct wer_count *ret, const struct wer_words *ref, const struct wer_words *hyp)
{
    struct cell *row = calloc(hyp->n + 1, sizeof *row);
    if (!row)
        return false;
    for (size_t j = 1; j <= hyp->n; j++)
        row[j] = (struct cell) { (uint32_t) j, (uint32_t) j, 0 };
    for (size_t i = 1; i <= ref->n; i++) {
        struct cell corner = row[0];
        row[0] = (struct cell) { (uint32_t) i, 0, (uint32_t) i };
        for (size_t j = 1; j <= hyp->n; j++) {
            struct cell up = row[j];
            row[j] = best_of(row[j - 1], up, corner, !strcmp(ref->word[i - 1], hyp->word[j - 1]));
            corner = up;
        }
    }
    struct cell end = row[hyp->n];
    *ret = (struct wer_count) { .words = ref->n,
                                .deletions = end.deletions,
                                .insertions = end.insertions,
                                .substitutions = end.errors - end.insertions - end.deletions };
    free(row);
    return true;
}

void wer_add(struct wer_count *to, const struct wer_count *more)
{
    to->words += more->words;
    to->deletions += more->deletions;
    to->substitutions += more->substitutions;
    to->insertions += more->insertions;
}

double wer_rate(const struct wer_count *c)
{
    uint64_t errors = c->deletions + c->substitutions + c->insertions;
    return errors ? (double) errors / (double) (c->words ? c->words : 1) : 0;
}
