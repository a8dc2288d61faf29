/* SPDX-License-Identifier: MIT */
/* The n-th allocation fails, for every n until none fails any more, while a model is opened
 * and planned: the answer is RILL_NOMEM with words and nothing beside it, or a plan that
 * gives the bits of one that had all its memory. Linked to the shim. Usage: test_open [FILE]... */
#include "tests/check.h"
#include "tests/faults/fault.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

#define PULSES 6
#define PORTS_MAX 64

struct fault_page *fault_shim_page(void);

static struct fault_page *page;

static void fault_arm(uint64_t at)
{
    atomic_store(&page->calls, 0);
    atomic_store(&page->hits, 0);
    atomic_store(&page->at, at);
    atomic_store(&page->kind, at ? FAULT_MALLOC : FAULT_NONE);
}

/* What came of one opening. */
struct outcome {
    rill_status status;
    rill_error err;
    uint64_t digest; /* of all that the stream gave */
};

/* FNV-1a, 64 bits. */
static uint64_t digest_add(uint64_t digest, const void *data, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        digest = (digest ^ ((const unsigned char *) data)[i]) * 1099511628211u;
    return digest;
}

static void noise_push(rill_stream *s, unsigned port, const rill_port *p, uint32_t *seed)
{
    size_t taken, n = (size_t) p->pulse_frames * p->width;
    float *x = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) (*seed) / 4294967296.0f;
    }
    rill_stream_push(s, port, x, p->pulse_frames, &taken);
    free(x);
}

static uint64_t port_pull(rill_stream *s, unsigned port, const rill_port *p, uint64_t digest)
{
    size_t given = 1;
    unsigned char *y = malloc((size_t) p->pulse_frames * p->width * p->element_bytes);
    while (given && rill_stream_pull(s, port, y, p->pulse_frames, &given) == RILL_OK)
        digest = digest_add(digest, y, given * p->width * p->element_bytes);
    free(y);
    return digest;
}

static uint64_t plan_digest(const rill_plan *plan)
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(plan) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, plan);
    static rill_port ports[PORTS_MAX];
    uint64_t digest = 14695981039346656037u;
    uint32_t seed = 5;
    ports[0].struct_bytes = sizeof *ports;
    unsigned n_ports = rill_plan_ports(plan, ports, PORTS_MAX);
    for (int t = 0; t < PULSES; t++) {
        for (unsigned i = 0; i < n_ports && ports[i].is_input; i++)
            noise_push(s, i, &ports[i], &seed);
        rill_status status = rill_stream_run(s);
        digest = digest_add(digest, &status, sizeof status);
        for (unsigned i = 0; i < n_ports; i++)
            digest = ports[i].is_input ? digest : port_pull(s, i, &ports[i], digest);
    }
    free(mem);
    return digest;
}

static rill_status model_open(rill_model **ret, const char *name, rill_error *reterr)
{
    return strchr(name, '/') ? rill_model_open(ret, name, reterr)
                             : rill_model_builtin(ret, name, reterr);
}

static struct outcome open_and_run(const char *name, uint64_t fail_at)
{
    struct outcome o = { 0 };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    fault_arm(fail_at);
    o.status = model_open(&m, name, &o.err);
    if (o.status == RILL_OK)
        o.status = rill_plan_new(&p, m, NULL, &o.err);
    atomic_store(&page->kind, FAULT_NONE);
    if (o.status == RILL_OK)
        o.digest = plan_digest(p);
    rill_plan_unref(p);
    rill_model_free(m);
    return o;
}

static void name_test(const char *name)
{
    struct outcome want = open_and_run(name, 0);
    uint64_t n = 0, refused = 0;
    if (want.status != RILL_OK)
        CHECK(false, "%s: %s", name, want.err.text);
    while (want.status == RILL_OK && ++n) {
        struct outcome o = open_and_run(name, n);
        if (!atomic_load(&page->hits))
            break;
        refused += o.status == RILL_NOMEM;
        if (o.status == RILL_OK)
            CHECK(o.digest == want.digest, "%s: allocation %llu: other bits", name, LLU(n));
        else
            CHECK(o.status == RILL_NOMEM && o.err.text[0], "%s: allocation %llu: status %d, '%s'",
                  name, LLU(n), o.status, o.err.text);
    }
    CHECK(refused > 10, "%s: %llu of %llu allocations are needed", name, LLU(refused), LLU(n));
}

int main(int argc, char **argv)
{
    page = fault_shim_page();
    setvbuf(stdout, NULL, _IONBF, 0);
    for (unsigned i = 0; rill_model_builtin_name(i); i++)
        name_test(rill_model_builtin_name(i));
    for (int i = 1; i < argc; i++)
        name_test(argv[i]);
    return check_done();
}
