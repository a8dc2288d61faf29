/* SPDX-License-Identifier: MIT */
/* Structs of callers that are older or newer than the library, or wrong: every function that takes
 * or fills one, with blocks of memory that are exactly as long as they say. */
#include "engine/base/sized.h"

#include <rill.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE 24 /* bytes that a later version would have */

static int passed, failed;
static rill_error err;

static void check(int ok, const char *what, const char *of, unsigned long n)
{
    ok ? passed++ : failed++;
    if (!ok)
        printf("FAIL %s: %s, %lu (%s)\n", of, what, n, err.text);
}

static rill_model *model;
static rill_plan *plan;
static rill_stream *stream;

/* ---- the functions ---- */

static rill_status model_opts_call(void *x)
{
    rill_model *m = NULL;
    rill_status s = rill_model_open_with(&m, "/nowhere", x, &err);
    return s == RILL_IO ? RILL_OK : s;
}

static rill_status plan_opts_call(void *x)
{
    rill_plan *p = NULL;
    rill_status s = rill_plan_new(&p, model, x, &err);
    rill_plan_unref(p);
    return s;
}

/* The audio as a probability of speech: an event with the first frame. */
static rill_sink *vad_sink(const void *opts)
{
    rill_sink *s = NULL;
    return rill_sink_new(&s, plan, 1, opts, &err) == RILL_OK ? s : NULL;
}

static rill_status sink_opts_call(void *x)
{
    ((rill_sink_opts *) x)->kind = RILL_PORT_VAD;
    rill_sink *s = vad_sink(x);
    rill_sink_free(s);
    return s ? RILL_OK : RILL_INVALID;
}

static rill_status listen_call(void *x)
{
    const rill_sink_opts vad = { .struct_bytes = sizeof vad, .kind = RILL_PORT_VAD };
    rill_sink *s = vad_sink(&vad);
    ((rill_sink_opts *) x)->kind = RILL_PORT_VAD;
    rill_status status = rill_sink_listen(s, plan, 1, x, &err);
    rill_sink_free(s);
    return status;
}

static rill_status sink_defaults_call(void *x)
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_model_builtin(&m, "rill-digits", &err);
    rill_plan_new(&p, m, NULL, &err);
    rill_model_free(m);
    rill_status s = rill_sink_defaults(x, p, 1, &err);
    rill_plan_unref(p);
    return s;
}

static rill_status model_info_call(void *x)
{
    return rill_model_get_info(model, x);
}

static rill_status plan_info_call(void *x)
{
    return rill_plan_get_info(plan, x);
}

static rill_status ports_call(void *x)
{
    return rill_plan_ports(plan, x, 1) == 2 ? RILL_OK : RILL_INVALID;
}

static rill_status shape_call(void *x)
{
    return rill_plan_port_shape(plan, 0, x);
}

static rill_status profile_call(void *x)
{
    return rill_stream_profile(stream, x, 1) > 1 ? RILL_OK : RILL_INVALID;
}

static rill_status port_align_call(void *x)
{
    rill_alignment lie = { .struct_bytes = sizeof lie };
    rill_port *p = x;
    p->hop_num = p->hop_den = p->offset_den = 1;
    return rill_port_align(p, 100, &lie);
}

static rill_status alignment_call(void *x)
{
    const rill_port p = { .struct_bytes = sizeof p, .hop_num = 1, .hop_den = 1, .offset_den = 1 };
    return rill_port_align(&p, 100, x);
}

static rill_status event_call(void *x)
{
    const rill_sink_opts vad = { .struct_bytes = sizeof vad, .kind = RILL_PORT_VAD };
    const float one = 1;
    rill_event after = { .struct_bytes = sizeof after };
    size_t took;
    rill_sink *s = vad_sink(&vad);
    rill_sink_push(s, &one, 1, &took);
    rill_status status = rill_sink_next(s, x);
    check(rill_sink_next(s, &after) == (status == RILL_OK ? RILL_AGAIN : RILL_OK),
          "an event that was not taken waits", "rill_event", after.kind);
    rill_sink_free(s);
    return status;
}

static rill_status pool_opts_call(void *x)
{
    rill_pool *p = NULL;
    rill_status s = rill_pool_new(&p, x, &err);
    rill_pool_free(p);
    return s;
}

/* fills: the function writes the struct; otherwise it reads it. */
static const struct call {
    const char *name;
    const struct sized *type;
    rill_status (*call)(void *x);
    int fills;
} calls[] = {
    { "rill_model_open_with", &sized_model_opts, model_opts_call, 0 },
    { "rill_plan_new", &sized_plan_opts, plan_opts_call, 0 },
    { "rill_pool_new", &sized_pool_opts, pool_opts_call, 0 },
    { "rill_sink_new", &sized_sink_opts, sink_opts_call, 0 },
    { "rill_sink_listen", &sized_sink_opts, listen_call, 0 },
    { "rill_port_align, port", &sized_port, port_align_call, 0 },
    { "rill_sink_defaults", &sized_sink_opts, sink_defaults_call, 1 },
    { "rill_model_get_info", &sized_model_info, model_info_call, 1 },
    { "rill_plan_get_info", &sized_plan_info, plan_info_call, 1 },
    { "rill_plan_ports", &sized_port, ports_call, 1 },
    { "rill_plan_port_shape", &sized_shape, shape_call, 1 },
    { "rill_stream_profile", &sized_step_time, profile_call, 1 },
    { "rill_port_align", &sized_alignment, alignment_call, 1 },
    { "rill_sink_next", &sized_event, event_call, 1 },
};

/* ---- callers of all ages ---- */

/* Begins with its size; the rest is filled. */
static unsigned char *struct_of(uint32_t bytes, size_t block_bytes, int fill)
{
    unsigned char *x = malloc(block_bytes);
    memset(x, fill, block_bytes);
    memcpy(x, &bytes, block_bytes < sizeof bytes ? block_bytes : sizeof bytes);
    return x;
}

static void hostile(const struct call *c)
{
    const uint32_t own = c->type->bytes,
                   sizes[] = { 0,
                               1,
                               sizeof(uint32_t),
                               sizeof(void *),
                               c->type->first_bytes - 1,
                               SIZED_BYTES_MAX + 1,
                               INT32_MAX,
                               UINT32_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *x = struct_of(sizes[i], own, 0x5a), was[4];
        memcpy(was, x, sizeof was);
        err.text[0] = '\0';
        check(c->call(x) == RILL_INVALID, "a size that is none", c->name, sizes[i]);
        check(!c->fills || (x[4] == 0x5a && x[own - 1] == 0x5a && !memcmp(x, was, sizeof was)),
              "nothing is written", c->name, sizes[i]);
        check(!*err.text || strstr(err.text, c->type->name), "the text names it", c->name,
              sizes[i]);
        free(x);
    }
}

static void newer(const struct call *c)
{
    const uint32_t own = c->type->bytes;
    unsigned char *same = struct_of(own, own, 0), *longer = struct_of(own + MORE, own + MORE, 0);
    check(c->call(same) == RILL_OK, "one of this version", c->name, own);
    if (c->fills)
        memset(longer + own, 0x5a, MORE);
    check(c->call(longer) == RILL_OK, "one of a later version", c->name, own + MORE);
    if (c->fills) {
        unsigned char zeros[MORE] = { 0 };
        check(!memcmp(longer + own, zeros, MORE), "what it has more is 0", c->name, own + MORE);
        check(((uint32_t *) (void *) longer)[0] == own + MORE, "the size stays", c->name, own);
    } else {
        longer[own + MORE - 1] = 1;
        check(c->call(longer) == RILL_INVALID, "asks for what there is not", c->name, own + MORE);
        check(c->type == &sized_port || strstr(err.text, "later rill"), "the text says so", c->name,
              own + MORE);
    }
    free(same);
    free(longer);
}

/* What a library does that was built later: its struct is longer than that of the first version. */
struct later {
    uint32_t struct_bytes, a;
    uint64_t b, c;
};

static void older(void)
{
    static const struct sized type = { "later", offsetof(struct later, b), sizeof(struct later) };
    const struct later full = { sizeof full, 1, 2, 3 };
    const uint32_t sizes[] = { offsetof(struct later, b), offsetof(struct later, c), sizeof full };
    for (uint32_t i = 0; i < 3; i++) {
        unsigned char *x = struct_of(sizes[i], sizes[i], 0x5a);
        struct later taken;
        check(sized_give(&type, x, &full, &err) == RILL_OK &&
                  !memcmp(x + 4, (const char *) &full + 4, sizes[i] - 4),
              "an older caller gets what it knows", "later", sizes[i]);
        check(sized_take(&type, &taken, x, &err) == RILL_OK && taken.struct_bytes == sizeof taken &&
                  taken.a == 1 && taken.b == (i > 0 ? 2 : 0) && taken.c == (i > 1 ? 3 : 0),
              "what an older caller lacks is 0", "later", sizes[i]);
        free(x);
    }
}

/* Ports of a newer caller lie as far apart as it says. */
static void arrays(void)
{
    rill_port own[2] = { { .struct_bytes = sizeof *own } };
    const uint32_t stride = sizeof *own + MORE;
    unsigned char *x = struct_of(stride, 2 * (size_t) stride, 0x5a);
    rill_plan_ports(plan, own, 2);
    check(rill_plan_ports(plan, (rill_port *) (void *) x, 2) == 2, "two ports", "array", stride);
    for (uint32_t i = 0; i < 2; i++) {
        rill_port *p = (rill_port *) (void *) (x + i * (size_t) stride);
        check(p->struct_bytes == stride && p->name == own[i].name &&
                  p->is_input == own[i].is_input && p->offset_den == own[i].offset_den,
              "as in an array of this version", "array", i);
    }
    check(rill_plan_ports(plan, NULL, 0) == 2, "how many there are", "array", 0);
    check(rill_stream_profile(stream, NULL, 0) > 0, "how many steps there are", "array", 0);
    free(x);
}

int main(void)
{
    const rill_plan_opts profile = { .struct_bytes = sizeof profile, .profile = 1 };
    if (rill_model_builtin(&model, rill_model_builtin_name(0), &err) ||
        rill_plan_new(&plan, model, &profile, &err))
        return printf("%s\n0 passed, 1 failed\n", err.text), 1;
    void *mem = aligned_alloc(64, (rill_plan_stream_size(plan) + 63) & ~(size_t) 63);
    stream = rill_stream_init(mem, plan);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        hostile(&calls[i]);
        newer(&calls[i]);
    }
    older();
    arrays();
    free(mem);
    rill_plan_unref(plan);
    rill_model_free(model);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
