/* SPDX-License-Identifier: MIT */
#include "daemon/compute/event_parts.h"

#include <string.h>

/* ---- parts ---- */

/* Where word k of a text ends, if it begins at that byte or behind a space there; else 0. */
static size_t word_end(const rill_event *e, uint32_t k, size_t at)
{
    size_t n = k < e->n_words ? strlen(e->words[k].text) : 0;
    for (; n; at++) {
        if (!strncmp(e->text + at, e->words[k].text, n))
            return at + n;
        if (e->text[at] != ' ')
            break;
    }
    return 0;
}

/* Where a part of at most so many bytes ends: at a space where it can, else between characters. */
static size_t text_cut(const char *text, size_t from, size_t until, size_t most)
{
    size_t n = from + most;
    if (until - from <= most)
        return until;
    while (n > from && text[n] != ' ')
        n--;
    if (n > from)
        return n;
    for (n = from + most; n > from && (text[n] & 0xc0) == 0x80;)
        n--;
    return n > from ? n : from + most;
}

/* The end of as many words as there is room for; their number is added to *words. */
static size_t words_fit(const rill_event *e, const struct event_space *space, size_t from,
                        uint32_t *words)
{
    size_t end = from, overhead = 0, next;
    for (uint32_t n = 0; n < space->words && (next = word_end(e, *words, end)); n++, ++*words) {
        overhead += EVENT_WORD_OVERHEAD + strlen(e->words[*words].text);
        if (next - from + overhead > space->bytes)
            break;
        end = next;
    }
    return end;
}

bool event_next_part(const rill_event *e, const struct event_space *space,
                     struct event_cursor *cursor, struct event_part *ret)
{
    size_t from = cursor->bytes, end = from;
    uint32_t words = cursor->words;
    if (cursor->started && !e->text[from])
        return false;
    cursor->started = true;
    if (from >= cursor->text_only_end)
        end = words_fit(e, space, from, &words);
    *ret = (struct event_part) { .text = e->text + from,
                                 .pos = e->pos,
                                 .end_pos = e->end_pos,
                                 .words = e->words + cursor->words,
                                 .n_words = words - cursor->words };
    if (end == from) {
        if (from >= cursor->text_only_end && (cursor->text_only_end = word_end(e, words, from)))
            words++;
        if (from >= cursor->text_only_end)
            cursor->text_only_end = from + strlen(e->text + from);
        end = text_cut(e->text, from, cursor->text_only_end, space->bytes);
    }
    if (words) {
        ret->pos = e->words[ret->n_words ? cursor->words : words - 1].pos;
        ret->end_pos = e->words[words - 1].end_pos;
    }
    cursor->words = words;
    cursor->bytes = end + (e->text[end] == ' ');
    ret->n_bytes = end - from;
    return true;
}

void event_last_part(const rill_event *e, const struct event_space *space, struct event_part *ret)
{
    struct event_cursor cursor = { .started = false };
    size_t n = strlen(e->text);
    event_next_part(e, space, &cursor, ret);
    if (ret->n_bytes == n)
        return;
    const char *text = e->text + (n > space->bytes ? n - space->bytes : 0);
    while ((*text & 0xc0) == 0x80)
        text++;
    *ret = (struct event_part) {
        .text = text, .n_bytes = strlen(text), .pos = e->pos, .end_pos = e->end_pos
    };
}

/* ---- bytes ---- */

static size_t put(unsigned char *buf, size_t at, const void *from, size_t n)
{
    memcpy(buf + at, from, n);
    return at + n;
}

size_t event_write(unsigned char *buf, const rill_event *e, const struct event_part *part)
{
    struct event_header head = { .kind = e->kind,
                                 .rule = e->rule,
                                 .pos = e->pos,
                                 .end_pos = e->end_pos,
                                 .score = e->score,
                                 .stability = e->stability,
                                 .segment = e->segment,
                                 .n_words = part->n_words,
                                 .text_bytes = (uint32_t) part->n_bytes + 1 };
    size_t at = put(buf, put(buf, 0, &head, sizeof head), part->text, part->n_bytes);
    buf[at++] = 0;
    for (uint32_t i = 0; i < part->n_words; i++) {
        const rill_word *w = &part->words[i];
        struct event_word x = { w->pos, w->end_pos, w->confidence, (uint32_t) strlen(w->text) + 1 };
        at = put(buf, put(buf, at, &x, sizeof x), w->text, x.text_bytes);
    }
    return at;
}

void event_read(const unsigned char *bytes, size_t n, rill_event *ret, rill_word *words)
{
    struct event_header head;
    memcpy(&head, bytes, sizeof head);
    *ret = (rill_event) { .kind = head.kind,
                          .rule = head.rule,
                          .pos = head.pos,
                          .end_pos = head.end_pos,
                          .score = head.score,
                          .stability = head.stability,
                          .segment = head.segment,
                          .n_words = head.n_words,
                          .words = words,
                          .text = (const char *) bytes + sizeof head };
    size_t at = sizeof head + head.text_bytes;
    for (uint32_t i = 0; i < head.n_words && at < n; i++) {
        struct event_word w;
        memcpy(&w, bytes + at, sizeof w);
        at += sizeof w;
        words[i] = (rill_word) { .text = (const char *) bytes + at,
                                 .pos = w.pos,
                                 .end_pos = w.end_pos,
                                 .confidence = w.confidence };
        at += w.text_bytes;
    }
}
