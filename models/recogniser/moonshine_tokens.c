/* SPDX-License-Identifier: MIT */
/* tokenizer.bin: the bytes of each token behind their number, which is one byte below 128, or two,
 * the first with what is left of 128 and 128 more. */
#include "models/recogniser/moonshine.h"
#include "models/tokens.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES 16 /* beside the token */
#define WORD_MARK "\xe2\x96\x81"

static rill_status wrong(const struct recogniser *r, uint32_t token, const char *why)
{
    return err_set(r->err, RILL_MALFORMED, "tokenizer.bin: token %u %s", token, why);
}

/* The number of bytes of a token; false: the file ends in it. */
static bool length_read(const uint8_t **at, const uint8_t *end, size_t *ret)
{
    *ret = *(*at)++;
    if (*ret < 128)
        return true;
    if (*at == end)
        return false;
    *ret += (size_t) * (*at)++ * 128 - 128;
    return true;
}

/* Marks of the tokenizer's own are not text: <s>, <<ST_0>>, and tokens of no bytes. */
static bool is_silent(const uint8_t *s, size_t n)
{
    return !n || (n > 2 && s[0] == '<' && s[n - 1] == '>');
}

/* Bytes of a token that are no text by themselves come out as question marks, as in a text. */
static void text_write(char **to, const uint8_t *s, size_t n)
{
    const bool is_plain = tokens_text_is_plain((const char *) s, n);
    for (size_t i = 0; i < n; i++)
        *(*to)++ = is_plain || (s[i] >= 0x20 && s[i] < 0x80) ? (char) s[i] : '?';
}

static rill_status line_write(const struct recogniser *r, char **to, const uint8_t *s, size_t n,
                              uint32_t token)
{
    if (n > TOKEN_BYTES_MAX)
        return wrong(r, token, "is longer than 255 bytes");
    if (is_silent(s, n))
        *to += sprintf(*to, "<eps>");
    else if (n == 1 && !tokens_text_is_plain((const char *) s, 1))
        *to += sprintf(*to, "<0x%02X>", s[0]);
    else
        text_write(to, s, n);
    *to += sprintf(*to, " %u\n", token);
    return RILL_OK;
}

rill_status moonshine_tokens(const struct recogniser *r, const uint8_t *data, size_t n,
                             uint32_t count, const char **ret, bool *ret_marks)
{
    const uint8_t *at = data, *end = data + n;
    char *text = arena_alloc(r->arena, n + ((size_t) count + 1) * LINE_BYTES), *to = text;
    uint32_t k = 0;
    size_t bytes;
    if (!text)
        return err_set(r->err, RILL_NOMEM, "out of memory");
    for (; at < end && k < count; k++, at += bytes) {
        if (!length_read(&at, end, &bytes) || bytes > (size_t) (end - at))
            return wrong(r, k, "is cut off: the file ends in it");
        *ret_marks |= bytes >= 3 && !memcmp(at, WORD_MARK, 3);
        TRY(line_write(r, &to, at, bytes, k));
    }
    *to = '\0';
    *ret = text;
    if (k < count || at < end)
        return err_set(r->err, RILL_INVALID,
                       "tokenizer.bin has %s %u tokens, and " MOONSHINE_CONFIG
                       " says vocab_size %u: they are not of one model",
                       k < count ? "only" : "more than", k, count);
    return RILL_OK;
}
