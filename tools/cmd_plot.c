/* SPDX-License-Identifier: MIT */
/* rill plot: recordings as spectrograms, one above the other. */
#include "tools/audio.h"
#include "tools/spectrogram.h"
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANELS_MAX 8

struct panel {
    float *x;
    size_t n_samples;
    int rate_hz;
};

static double seconds_longest(const struct panel *panels, int n)
{
    double longest = 0;
    for (int i = 0; i < n; i++) {
        double s = (double) panels[i].n_samples / panels[i].rate_hz;
        longest = s > longest ? s : longest;
    }
    return longest;
}

static int plot(const struct command *cmd, char **in, int n, const char *out, int64_t width,
                double range)
{
    struct panel panels[PANELS_MAX] = { 0 };
    struct spectrogram s[PANELS_MAX] = { 0 };
    rill_error err;
    rill_status st = RILL_OK;
    for (int i = 0; st == RILL_OK && i < n; i++)
        st = audio_read(in[i], 0, &panels[i].x, &panels[i].n_samples, &panels[i].rate_hz, &err);
    double seconds = st == RILL_OK ? seconds_longest(panels, n) : 0;
    for (int i = 0; st == RILL_OK && i < n; i++)
        spectrogram_make(&s[i], panels[i].x, panels[i].n_samples, panels[i].rate_hz, (size_t) width,
                         seconds / (double) width);
    if (st == RILL_OK)
        st = spectrogram_png(out, s, (size_t) n, spectrogram_loudest(s, (size_t) n), (float) range,
                             &err);
    for (int i = 0; i < n; i++) {
        free(panels[i].x);
        free(s[i].db);
    }
    if (st != RILL_OK)
        return tool_fail_status(cmd, &err);
    printf("%s: %d spectrogram%s of %.2f s, %g dB from dark to light\n", out, n, n > 1 ? "s" : "",
           seconds, range);
    return TOOL_OK;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    int64_t width = 900;
    double range = 80;
    const struct opt table[] = {
        { "range", 'r', OPT_REAL, REAL_FROM_TO(&range, 1, 200), "DB",
          "from the darkest to the lightest colour, 1 to 200 (default 80)" },
        { "width", 'w', OPT_INT, INT_FROM_TO(&width, 100, 8000), "PIXELS",
          "of the time axis, 100 to 8000 (default 900)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 2, PANELS_MAX + 1);
    if (n < 0)
        return -n;
    const char *out = argv[n - 1], *dot = strrchr(out, '.');
    if (!dot || strcmp(dot, ".png") != 0)
        return tool_fail(cmd, TOOL_USAGE,
                         "'%s' is no .png: the last argument is the picture to write", out);
    return plot(cmd, argv, n - 1, out, width, range);
}

const struct command cmd_plot = {
    .name = "plot",
    .usage = "[OPTIONS] IN [IN2 ...] OUT.png",
    .summary = "draw recordings as spectrograms, one above the other",
    .details = "INs are WAV or FLAC, of one channel in the picture; all have one time axis and one "
               "scale of colours, whose lightest\n"
               "is the loudest of all. The frequency axis goes to half of each recording's rate.",
    .run = run,
};
