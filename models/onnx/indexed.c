/* SPDX-License-Identifier: MIT */
/* Ops that put numbers at places, as indices and scatters, or cut and pad about the middle. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- CenterCropPad ---- */

rill_status up_center_crop_pad(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const struct attr *a = convert_attr(l, "axes");
    TRY(convert_inputs_check(l, 2, 2, 0x3));
    if (a && a->kind != ATTR_INTS)
        return convert_fail(l, RILL_MALFORMED, "attribute 'axes' wants integers");
    TRY(convert_least_check(l, 1, "shape", 0));
    const int64_t sizes = convert_size(l, 1, 0);
    if (a && sizes >= 0 && sizes != (int64_t) a->ints.n)
        return convert_fail(l, RILL_MALFORMED, "shape has %" PRId64 " sizes, axes %u", sizes,
                            (unsigned) a->ints.n);
    uint32_t x = l->in[0], axes = a ? emit_ints(&e, a->ints.v, (unsigned) a->ints.n) : WIRE_NONE;
    uint32_t now = emit(&e, "Shape", x), want = emit_cast(&e, l->in[1], DTYPE_I64);
    if (a)
        now = emit(&e, "Gather", now, axes);
    uint32_t two = emit_int(&e, 2), none = emit_int(&e, 0);
    uint32_t first = emit(&e, "Div", emit(&e, "Max", emit(&e, "Sub", now, want), none), two);
    uint32_t end = emit(&e, "Add", first, emit(&e, "Min", now, want));
    uint32_t missing = emit(&e, "Max", emit(&e, "Sub", want, now), none);
    uint32_t before = emit(&e, "Div", missing, two);
    uint32_t pads = emit_joined(&e, before, emit(&e, "Sub", missing, before));
    uint32_t cut = emit(&e, "Slice", x, first, end, axes), zero = WIRE_NONE;
    return emit_output(&e, 0, emit(&e, "Pad", cut, pads, zero, axes));
}

/* ---- TensorScatter ---- */

enum { IN_PAST, IN_UPDATE, IN_AT };

static rill_status cache_check(struct conversion *l, int64_t *axis, bool *circular)
{
    const int rank = convert_rank(l, IN_PAST);
    const char *text = convert_text(l, "mode", "linear");
    *circular = !strcmp(text, "circular");
    *axis = convert_int(l, "axis", -2);
    TRY(convert_inputs_check(l, 2, 3, 0x3));
    if (!*circular && strcmp(text, "linear") != 0)
        return convert_fail(l, RILL_MALFORMED, "mode '%.40s'; known: linear, circular", text);
    if (rank < 0 || rank > RANK_MAX)
        return convert_fail(l, RILL_UNSUPPORTED, "the rank of its cache must be known");
    *axis += *axis < 0 ? rank : 0;
    if (*axis < 1 || *axis >= rank)
        return convert_fail(l, RILL_MALFORMED,
                            "axis %d is none of a cache of rank %d, whose first is the batch",
                            (int) convert_int(l, "axis", -2), rank);
    return RILL_OK;
}

/* What is below 0 stays so where ScatterElements counts it from the end. */
static uint32_t unwrapped(struct emitter *e, uint32_t at, uint32_t size)
{
    const int64_t none = 0;
    return emit(e, "Where", emit(e, "Less", at, emit_ints(e, &none, 1)), emit(e, "Sub", at, size),
                at);
}

rill_status up_tensor_scatter(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    int64_t axis, ones[RANK_MAX];
    bool circular;
    TRY(cache_check(l, &axis, &circular));
    const int rank = convert_rank(l, IN_PAST), at = (int) axis;
    for (int i = 0; i < rank; i++)
        ones[i] = i == at ? -1 : 1;
    uint32_t past = l->in[IN_PAST], update = l->in[IN_UPDATE];
    uint32_t frames = emit_range(&e, emit_sizes(&e, update, at, at + 1));
    uint32_t to = emit(&e, "Reshape", frames, emit_ints(&e, ones, (unsigned) rank));
    const uint32_t size = emit_sizes(&e, past, at, at + 1);
    if (convert_has(l, IN_AT)) {
        ones[at] = 1;
        ones[0] = -1;
        uint32_t first = emit(&e, "Reshape", l->in[IN_AT], emit_ints(&e, ones, (unsigned) rank));
        to = emit(&e, "Add", to, circular ? first : unwrapped(&e, first, size));
    }
    if (circular)
        to = emit(&e, "Mod", to, size);
    to = emit(&e, "Expand", to, emit(&e, "Shape", update));
    uint32_t in[] = { past, to, update };
    return emit_output(&e, 0, emit_with(&e, "ScatterElements", "axis", axis, in, 3));
}
