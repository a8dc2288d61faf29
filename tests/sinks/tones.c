/* SPDX-License-Identifier: MIT */
/* tones DIR SCRIPT: writes the model DIR/tones and its audio DIR/said.wav (tones.h), and the same
 * as DIR/said.f32 with fifteen seconds of silence behind it. */
#include "tests/sinks/tones.h"

#include <sndfile.h>

int main(int argc, char **argv)
{
    static float x[TONES_FRAMES_MAX * TONES_HOP];
    char path[4096];
    SF_INFO info = { .samplerate = 8000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
    if (argc != 3 || strlen(argv[2]) > TONES_FRAMES_MAX)
        return 2;
    snprintf(path, sizeof path, "%s/tones", argv[1]);
    if (!tones_write(path, NULL, NULL))
        return 1;
    snprintf(path, sizeof path, "%s/said.wav", argv[1]);
    size_t n = tones_audio(x, argv[2]);
    SNDFILE *f = sf_open(path, SFM_WRITE, &info);
    if (!f || sf_writef_float(f, x, (sf_count_t) n) != (sf_count_t) n || sf_close(f))
        return 1;
    snprintf(path, sizeof path, "%s/said.f32", argv[1]);
    FILE *raw = fopen(path, "wb");
    for (int i = 0; raw && i < 1500; i++, n = tones_audio(x, "."))
        fwrite(x, sizeof *x, n, raw);
    return raw && !fclose(raw) ? 0 : 1;
}
