/* SPDX-License-Identifier: MIT */
#include "models/network/network.h"
#include "models/onnx/reader.h"
#include "models/tflite/reader.h"

rill_status mgraph_from_network(struct mgraph *ret, struct arena *a, struct dims *ds,
                                const struct bytes *b, rill_error *reterr)
{
    return tflite_is(b) ? mgraph_from_tflite(ret, a, ds, b, NULL, reterr)
                        : mgraph_from_onnx(ret, a, ds, b, NULL, reterr);
}
