/* SPDX-License-Identifier: MIT */
/* Any rates and any sizes of pushes: the same bits as in one push, as many as announced at most,
 * and finite. */
#include "daemon/compute/resample.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX 4096

static uint32_t rate_take(struct bytes_in *b)
{
    static const uint32_t rates[] = { 8000,  11025, 16000, 22050, 24000,  32000,
                                      44056, 44100, 48000, 96000, 192000, 191999 };
    uint8_t k = take_u8(b);
    return k < 192 ? rates[k % 12] : 8000 + take_u16(b) * 2;
}

static float *run(struct resample *r, const float *x, size_t n, struct bytes_in sizes,
                  size_t *ret_n)
{
    size_t cap = resample_most(r, n) + 4096 * 30, at = 0, got = 0;
    float *y = malloc(cap * sizeof *y);
    if (!y)
        abort();
    while (at < n) {
        size_t left = n - at,
               piece = sizes.at < sizes.end
            ? 1 + (size_t) take_u8(&sizes) * (1 + take_u8(&sizes) % 16)
            : left;
        piece = piece < left ? piece : left;
        size_t most = resample_most(r, piece),
               given = resample_run(r, x ? x + at : NULL, piece, y + got, cap - got);
        if (given > most)
            abort();
        got += given;
        at += piece;
    }
    *ret_n = got;
    return y;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static float x[SAMPLES_MAX];
    struct bytes_in b = { data, data + n };
    uint32_t from = rate_take(&b), to = rate_take(&b), seed = take_u16(&b);
    size_t n_in = (size_t) take_int(&b, 0, SAMPLES_MAX - 1), n_whole, n_parts;
    struct resample *r = resample_new(from, to);
    if (!r)
        abort();
    for (size_t i = 0; i < n_in; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) seed * 0x1p-31f;
    }
    float *whole = run(r, x, n_in, (struct bytes_in) { NULL, NULL }, &n_whole);
    resample_reset(r);
    float *parts = run(r, x, n_in, b, &n_parts);
    if (n_whole != n_parts || memcmp(whole, parts, n_whole * sizeof *whole) != 0)
        abort();
    for (size_t i = 0; i < n_whole; i++)
        if (!isfinite(whole[i]))
            abort();
    free(whole);
    free(parts);
    resample_free(r);
    return 0;
}
