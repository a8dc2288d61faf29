/* SPDX-License-Identifier: MIT */
#include "models/network/network.h"
#include "models/onnx/reader.h"
#include "models/tflite/reader.h"

#include "engine/base/err.h"

#include <string.h>

/* ---- formats of others, told by how their files begin ---- */

struct other_format {
    const char *name;
    const char *begins; /* n bytes from `at` on */
    size_t at, n;
};

static const struct other_format others[] = {
    { "a model of ggml, as of whisper.cpp", "lmgg", 0, 4 },
    { "a model of ggml (GGUF)", "GGUF", 0, 4 },
    { "a model of ONNX Runtime's own form (.ort)", "ORTM", 4, 4 },
    { "a file of Kaldi, as of vosk", "\0B", 0, 2 },
    { "a zip archive, as PyTorch's .pt and Keras' .keras are", "PK\3\4", 0, 4 },
    { "a pickle of Python's, as older .pt files are", "\x80\2", 0, 2 },
    { "an HDF5 file, as Keras' .h5 is", "\x89HDF", 0, 4 },
    { "a .safetensors file, which has no network", "{\"", 8, 2 },
};

static const struct other_format *other_format_of(const struct bytes *b)
{
    const struct other_format *o = others, *end = others + sizeof others / sizeof *others;
    while (o < end && (b->n < o->at + o->n || memcmp(b->data + o->at, o->begins, o->n) != 0))
        o++;
    return o < end ? o : NULL;
}

rill_status mgraph_from_network(struct mgraph *ret, struct arena *a, struct dims *ds,
                                const struct bytes *b, rill_error *reterr)
{
    const struct other_format *other = other_format_of(b);
    if (other)
        return err_set(reterr, RILL_UNSUPPORTED,
                       "it is %s; networks are read as ONNX, NNEF or .tflite", other->name);
    return tflite_is(b) ? mgraph_from_tflite(ret, a, ds, b, NULL, reterr)
                        : mgraph_from_onnx(ret, a, ds, b, NULL, reterr);
}
