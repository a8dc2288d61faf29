/* SPDX-License-Identifier: MIT */
/* The C client's calls for ports, against models in folders: what they say, live and as files, in
 * company, and what is refused. What comes is worked out here. */
#include "tests/daemon/harness.h"

#include <math.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH 4000
#define CLIENTS 6
#define PORTS_NAMES 1500
#define BROAD_PULSE_BYTES 16000 /* 40 samples of 100 channels */

static struct rig r;

/* ---- models ---- */

static void file_put(const char *model, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/models/%s", r.dir, model);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/models/%s/%s", r.dir, model, name);
    FILE *f = fopen(path, "w");
    if (CHECK(f && fputs(text, f) >= 0, "%s", path))
        fclose(f);
}

/* y = x + 2k, whether x is more than k; k beside the stream. Frames of z are as many as of y. */
static void models_make(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/models", r.dir);
    mkdir(path, 0700);
    file_put("count", "model.conf", "[model]\nsummary = counts\n");
    file_put("count", "graph.nnef",
             "version 1.0;\ngraph g(x, k) -> (y, z)\n{\n"
             "    x = external<integer>(shape = [S, 2]);\n    k = external<integer>(shape = [1]);\n"
             "    y = x + k + k;\n    z = x > k;\n}\n");
    file_put("timed", "model.conf", "[model]\nsample_rate = 16000\n[input.x]\nkind = audio\n");
    file_put("timed", "graph.nnef",
             "version 1.0;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [1, 1, S]);\n"
             "    w = [[[1.0, 1.0, 1.0]]];\n"
             "    y = conv(x, w, 0.0, stride = [3], padding = [(0, 0)], dilation = [1]);\n}\n");
    file_put("broad", "model.conf",
             "[model]\nsample_rate = 16000\npulse = 40\n[input.x]\nkind = audio\n");
    file_put("broad", "graph.nnef",
             "version 1.0;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [1, 1, S]);\n"
             "    y = tile(x, repeats = [1, 100, 1]);\n}\n");
}

/* ---- what comes ---- */

struct got {
    int64_t y[2 * LENGTH];
    unsigned char z[2 * LENGTH];
    size_t n_y, n_z; /* bytes */
    bool in_order;
};

static void on_frames(void *arg, const struct rill_client_frames *f)
{
    struct got *g = arg;
    bool is_y = !strcmp(f->port, "y");
    size_t *n = is_y ? &g->n_y : &g->n_z, frame = is_y ? 16 : 2;
    g->in_order &= f->pos * frame == *n && !f->at_bytes && f->bytes % frame == 0;
    if (*n + f->bytes <= (is_y ? sizeof g->y : sizeof g->z))
        memcpy((is_y ? (unsigned char *) g->y : g->z) + *n, f->data, f->bytes);
    *n += f->bytes;
}

static struct rill_client *client_new(struct got *g)
{
    struct rill_client *c = client_of(r.sock, "ports");
    *g = (struct got) { .in_order = true };
    rill_client_set_frames(c, on_frames, g);
    return c;
}

static int64_t value_at(size_t i, int seed)
{
    return (int64_t) (i * 7 + (size_t) seed) % 23 - 9;
}

static void count_check(const struct got *g, size_t n, int seed, int64_t k)
{
    bool good = g->n_y == n * 16 && g->n_z == n * 2 && g->in_order;
    for (size_t i = 0; good && i < 2 * n; i++)
        good = g->y[i] == value_at(i, seed) + 2 * k && g->z[i] == (value_at(i, seed) > k);
    CHECK(good, "%zu and %zu bytes of %zu frames, in order: %d", g->n_y, g->n_z, n, g->in_order);
}

static bool count_push(struct rill_client *c, size_t from, size_t n, int seed)
{
    int64_t x[2 * LENGTH];
    for (size_t i = 0; i < 2 * n; i++)
        x[i] = value_at(2 * from + i, seed);
    return CHECK_OF(c, rill_client_push(c, 1, "x", RILL_CLIENT_TYPE_I64, x, n) == 0);
}

static const struct rill_client_open_ports count_open = { .model = "count",
                                                          .pace = RILL_CLIENT_FILE };

/* ---- tests ---- */

static void test_says(void)
{
    struct got g;
    struct rill_client *c = client_new(&g);
    const struct rill_client_port *p;
    struct rill_client_finished fin;
    CHECK_OF(c, rill_client_model_ports(c, "count", NULL, NULL) == 0);
    CHECK_OF(c, rill_client_open_ports(c, 1, &count_open) == 0);
    size_t n = rill_client_ports(c, 1, &p);
    if (!CHECK(n == 4, "%zu ports", n))
        return;
    CHECK(!strcmp(p[0].name, "x") && p[0].is_input && !p[0].is_set &&
          p[0].type == RILL_CLIENT_TYPE_I64 && p[0].frame_bytes == 16 && p[0].n_dims == 1 &&
          p[0].dims[0] == 2 && p[0].time_axis == 0 && p[0].hop_num == 1 && p[0].hop_den == 1);
    CHECK(p[1].is_set && p[1].hop_num == 0 && p[1].frame_bytes == 8);
    CHECK(p[3].type == RILL_CLIENT_TYPE_BOOL && p[3].is_wanted && p[3].element_bytes == 1 &&
          !strcmp(rill_client_type_name(p[3].type), "bool") && !strcmp(p[3].kind, "tensor"));
    CHECK(rill_client_model_ports(c, "count", NULL, NULL) == 4);
    CHECK(rill_client_model_ports(c, "nothing", NULL, NULL) == -1 &&
          strstr(rill_client_error(c), "NO_MODEL"));
    CHECK(rill_client_port_credit(c, 1, "k") == 4 && rill_client_port_credit(c, 1, "y") == 0);
    CHECK_OF(c, rill_client_push(c, 1, "k", RILL_CLIENT_TYPE_I64, &(int64_t) { 3 }, 1) == 0);
    CHECK(count_push(c, 0, 100, 1) && count_push(c, 100, 57, 1));
    CHECK_OF(c, rill_client_finish(c, 1, &fin) == 0);
    CHECK(fin.in == 157 && fin.out == 157 && fin.processed == 157 && !fin.dropped);
    CHECK(rill_client_ports(c, 1, &p) == 0);
    count_check(&g, 157, 1, 3);
    rill_client_free(c);
}

/* What a client gets wrong is told before it is sent, or by the daemon; the connection goes on. */
static void test_refused(void)
{
    struct got g;
    struct rill_client *c = client_new(&g);
    const int64_t one = 1;
    const char *nowhere[] = { "v", NULL };
    const struct rill_client_open_ports live = { .model = "count", .pace = RILL_CLIENT_LIVE },
                                        lost = { .model = "lost", .pace = RILL_CLIENT_FILE },
                                        want = { "count", RILL_CLIENT_FILE, nowhere };
    size_t n;
    CHECK(rill_client_open_ports(c, 1, &live) < 0 && strstr(rill_client_error(c), "states no rate"),
          "%s", rill_client_error(c));
    CHECK(rill_client_open_ports(c, 1, &lost) < 0 && strstr(rill_client_error(c), "NO_MODEL"));
    CHECK(rill_client_open_ports(c, 1, &want) < 0 &&
              strstr(rill_client_error(c), "no output 'v'; its outputs are 'y', 'z'"),
          "%s", rill_client_error(c));
    CHECK_OF(c, rill_client_open_ports(c, 1, &count_open) == 0);
    CHECK(rill_client_push(c, 1, "y", RILL_CLIENT_TYPE_I64, &one, 1) < 0 &&
          strstr(rill_client_error(c), "no input 'y'"));
    CHECK(rill_client_push(c, 1, NULL, RILL_CLIENT_TYPE_I64, &one, 1) < 0 &&
          strstr(rill_client_error(c), "several inputs"));
    CHECK(rill_client_push(c, 1, "k", RILL_CLIENT_TYPE_F32, &one, 1) < 0 &&
          strstr(rill_client_error(c), "takes i64, not f32"));
    CHECK(rill_client_push_some(c, 2, "k", RILL_CLIENT_TYPE_I64, &one, 1, &n) < 0 && n == 0);
    CHECK(rill_client_push(c, 1, "x", RILL_CLIENT_TYPE_I64, (int64_t[2]) { 1, 2 }, 1) == 0);
    CHECK(rill_client_finish(c, 1, NULL) < 0 && strstr(rill_client_error(c), "'k'"), "%s",
          rill_client_error(c));
    CHECK_OF(c, rill_client_open_ports(c, 1, &count_open) == 0 && rill_client_cancel(c, 1) == 0);
    CHECK_OF(c, rill_client_ping(c, NULL) == 0);
    rill_client_free(c);
}

/* Values that are set are those of the frames that follow. */
static void test_beside(void)
{
    struct got g;
    struct rill_client *c = client_new(&g);
    bool good = true;
    CHECK_OF(c, rill_client_open_ports(c, 1, &count_open) == 0);
    for (int64_t k = 0; k < 40; k++) {
        CHECK_OF(c, rill_client_push(c, 1, "k", RILL_CLIENT_TYPE_I64, &k, 1) == 0);
        count_push(c, (size_t) k * 100, 100, 0);
    }
    CHECK_OF(c, rill_client_finish(c, 1, NULL) == 0);
    for (size_t i = 0; i < 8000; i++)
        good &= g.y[i] == value_at(i, 0) + 2 * (int64_t) (i / 200);
    CHECK(good && g.n_y == 4000 * 16, "%zu bytes", g.n_y);
    rill_client_free(c);
}

/* Clients in company, each a bit further in turn: batches of one plan give what each gives alone.
 */
static void test_company(void)
{
    static struct got g[CLIENTS];
    struct rill_client *c[CLIENTS];
    for (int k = 0; k < CLIENTS; k++) {
        c[k] = client_new(&g[k]);
        CHECK_OF(c[k], rill_client_open_ports(c[k], 1, &count_open) == 0);
        CHECK_OF(c[k],
                 rill_client_push(c[k], 1, "k", RILL_CLIENT_TYPE_I64, &(int64_t) { k }, 1) == 0);
    }
    for (size_t at = 0; at < LENGTH; at += 250)
        for (int k = 0; k < CLIENTS; k++)
            count_push(c[k], at, 250, k);
    for (int k = 0; k < CLIENTS; k++) {
        CHECK_OF(c[k], rill_client_finish(c[k], 1, NULL) == 0);
        count_check(&g[k], LENGTH, k, k);
        rill_client_free(c[k]);
    }
}

/* ---- a model that states its rate, live ---- */

struct sums {
    float y[8000];
    size_t n;
};

static void on_sums(void *arg, const struct rill_client_frames *f)
{
    struct sums *s = arg;
    if (s->n + f->bytes / 4 <= sizeof s->y / 4)
        memcpy(s->y + s->n, f->data, f->bytes);
    s->n += f->bytes / 4;
}

static void test_live(void)
{
    struct rill_client *c = client_of(r.sock, "live"), *other = client_of(r.sock, "audio");
    struct rill_client_open audio = OPEN(FILE, 16000, 1, F32, .model = "timed");
    const struct rill_client_open_ports o = { .model = "timed", .pace = RILL_CLIENT_LIVE };
    const struct rill_client_port *p;
    struct rill_client_finished fin;
    struct sums s = { .n = 0 };
    float x[1600];
    rill_client_set_frames(c, on_sums, &s);
    if (!CHECK_OF(c, rill_client_open_ports(c, 1, &o) == 0))
        return;
    if (!CHECK_OF(c, rill_client_ports(c, 1, &p) == 2))
        return;
    CHECK(p[1].hop_num == 3 && p[1].hop_den == 1 && p[1].rate_num == 16000 && p[1].rate_den == 3 &&
              !strcmp(p[0].kind, "audio"),
          "hop %u / %u, rate %u / %u", p[1].hop_num, p[1].hop_den, p[1].rate_num, p[1].rate_den);
    for (int i = 0; i < 1600; i++)
        x[i] = (float) (i % 16);
    x[7] = NAN;
    for (int k = 0; k < 5; k++)
        CHECK_OF(c, rill_client_push(c, 1, "x", RILL_CLIENT_TYPE_F32, x, 1600) == 0);
    CHECK_OF(c, rill_client_finish(c, 1, &fin) == 0);
    x[7] = 0;
    bool good = s.n == 2666;
    for (size_t i = 0; good && i < s.n; i++)
        good = s.y[i] == x[3 * i % 1600] + x[(3 * i + 1) % 1600] + x[(3 * i + 2) % 1600];
    CHECK(good, "%zu frames", s.n);
    CHECK(fin.not_finite == 5 && fin.audio_us == 500000, "%llu not finite, %llu us",
          LLU(fin.not_finite), LLU(fin.audio_us));
    CHECK(rill_client_open(other, 1, &audio, NULL) < 0 &&
          rill_client_error_code(other) == RILL__CODE__MODEL_FAILED);
    rill_client_free(c);
    rill_client_free(other);
}

/* Whether a stream opens on the connection, whatever comes before the answer. */
static bool opens(int fd, uint32_t id)
{
    FRAME(open, o, OpenPorts, OPEN_PORTS, open_ports);
    Rill__ServerFrame *a;
    bool is_open = false;
    o.stream = id;
    o.model = (char *) (uintptr_t) "count";
    o.pace = RILL__PACE__PACE_FILE;
    raw_frame(fd, &open);
    while (!is_open && (a = raw_answer(fd, 15000))) {
        is_open = a->m_case == RILL__SERVER_FRAME__M_OPENED;
        rill__server_frame__free_unpacked(a, NULL);
    }
    return is_open;
}

/* A client that reads nothing gets no more than its window through, and slows nobody down. What its
 * stream had sent when it failed may still be read, however late. */
static void test_lazy(void)
{
    struct got g;
    struct rill_client *c = client_new(&g);
    uint8_t bytes[66000];
    int fd = raw_hello(r.sock);
    FRAME(open, o, OpenPorts, OPEN_PORTS, open_ports);
    FRAME(set, k, Frames, FRAMES, frames);
    FRAME(push, m, Frames, FRAMES, frames);
    int64_t x[2 * LENGTH] = { 0 };
    o.stream = k.stream = m.stream = 1;
    o.model = (char *) (uintptr_t) "count";
    o.pace = RILL__PACE__PACE_FILE;
    Rill__ServerFrame *a = raw_ask(fd, &open, 15000);
    uint64_t credit = a && a->opened && a->opened->n_ports ? a->opened->ports[0]->credit_frames : 0;
    if (a)
        rill__server_frame__free_unpacked(a, NULL);
    CHECK(credit >= LENGTH, "%llu", LLU(credit));
    k.port = (char *) (uintptr_t) "k";
    k.data.data = (uint8_t *) x;
    k.data.len = 8;
    m.port = (char *) (uintptr_t) "x";
    m.data.data = (uint8_t *) x;
    m.data.len = 16 * LENGTH;
    CHECK(raw_frame(fd, &set));
    for (; m.pos + LENGTH <= credit; m.pos += LENGTH)
        CHECK(raw_frame(fd, &push));
    CHECK_OF(c, rill_client_open_ports(c, 1, &count_open) == 0);
    CHECK_OF(c, rill_client_push(c, 1, "k", RILL_CLIENT_TYPE_I64, &(int64_t) { 1 }, 1) == 0);
    count_push(c, 0, LENGTH, 1);
    CHECK_OF(c, rill_client_finish(c, 1, NULL) == 0);
    count_check(&g, LENGTH, 1, 1);
    /* Past its credit. */
    m.pos = credit - credit % LENGTH;
    size_t n = frame_make(bytes, sizeof bytes, &push);
    for (int i = 0; i < 64; i++, m.pos += LENGTH) {
        usleep(20000); /* what it pushed before is computed */
        n = frame_make(bytes, sizeof bytes, &push);
        if (!raw_send(fd, bytes, n))
            break;
    }
    usleep(1500000); /* longer than a connection that is closed is written to */
    int code = raw_error(fd, 15000);
    CHECK(code == RILL__CODE__FLOW_CONTROL, "code %d", code);
    CHECK(opens(fd, 2));
    close(fd);
    rill_client_free(c);
}

/* Four pulses of a live stream wait in its socket, and their sender is not held up by a client that
 * reads late: of a model whose pulse is large, more than the kernel's least. */
static void test_live_socket(void)
{
    int fd = raw_hello(r.sock), n = 0;
    FRAME(open, o, OpenPorts, OPEN_PORTS, open_ports);
    FRAME(push, m, Frames, FRAMES, frames);
    float x[1600] = { 0 };
    o.stream = m.stream = 1;
    o.model = (char *) (uintptr_t) "broad";
    o.pace = RILL__PACE__PACE_LIVE;
    Rill__ServerFrame *a = raw_ask(fd, &open, 15000);
    CHECK(a && a->opened, "%s", a && a->error ? a->error->text : "");
    if (a)
        rill__server_frame__free_unpacked(a, NULL);
    m.data.data = (uint8_t *) x;
    m.data.len = sizeof x;
    CHECK(raw_frame(fd, &push));
    for (int i = 0; i < 500 && n < 4 * BROAD_PULSE_BYTES; i++, usleep(10000))
        ioctl(fd, FIONREAD, &n);
    CHECK(n >= 4 * BROAD_PULSE_BYTES, "%d bytes wait in the socket, a pulse is %d", n,
          BROAD_PULSE_BYTES);
    close(fd);
}

static int names_ask(int fd, char *name, size_t n_names)
{
    char *want[4 * PORTS_NAMES];
    FRAME(open, o, OpenPorts, OPEN_PORTS, open_ports);
    for (size_t i = 0; i < n_names; i++)
        want[i] = name;
    o.stream = 1;
    o.model = (char *) (uintptr_t) "count";
    o.pace = RILL__PACE__PACE_FILE;
    o.want = want;
    o.n_want = n_names;
    return raw_frame(fd, &open) ? raw_error(fd, 15000) : 0;
}

/* More names than there are outputs are not looked for, and more parts than a message's memory
 * holds are told from bytes that are none. */
static void test_names_many(void)
{
    char y[] = "y";
    int fd = raw_hello(r.sock), more = names_ask(fd, y, 3),
        most = names_ask(fd, y, 4 * PORTS_NAMES);
    CHECK(more == RILL__CODE__BAD_ARG && most == RILL__CODE__TOO_LARGE, "codes %d and %d", more,
          most);
    close(fd);
}

/* The names that are wanted are the memory of the user from when they come. Two connections take
 * 394 kB of what there is. */
static void test_names_charged(void)
{
    char nothing[] = "an output that is not there";
    int fd = raw_hello(r.sock), other = raw_hello(r.sock);
    for (int i = 0; i < 20; i++) {
        int many = names_ask(fd, nothing, PORTS_NAMES), few = names_ask(fd, nothing, 1);
        if (!CHECK(many == RILL__CODE__QUOTA && few == RILL__CODE__BAD_ARG, "codes %d and %d", many,
                   few))
            break;
    }
    close(fd);
    close(other);
}

/* A daemon with the models and those limits. */
static bool begin(const char *limits)
{
    char more[300];
    rig_dir(&r);
    models_make();
    snprintf(more, sizeof more, "[models]\nmodel_path = %s/models\n[limits]\n%s\n", r.dir, limits);
    rig_conf(&r, more);
    return CHECK(rig_run(&r) && rig_wait_ready(&r));
}

int main(void)
{
    if (!begin(""))
        return check_end();
    test_says();
    test_refused();
    test_beside();
    test_company();
    test_live();
    test_lazy();
    test_live_socket();
    test_names_many();
    CHECK(rig_stop(&r) == 0);
    if (!begin("max_message_bytes = 65536\nmax_bytes_per_uid = 440000"))
        return check_end();
    test_names_charged();
    CHECK(rig_stop(&r) == 0);
    return check_end();
}
