/* SPDX-License-Identifier: MIT */
/* Compiled plans that lie in memory, as those that are linked into a program. */
#include "engine/plan/file/planfile.h"
#include "lib/model_file.h"

#define ALIGN_BYTES 64

/* The networks of a recogniser beside the plan are files that readers read. */
static rill_status parts_refuse(const rill_model *m, rill_error *err)
{
    for (uint32_t i = 0; i < m->n_compiled_outputs; i++)
        if (m->outputs[i].decoder.n || m->outputs[i].joiner.n)
            return err_set(
                err, RILL_UNSUPPORTED,
                "the sink of output %u runs a network of its own, which is not compiled; "
                "rill_model_open takes such a plan from a file",
                i);
    return RILL_OK;
}

static rill_status model_take(rill_model *m, const void *bytes, size_t n, const char *name,
                              rill_error *err)
{
    struct planfile *f;
    const char *shown = arena_string(&m->arena, name);
    if (!shown)
        return err_set(err, RILL_NOMEM, "out of memory");
    TRY(planfile_of_bytes(&f, bytes, n, false, err));
    f->shown = shown;
    rill_status s = model_file_read(m, f, err);
    if (s != RILL_OK) {
        planfile_free(f);
        return s;
    }
    return parts_refuse(m, err);
}

rill_status rill_model_compiled(rill_model **ret, const void *bytes, size_t n, const char *name,
                                rill_error *reterr)
{
    if ((uintptr_t) bytes % ALIGN_BYTES)
        return err_set(reterr, RILL_INVALID, "%.200s: its bytes lie at no multiple of %d", name,
                       ALIGN_BYTES);
    rill_model *m = model_new();
    if (!m)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    rill_status s = model_take(m, bytes, n, name, reterr);
    if (s != RILL_OK) {
        rill_model_free(m);
        return err_prefix(reterr, s, "%.200s", name);
    }
    *ret = m;
    return RILL_OK;
}
