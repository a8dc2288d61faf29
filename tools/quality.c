/* SPDX-License-Identifier: MIT */
#include "tools/quality.h"
#include "engine/base/err.h"
#include "tools/audio.h"
#include "tools/tool.h"
#include "tools/spectra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAND_BINS 16 /* 500 Hz */
#define PIECE_WINDOWS 8
#define SPEECH_BELOW_BAND                                                                          \
    1e-3                      /* a piece has speech from 30 dB below the loudest of its band on    \
                               */
#define SPEECH_BELOW_ALL 1e-6 /* and from 60 dB below the loudest of all */
#define SAME 1e-3             /* noise so like the speech, or so little, is not told from it */

/* ---- files ---- */

static rill_status clean_check(const struct quality *q, const char *in, size_t n_clean,
                               rill_error *err)
{
    bool sounds = false; /* a constant is none */
    if (n_clean != q->n)
        return err_set(err, RILL_INVALID,
                       "'%.200s' has %zu samples, '%.200s' has %zu; it must be the same recording "
                       "without the noise",
                       q->clean_path, n_clean, in, q->n);
    for (size_t i = 0; i < q->n; i++)
        sounds |= q->clean[i] > q->clean[0] || q->clean[i] < q->clean[0];
    if (!sounds)
        return err_set(err, RILL_INVALID,
                       "the clean file '%.300s' has no sound: there is no speech to keep",
                       q->clean_path);
    return RILL_OK;
}

rill_status quality_open(struct quality *q, const char *in, const char *clean, rill_error *reterr)
{
    size_t n_clean, not_finite; /* of in: told by who reads it for the model */
    int rate;
    *q = (struct quality) { .clean_path = clean };
    TRY(audio_read_counted(in, 0, &q->noisy, &q->n, &q->rate_hz, &not_finite, reterr));
    rill_status s = audio_read(clean, q->rate_hz, &q->clean, &n_clean, &rate, reterr);
    if (s == RILL_OK)
        s = clean_check(q, in, n_clean, reterr);
    if (s != RILL_OK)
        quality_close(q);
    return s;
}

void quality_close(struct quality *q)
{
    free(q->noisy);
    free(q->clean);
    q->noisy = q->clean = NULL;
}

/* ---- SI-SDR ---- */

static double mean_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double) x[i];
    return sum / (double) n;
}

static double si_sdr_db(const float *y, const float *clean, size_t n)
{
    double my = mean_of(y, n), mc = mean_of(clean, n), yc = 0, cc = 0, target = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        double c = (double) clean[i] - mc;
        yc += ((double) y[i] - my) * c;
        cc += c * c;
    }
    for (size_t i = 0; i < n; i++) {
        double t = yc / cc * ((double) clean[i] - mc), d = (double) y[i] - my - t;
        target += t * t;
        rest += d * d;
    }
    return target > 0 ? 10 * log10(target / rest) : -INFINITY;
}

/* ---- speech kept ---- */

/* Sums of products over a piece: s speech, v noise, y output. */
struct piece {
    double ss, vv, sv, sy, vy;
};

struct pieces {
    struct piece *at; /* [n_times][n_bands] */
    size_t n_times, n_bands;
};

static double product(const float *a, const float *b)
{
    return (double) a[0] * (double) b[0] + (double) a[1] * (double) b[1];
}

static void window_add(struct piece *row, size_t n_bands, const float *clean, const float *noisy,
                       const float *y)
{
    for (size_t k = 0; k < n_bands * BAND_BINS; k++) {
        const float *s = clean + 2 * (k + 1), *o = y + 2 * (k + 1);
        const float v[2] = { noisy[2 * (k + 1)] - s[0], noisy[2 * (k + 1) + 1] - s[1] };
        struct piece *p = &row[k / BAND_BINS];
        p->ss += product(s, s);
        p->vv += product(v, v);
        p->sv += product(s, v);
        p->sy += product(s, o);
        p->vy += product(v, o);
    }
}

static struct pieces pieces_make(const struct quality *q, const float *y)
{
    struct spectra t[3];
    const float *x[3] = { q->clean, q->noisy, y };
    for (int i = 0; i < 3; i++)
        spectra_make(&t[i], q->rate_hz);
    size_t step = t[0].n / 2, n_windows = q->n / step;
    struct pieces p = { .n_times = (n_windows + PIECE_WINDOWS - 1) / PIECE_WINDOWS,
                        .n_bands = t[0].n / 2 / BAND_BINS };
    size_t bytes = (p.n_times * p.n_bands + 1) * sizeof *p.at;
    p.at = tool_alloc(bytes);
    memset(p.at, 0, bytes);
    for (size_t w = 0; w < n_windows; w++) {
        for (int i = 0; i < 3; i++)
            spectra_run(&t[i], x[i], q->n, (ptrdiff_t) (w * step));
        window_add(p.at + w / PIECE_WINDOWS * p.n_bands, p.n_bands, t[0].bins, t[1].bins,
                   t[2].bins);
    }
    for (int i = 0; i < 3; i++)
        spectra_free(&t[i]);
    return p;
}

static double loudest(const struct pieces *p, size_t from_band, size_t to_band)
{
    double top = 0;
    for (size_t i = 0; i < p->n_times; i++)
        for (size_t b = from_band; b < to_band; b++)
            top = fmax(top, p->at[i * p->n_bands + b].ss);
    return top;
}

/* The a of the least squares of y - a * s - b * v. */
static double piece_kept(const struct piece *p)
{
    double det = p->ss * p->vv - p->sv * p->sv;
    double a = det > SAME * p->ss * p->vv ? (p->sy * p->vv - p->vy * p->sv) / det : p->sy / p->ss;
    return a > 0 ? a < 1 ? a : 1 : 0;
}

static double speech_kept(const struct pieces *p)
{
    double sum = 0, weights = 0, all = loudest(p, 0, p->n_bands);
    for (size_t b = 0; b < p->n_bands; b++) {
        double least = fmax(loudest(p, b, b + 1) * SPEECH_BELOW_BAND, all * SPEECH_BELOW_ALL);
        for (size_t i = 0; i < p->n_times; i++) {
            const struct piece *x = &p->at[i * p->n_bands + b];
            if (x->ss <= 0 || x->ss < least)
                continue;
            sum += sqrt(x->ss) * piece_kept(x);
            weights += sqrt(x->ss);
        }
    }
    return weights > 0 ? sum / weights : 0;
}

/* As a file of 16 bits has it. */
static float *as_written(const float *y, size_t n_y, size_t n)
{
    float *ret = tool_alloc(n * sizeof *ret + 1);
    for (size_t i = 0; i < n; i++) {
        int32_t v = 0;
        if (i < n_y)
            rill_samples_round(&y[i], 1, 16, &v);
        ret[i] = (float) v * 0x1p-15f;
    }
    return ret;
}

void quality_measure(struct quality *q, const float *y, size_t n_y)
{
    float *out = as_written(y, n_y, q->n);
    struct pieces p = pieces_make(q, out);
    q->before_db = si_sdr_db(q->noisy, q->clean, q->n);
    q->after_db = si_sdr_db(out, q->clean, q->n);
    q->kept = speech_kept(&p);
    free(p.at);
    free(out);
}

/* ---- words ---- */

void quality_print(const struct quality *q)
{
    printf("  against %s: SI-SDR %.2f dB before, %.2f dB after, %.1f %% of the speech kept\n",
           q->clean_path, q->before_db, q->after_db, 100 * q->kept);
}

static json_t *finite_of(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

void quality_add_json(const struct quality *q, json_t *to)
{
    json_object_update_new(to,
                           json_pack("{s:o, s:o, s:f}", "si_sdr_before_db", finite_of(q->before_db),
                                     "si_sdr_after_db", finite_of(q->after_db), "speech_kept",
                                     q->kept));
}
