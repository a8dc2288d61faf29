/* SPDX-License-Identifier: MIT */
#include "tools/level.h"
#include "tools/tool.h"

#include <math.h>
#include <stdlib.h>

double level_floor_db(const float *x, size_t n_samples, unsigned rate)
{
    size_t piece = rate / 50, m = piece ? n_samples / piece : 0;
    if (m < 50)
        return NAN;
    double *level = tool_alloc(m * sizeof *level), db;
    size_t n = 0;
    for (size_t i = 0; i < m; i++) {
        double s = 1e-12;
        for (size_t k = 0; k < piece; k++)
            s += (double) x[i * piece + k] * (double) x[i * piece + k];
        level[n] = 10 * log10(s / (double) piece);
        n += isfinite(level[n]) ? 1 : 0;        /* what is no number has no level */
    }
    qsort(level, n, sizeof *level, tool_compare_f64);
    db = n < 50 ? (double) NAN : tool_percentile(level, n, 0.1);
    free(level);
    return db;
}
