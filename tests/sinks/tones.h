/* SPDX-License-Identifier: MIT */
/* tones.h - a model that reads what it is told: in each frame of 80 samples (8 kHz), ten samples
 * for each of eight columns. The columns are scores of tokens (logp), probabilities of words (prob)
 * and of speech (speech); audio comes out halved. */
#ifndef TESTS_SINKS_TONES_H
#define TESTS_SINKS_TONES_H
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TONES_HOP 80
#define TONES_WIDTH 8
#define TONES_FRAMES_MAX 4096

/* Windows reach half of their size beyond their frame, so that the model is late. */
static const char tones_graph[] =
    "version 1.0;\n"
    "graph tones(pcm) -> (clean, speech, prob, logp)\n"
    "{\n"
    "    pcm = external<scalar>(shape = [S]);\n"
    "    clean = pcm * 0.5;\n"
    "    frames = rill_frame(pcm, size = 160, hop = 80, end = \"cover\");\n"
    "    columns = mean_reduce(reshape(slice(frames, axes = [1], begin = [0], end = [80]), shape = "
    "[0, 8, 10]), axes = [2]);\n"
    "    flat = squeeze(columns, axes = [2]);\n"
    "    logp = flat * 20.0;\n"
    "    prob = max(flat, 0.0);\n"
    "    speech = squeeze(max_reduce(slice(prob, axes = [1], begin = [1], end = [8]), axes = [1]), "
    "axes = [1]);\n"
    "}\n";

static const char tones_conf[] =
    "[model]\ntask = asr\nsample_rate = 8000\nlicence = MIT\nsummary = reads what it is told\n"
    "[input.pcm]\nkind = audio\n"
    "[output.clean]\nkind = audio\n"
    "[output.speech]\nkind = vad\nthreshold = 0.5\nrelease = 0.4\nhangover_ms = 50\nrule1_ms = "
    "1000\nrule2_ms = 200\npreroll_ms = 30\n"
    "[output.prob]\nkind = keyword\nwords = no,yes,up,down,left,right,on,off\nignore = "
    "no\nsmooth_frames = 2\ndebounce_ms = 100\n"
    "[output.logp]\nkind = ctc\ntokens = tokens.txt\nscores = logits\nbeam = 4\nrule1_ms = "
    "0\nrule2_ms = 200\n";

static const char tones_tokens[] =
    "<blk> 0\n\xe2\x96\x81one 1\n\xe2\x96\x81t 2\nwo 3\n\xe2\x96\x81three 4\n\xe2\x96\x81"
    "four 5\ns 6\n\xe2\x96\x81 7\n";

static inline bool tones_file(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    return f && fwrite(text, 1, strlen(text), f) == strlen(text) && !fclose(f);
}

/* conf and tokens NULL: as above. */
static inline bool tones_write(const char *folder, const char *conf, const char *tokens)
{
    mkdir(folder, 0700);
    return tones_file(folder, "graph.nnef", tones_graph) &&
        tones_file(folder, "model.conf", conf ? conf : tones_conf) &&
        tones_file(folder, "tokens.txt", tokens ? tokens : tones_tokens);
}

/* A frame a character: '1' to '7' say that token, anything else the blank. Returns the number of
 * samples. */
static inline size_t tones_audio(float *x, const char *script)
{
    size_t n = 0;
    for (; *script; script++)
        for (int i = 0; i < TONES_HOP; i++)
            x[n++] =
                i / 10 == (*script >= '1' && *script <= '7' ? *script - '0' : 0) ? 0.9f : -0.05f;
    return n;
}
#endif
