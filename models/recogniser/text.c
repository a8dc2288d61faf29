/* SPDX-License-Identifier: MIT */
#include "models/recogniser/internal.h"

/* Silence behind the recording, so that the last words get through the network: 0.66 s as in the
 * examples of sherpa-onnx, which runs a chunk only once one more frame is there. */
#define TAIL_SAMPLES (10560 + 40)

const char *recogniser_graph(const struct recogniser *r)
{
    const char *out = r->is_ctc ? "log_probs" : "encoder_out", *scan = r->kind->scan_write(r);
    return scan
        ? arena_printf(r->arena,
                       "version 1.0;\n"
                       "graph recogniser(pcm) -> (%s)\n"
                       "{\n"
                       "    pcm = external<scalar>(shape = [S]);\n"
                       "    features = rill_fbank(pad(%s, padding = [(0, %d)]), bands = %u, "
                       "mirror = true, end = \"drop\"%s);\n"
                       "    chunks = rill_frame(reshape(features, shape = [-1]), size = "
                       "%u, hop = %u, end = \"drop\");\n"
                       "%s"
                       "    %s = reshape(frames, shape = [-1, %u]);\n"
                       "}\n",
                       out, r->kind->pcm, TAIL_SAMPLES, r->bands, r->kind->features,
                       r->frames * r->bands, r->shift * r->bands, scan, out, r->width)
        : NULL;
}

static const char *others_text(const struct recogniser *r)
{
    const char *other = r->net->other;
    return other ? arena_printf(r->arena, " (%.120s is there, too)", other) : "";
}

static const char *parts_text(const struct recogniser *r)
{
    return r->is_ctc ? "kind = ctc\n"
                     : arena_printf(r->arena,
                                    "kind = transducer\n"
                                    "decoder = %s\n"
                                    "joiner = %s\n"
                                    "%s%s",
                                    r->file[ROLE_DECODER].name, r->file[ROLE_JOINER].name,
                                    r->has_pieces ? "pieces = bpe.vocab\n" : "",
                                    r->kind->is_recurrent ? "max_symbols = 10\n" : "");
}

const char *recogniser_conf(const struct recogniser *r)
{
    const char *parts = parts_text(r), *others = others_text(r);
    return parts && others ? arena_printf(r->arena,
                                          CONF_FOUND "\n"
                                                     "[model]\n"
                                                     "task = transcribe\n"
                                                     "sample_rate = 16000\n"
                                                     "first_pulse = short\n"
                                                     "summary = streaming %s: %s, %s%s\n"
                                                     "[input.pcm]\n"
                                                     "kind = audio\n"
                                                     "[output.%s]\n"
                                                     "%s"
                                                     "tokens = %s\n"
                                                     "units = %s\n"
                                                     "beam = 1\n"
                                                     "max_tokens = 1024\n"
                                                     "endpoint_frames = %u\n",
                                          r->kind->people, r->net->name, r->net->form, others,
                                          r->is_ctc ? "log_probs" : "encoder_out", parts,
                                          r->tokens_name, r->has_marks ? "marks" : "chars",
                                          r->shift > r->factor ? r->shift / r->factor : 1)
                           : NULL;
}
