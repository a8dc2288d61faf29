/* SPDX-License-Identifier: MIT */
/* Lanes of ports, called as the loop and a worker call them: what one takes is told before, and
 * what comes out lies on the right side of a reset. */
#include "daemon/compute/lane.h"
#include "daemon/compute/plan_ports.h"
#include "daemon/compute/ports.h"
#include "tests/daemon/harness.h"

#include <unistd.h>

#define TEXT_BYTES 65536
#define BESIDE_MAX 200

/* y = x and all that lies beside it. */
static void text_make(char *to, unsigned n_beside)
{
    size_t at = (size_t) snprintf(to, TEXT_BYTES, "version 1.0;\ngraph g(x");
    for (unsigned i = 0; i < n_beside; i++)
        at += (size_t) snprintf(to + at, TEXT_BYTES - at, ", k%u", i);
    at += (size_t) snprintf(to + at, TEXT_BYTES - at,
                            ") -> (y)\n{\n    x = external<integer>(shape = [S, 2]);\n");
    for (unsigned i = 0; i < n_beside; i++)
        at += (size_t) snprintf(to + at, TEXT_BYTES - at,
                                "    k%u = external<integer>(shape = [1]);\n", i);
    at += (size_t) snprintf(to + at, TEXT_BYTES - at, "    y = x");
    for (unsigned i = 0; i < n_beside; i++)
        at += (size_t) snprintf(to + at, TEXT_BYTES - at, " + k%u", i);
    snprintf(to + at, TEXT_BYTES - at, " + 1;\n}\n");
}

struct made {
    rill_model *model;
    rill_plan *plan;
    struct lane_model lm;
    struct lane *lane;
    bool wanted[BESIDE_MAX + 2];
    struct lane_ports_opts o;
};

static bool made_begin(struct made *m, unsigned n_beside)
{
    static char text[TEXT_BYTES];
    char path[] = "/tmp/rill-lane-XXXXXX.nnef";
    rill_error err = { .text = "" };
    int fd = mkstemps(path, 5);
    *m = (struct made) { .model = NULL };
    text_make(text, n_beside);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text) &&
        rill_model_open(&m->model, path, &err) == RILL_OK &&
        rill_plan_new(&m->plan, m->model, NULL, &err) == RILL_OK;
    close(fd);
    unlink(path);
    if (!CHECK(good, "%s", err.text))
        return false;
    m->wanted[n_beside + 1] = true;
    m->o = (struct lane_ports_opts) { .is_wanted = m->wanted };
    m->lm = (struct lane_model) { .plan = m->plan, .run_us = 1, .pulse_us = 1000 };
    m->lane = lane_new_ports(&m->lm, &m->o);
    return CHECK(m->lane != NULL);
}

static void made_end(struct made *m)
{
    lane_free(m->lane);
    rill_plan_unref(m->plan);
    rill_model_free(m->model);
}

/* What is claimed before a lane is made is no less than what its rings take, and little more. */
static void test_most(unsigned n_beside)
{
    struct made m;
    unsigned n = 0;
    if (!made_begin(&m, n_beside))
        return;
    rill_port *ports = plan_ports(m.plan, &n);
    size_t most = lane_ports_most(ports, n, &m.o),
           has = lane_ports_bytes(m.lane->ports) - sizeof *m.lane->ports -
        n * sizeof *m.lane->ports->list;
    CHECK(most >= has && most <= has + has / 8, "%u beside: %zu bytes claimed, %zu taken", n_beside,
          most, has);
    free(ports);
    made_end(&m);
}

static void steps(struct lane *l)
{
    enum lane_result ret = LANE_WORKED;
    for (int k = 0; k < 200 && ret == LANE_WORKED; k++)
        lanes_step(&l, 1, &ret);
}

static size_t output_take(struct lane *l)
{
    static unsigned char bytes[65536];
    struct ring *y = &l->ports->list[1].ring;
    size_t n = ring_used(y);
    ring_read(y, bytes, n);
    return n / l->ports->list[1].frame_bytes;
}

static void records_take(struct lane *l, unsigned *n_resets)
{
    struct lane_rec r;
    while (ring_used(&l->recs)) {
        ring_read(&l->recs, &r, 1);
        *n_resets += r.kind == LANE_RESET;
    }
}

/* The loop sends frames first and reads the record of the reset then: what comes between the two
 * would be sent as if it had come before. */
static void test_reset(void)
{
    struct made m;
    unsigned n_resets = 0;
    if (!made_begin(&m, 0))
        return;
    struct lane *l = m.lane;
    unsigned pulse = l->ports->list[0].info.pulse_frames;
    int64_t x[4096] = { 0 };
    struct {
        uint64_t port, count;
    } reset = { COMMAND_RESET, 2 * pulse };
    if (!CHECK(pulse <= 256, "a pulse of %u", pulse))
        return;
    ring_write(&l->ports->list[0].ring, x, 2 * pulse * 16);
    CHECK(lane_ports_command(l->ports, (const struct lane_command *) (const void *) &reset));
    ring_write(&l->ports->list[0].ring, x, 3 * pulse * 16);
    steps(l);
    size_t before = output_take(l);
    CHECK(before == 2 * pulse, "%zu frames before the reset, a pulse is %u", before, pulse);
    steps(l);
    CHECK(output_take(l) == 0, "frames of the next sequence before the record of the reset");
    records_take(l, &n_resets);
    CHECK(n_resets == 1, "%u", n_resets);
    steps(l);
    CHECK(output_take(l) == 3 * pulse);
    made_end(&m);
}

int main(void)
{
    const unsigned beside[] = { 0, 1, 40, BESIDE_MAX };
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        test_most(beside[i]);
    test_reset();
    return check_end();
}
