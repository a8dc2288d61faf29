/* SPDX-License-Identifier: MIT */
#include "tools/spectrogram.h"
#include "tools/beside.h"
#include "tools/tool.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT 44 /* pixels: the kHz beside a panel */
#define RIGHT 12
#define TOP 10
#define BELOW 26 /* the seconds below a panel */
#define SCALE 2  /* of the letters */

struct picture {
    uint32_t width, height;
    uint8_t *rgb;
};

static void pixel_set(struct picture *p, long x, long y, const uint8_t rgb[3])
{
    if (x >= 0 && y >= 0 && x < (long) p->width && y < (long) p->height)
        memcpy(p->rgb + 3 * ((size_t) y * p->width + (size_t) x), rgb, 3);
}

/* ---- letters: 3 x 5 points, rows from the top, the highest bit on the left ---- */

static const struct {
    char c;
    uint8_t row[5];
} letters[] = {
    { '0', { 7, 5, 5, 5, 7 } }, { '1', { 2, 6, 2, 2, 7 } }, { '2', { 7, 1, 7, 4, 7 } },
    { '3', { 7, 1, 3, 1, 7 } }, { '4', { 5, 5, 7, 1, 1 } }, { '5', { 7, 4, 7, 1, 7 } },
    { '6', { 7, 4, 7, 5, 7 } }, { '7', { 7, 1, 2, 2, 2 } }, { '8', { 7, 5, 7, 5, 7 } },
    { '9', { 7, 5, 7, 1, 7 } }, { '.', { 0, 0, 0, 0, 2 } }, { 's', { 0, 3, 6, 3, 6 } },
    { 'k', { 4, 5, 6, 5, 5 } }, { 'H', { 5, 5, 7, 5, 5 } }, { 'z', { 0, 7, 1, 4, 7 } },
};

static const uint8_t ink[3] = { 40, 40, 48 };

static void letter_draw(struct picture *p, long x, long y, char c)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        for (int k = 0; letters[i].c == c && k < 15 * SCALE * SCALE; k++) {
            int col = k % (3 * SCALE), row = k / (3 * SCALE);
            if (letters[i].row[row / SCALE] >> (2 - col / SCALE) & 1)
                pixel_set(p, x + col, y + row, ink);
        }
}

static long text_width(const char *text)
{
    return (long) strlen(text) * 4 * SCALE - SCALE;
}

static void text_draw(struct picture *p, long x, long y, const char *text)
{
    for (; *text; text++, x += 4 * SCALE)
        letter_draw(p, x, y, *text);
}

/* ---- colours ---- */

/* From night over violet and orange to pale yellow; v 0..1. Brightness grows all the way. */
static void colour_of(float v, uint8_t ret[3])
{
    static const float stops[][3] = { { 4, 3, 18 },    { 52, 14, 96 },   { 132, 32, 108 },
                                      { 212, 72, 66 }, { 248, 152, 32 }, { 252, 246, 168 } };
    const int n = sizeof stops / sizeof *stops - 1;
    v = v > 0 ? v < 1 ? v : 1 : 0;
    int i = (int) (v * (float) n);
    i = i < n ? i : n - 1;
    float f = v * (float) n - (float) i;
    for (int k = 0; k < 3; k++)
        ret[k] = (uint8_t) (stops[i][k] + f * (stops[i + 1][k] - stops[i][k]) + 0.5f);
}

/* ---- panels ---- */

/* 1, 2 or 5 times a power of ten, so that about `wanted` of them fill the range. */
static double tick_step(double range, double wanted)
{
    double raw = range / wanted, unit = pow(10, floor(log10(raw)));
    return unit * (raw <= unit * 1.001 ? 1 : raw <= 2 * unit ? 2 : raw <= 5 * unit ? 5 : 10);
}

void spectrogram_tick(char *ret, size_t bytes, double v, double step, const char *unit)
{
    int decimals = step < 1 ? (int) ceil(-log10(step) - 1e-9) : 0;
    int n = snprintf(ret, bytes, "%.*f", decimals, v);
    for (; decimals && n && ret[n - 1] == '0'; decimals--)
        ret[--n] = 0;
    if (n && ret[n - 1] == '.')
        ret[--n] = 0;
    snprintf(ret + n, bytes - (size_t) n, "%s", unit);
}

static void seconds_draw(struct picture *p, const struct spectrogram *s, long top)
{
    double end = s->column_s * (double) s->n_columns,
           step = tick_step(end, (double) s->n_columns / 110);
    char text[32];
    for (int i = 0; i * step <= end; i++) {
        long x = LEFT + (long) (i * step / s->column_s);
        spectrogram_tick(text, sizeof text, i * step, step, "s");
        for (long y = 0; y < 5; y++)
            pixel_set(p, x, top + SPECTROGRAM_ROWS + y, ink);
        long at = x - text_width(text) / 2, most = (long) p->width - text_width(text) - 2;
        text_draw(p, at < most ? at : most, top + SPECTROGRAM_ROWS + 9, text);
    }
}

static void hertz_draw(struct picture *p, const struct spectrogram *s, long top)
{
    double high = s->rate_hz / 2000.0, step = tick_step(high, 5);
    char text[32];
    for (int i = 0; i * step <= high * 1.0001; i++) {
        long y = top + SPECTROGRAM_ROWS - 1 - (long) (i * step / high * (SPECTROGRAM_ROWS - 1));
        spectrogram_tick(text, sizeof text, i * step, step,
                         (i + 1) * step > high * 1.0001 ? "k" : "");
        for (long x = 0; x < 5; x++)
            pixel_set(p, LEFT - 1 - x, y, ink);
        text_draw(p, LEFT - 9 - text_width(text), y - 5 * SCALE / 2, text);
    }
}

static void panel_draw(struct picture *p, const struct spectrogram *s, long top, float top_db,
                       float range_db)
{
    static const uint8_t none[3] = { 225, 225, 230 };
    for (size_t c = 0; c < s->n_columns; c++)
        for (long row = 0; row < SPECTROGRAM_ROWS; row++) {
            float db = s->db[c * SPECTROGRAM_ROWS + (size_t) row];
            uint8_t rgb[3];
            colour_of((db - top_db + range_db) / range_db, rgb);
            pixel_set(p, LEFT + (long) c, top + SPECTROGRAM_ROWS - 1 - row,
                      db <= SPECTROGRAM_NONE ? none : rgb);
        }
    seconds_draw(p, s, top);
    hertz_draw(p, s, top);
}

rill_status spectrogram_png(const char *path, const struct spectrogram *s, size_t n, float top_db,
                            float range_db, rill_error *reterr)
{
    struct picture p = { .width = LEFT + RIGHT,
                         .height = (uint32_t) n * (TOP + SPECTROGRAM_ROWS + BELOW) };
    for (size_t i = 0; i < n; i++)
        p.width = s[i].n_columns + LEFT + RIGHT > p.width ? (uint32_t) s[i].n_columns + LEFT + RIGHT
                                                          : p.width;
    p.rgb = tool_alloc((size_t) 3 * p.width * p.height);
    memset(p.rgb, 255, (size_t) 3 * p.width * p.height);
    for (size_t i = 0; i < n; i++)
        panel_draw(&p, &s[i], (long) i * (TOP + SPECTROGRAM_ROWS + BELOW) + TOP, top_db, range_db);
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = p.width, .height = p.height, .format = PNG_FORMAT_RGB
    };
    struct beside to;
    rill_status status = beside_open(&to, path, reterr);
    if (status == RILL_OK) {
        errno = 0;
        bool fine = png_image_write_to_stdio(&image, to.f, 0, p.rgb, 0, NULL);
        status = beside_close(&to, fine, errno ? strerror(errno) : image.message, reterr);
    }
    free(p.rgb);
    return status;
}
