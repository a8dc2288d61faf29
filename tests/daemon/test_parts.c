/* SPDX-License-Identifier: MIT */
/* The parts that need no daemon: ring, histogram, edges of speech, samples, resampler, lane. */
#include "tests/daemon/harness.h"

#include "daemon/base/hist.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/resample.h"
#include "daemon/compute/ring.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>

/* ---- ring ---- */

static void *ring_feed(void *arg)
{
    struct ring *r = arg;
    uint32_t v[37];
    for (uint32_t at = 0; at < 200000;) {
        uint32_t n = 1 + at % 37;
        for (uint32_t i = 0; i < n; i++)
            v[i] = at + i;
        if (ring_room(r) < n)
            continue;
        ring_write(r, v, n);
        at += n;
    }
    return NULL;
}

static void test_ring(void)
{
    struct ring *r = aligned_alloc(64, sizeof *r);
    pthread_t t;
    CHECK(ring_init(r, sizeof(uint32_t), 100) && ring_room(r) == 128);
    pthread_create(&t, NULL, ring_feed, r);
    uint32_t v[50], at = 0;
    bool good = true;
    while (at < 200000) {
        size_t n = ring_used(r);
        n = n < 50 ? n : 50;
        ring_read(r, v, n);
        for (size_t i = 0; i < n; i++)
            good &= v[i] == at++;
    }
    pthread_join(t, NULL);
    CHECK(good);
    ring_free(r);
    free(r);
}

static void test_hist(void)
{
    static struct hist h;
    for (uint32_t i = 1; i <= 100000; i++)
        hist_add(&h, i);
    for (int p = 1; p < 100; p++) {
        double q = hist_quantile(&h, p / 100.0), want = 1000.0 * p;
        if (!CHECK(q >= want * 0.999 && q <= want * 1.13, "%d%%: %g", p, q))
            return;
    }
    memset(&h, 0, sizeof h);
    CHECK(hist_quantile(&h, 0.99) == 0);
    hist_add(&h, UINT32_MAX);
    CHECK(hist_quantile(&h, 0.99) == UINT32_MAX);
    for (unsigned b = 0; b < 2000; b++)
        if (hist_bucket(b + 1) < hist_bucket(b))
            CHECK(false, "%u", b);
}

static void test_samples(void)
{
    for (int enc = 1; enc <= 3; enc++) {
        struct pcm p = { 16000, 1, enc };
        float x[] = { 0, 0.25f, -0.25f, 1, -1, 1.5f, -1.5f, 0.5f }, y[8];
        float want[] = { 0, 0.25f, -0.25f, 1, -1, 1, -1, 0.5f };
        uint8_t b[32];
        pcm_encode(&p, x, 8, b);
        CHECK(pcm_decode(&p, b, 8, y) == 0);
        for (int i = 0; i < 8; i++)
            CHECK(fabsf(y[i] - want[i]) <= 0x1p-15f, "enc %d: %g", enc, (double) y[i]);
    }
    /* Halves to even, in every encoding of whole numbers. */
    for (int enc = 1; enc <= 3; enc++) {
        static const float lsbs[] = { 0.5f, 1.5f, -0.5f, -1.5f, 2.5f, -2.5f, 0.75f, -0.25f };
        static const int want[] = { 0, 2, 0, -2, 2, -2, 1, 0 };
        struct pcm p = { 16000, 1, enc };
        float lsb = enc == 1 ? 0x1p-15f : enc == 2 ? 0x1p-23f : 0x1p-31f;
        for (int i = 0; i < 8; i++) {
            float x = lsbs[i] * lsb, y;
            uint8_t b[4];
            pcm_encode(&p, &x, 1, b);
            pcm_decode(&p, b, 1, &y);
            CHECK(y == (float) want[i] * lsb, "enc %d: %g became %g", enc, (double) lsbs[i],
                  (double) (y / lsb));
        }
    }
    struct pcm p = { 16000, 1, 1 };
    uint8_t all[2], back[2];
    bool same = true;
    for (uint32_t v = 0; v < 65536; v++) {
        float x;
        all[0] = (uint8_t) v;
        all[1] = (uint8_t) (v >> 8);
        pcm_decode(&p, all, 1, &x);
        pcm_encode(&p, &x, 1, back);
        same &= memcmp(all, back, 2) == 0;
    }
    CHECK(same, "s16 does not come back as it went in");
    CHECK(rate_rescale(1, 48000, 44100) == 2 && rate_rescale(441, 480, 441) == 480 &&
          rate_rescale(0, 5, 3) == 0);
    CHECK(rate_rescale(UINT64_MAX / 8, 8000, 16000) == UINT64_MAX / 16 + 1);
}

/* ---- resampler ---- */

static size_t allocated_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* What a resampler says it takes is what it takes, whatever the rates are to one another; small
 * blocks may have been the allocator's own. */
static void test_resample_bytes(uint32_t from, uint32_t to)
{
    size_t before = allocated_bytes();
    struct resample *r = resample_new(from, to);
    size_t took = allocated_bytes() - before, says = r ? resample_bytes(r) : 0;
    if (!took)
        check_skip("what a resampler takes: sanitizers count for themselves");
    else
        CHECK(says + 256 > took - took / 16 && says < took + took / 16 + 2048,
              "%u to %u Hz: %zu bytes; it says %zu", from, to, took, says);
    resample_free(r);
}

int main(void)
{
    static const uint32_t rates[] = { 8000, 11025, 16000, 44056, 44100, 48000, 192000 };
    test_ring();
    test_hist();
    test_samples();
    for (size_t i = 0; i < 7; i++) {
        test_resample_bytes(rates[i], 16000);
        test_resample_bytes(16000, rates[i]);
        test_resample_bytes(rates[i], 48000);
        test_resample_bytes(191999, rates[i]);
    }
    return check_end();
}
