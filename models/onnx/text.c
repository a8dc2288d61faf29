/* SPDX-License-Identifier: MIT */
#include "engine/base/utf8.h"
#include "models/onnx/internal.h"
#include "models/onnx/reader.h"

#include <string.h>

rill_status no_memory(const struct reader *r)
{
    return err_set(r->err, RILL_NOMEM,
                   "out of memory while reading a model (limit %zu bytes, 0: none)",
                   r->arena->limit_bytes);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int) (at - digits) : -1;
}

/* The byte that \xNN at text, of which n are there, stands for; -1: none is there. */
static int byte_escaped(const char *text, size_t n)
{
    if (n < 4 || text[0] != '\\' || text[1] != 'x' || hex_digit(text[2]) < 0 ||
        hex_digit(text[3]) < 0)
        return -1;
    return hex_digit(text[2]) * 16 + hex_digit(text[3]);
}

/* U+200E, 200F, 2028 to 202E and 2066 to 2069, which turn what stands around them or end a line. */
static bool turns_text(const unsigned char *b)
{
    return b[0] == 0xe2 &&
        ((b[1] == 0x80 && (b[2] == 0x8e || b[2] == 0x8f || (b[2] >= 0xa8 && b[2] <= 0xae))) ||
         (b[1] == 0x81 && b[2] >= 0xa6 && b[2] <= 0xa9));
}

/* Bytes of the character there that stand as they are; 0: its first is a control, no UTF-8, or
 * would be taken for an escape. */
static size_t plain_bytes(const char *text, size_t n)
{
    const size_t bytes = utf8_length(text, n);
    const unsigned char *b = (const unsigned char *) text;
    if (bytes == 1 && (b[0] < ' ' || b[0] == 0x7f || byte_escaped(text, n) >= 0))
        return 0;
    return (bytes == 2 && b[0] == 0xc2 && b[1] < 0xa0) || (bytes == 3 && turns_text(b)) ? 0 : bytes;
}

/* Controls, what is no UTF-8, and a backslash in front of xNN become \xNN, so different bytes give
 * different texts. */
static char *name_printable(struct arena *a, const void *bytes, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const char *b = bytes;
    size_t size = 1;
    for (size_t i = 0, plain; i < n; i += plain ? plain : 1)
        size += (plain = plain_bytes(b + i, n - i)) ? plain : 4;
    char *s = arena_alloc(a, size), *at = s;
    for (size_t i = 0, plain; s && i < n; i += plain ? plain : 1) {
        plain = plain_bytes(b + i, n - i);
        if (plain) {
            memcpy(at, b + i, plain);
            at += plain;
            continue;
        }
        *at++ = '\\';
        *at++ = 'x';
        *at++ = hex[(unsigned char) b[i] >> 4];
        *at++ = hex[(unsigned char) b[i] & 15];
    }
    return s;
}

char *onnx_name_bytes(struct arena *a, const char *text)
{
    const size_t n = strlen(text);
    char *s = arena_alloc(a, n + 1), *at = s;
    for (size_t i = 0; s && i < n;) {
        const int byte = byte_escaped(text + i, n - i);
        *at++ = byte < 0 ? text[i] : (char) byte;
        i += byte < 0 ? 1 : 4;
    }
    const char *again = s ? name_printable(a, s, (size_t) (at - s)) : NULL;
    if (!again)
        return NULL;
    return strcmp(again, text) != 0 || memchr(s, 0, (size_t) (at - s)) ? arena_string(a, text) : s;
}

const char *onnx_text(struct arena *a, ProtobufCBinaryData b)
{
    return b.len ? name_printable(a, b.data, b.len) : "";
}

const char **onnx_texts(struct arena *a, const ProtobufCBinaryData *b, size_t n)
{
    const char **v = arena_array(a, const char *, n + 1);
    for (size_t i = 0; v && i < n; i++)
        if (!(v[i] = onnx_text(a, b[i])))
            return NULL;
    return v;
}

bool onnx_is_default_domain(ProtobufCBinaryData d)
{
    return d.len == 0 || (d.len == 7 && !memcmp(d.data, "ai.onnx", 7));
}

Onnxpb__OpsetId *onnx_message_opset(const Onnxpb__Model *m)
{
    for (size_t i = m->n_opset_import; i-- > 0;)
        if (onnx_is_default_domain(m->opset_import[i]->domain))
            return m->opset_import[i];
    return NULL;
}
