/* SPDX-License-Identifier: MIT */
#include "tests/daemon/model_rig.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

float sound[N_FRAMES];

struct rill_client *client(const char *sock)
{
    struct rill_client *c = NULL;
    if (rill_client_connect(&c, sock, "models", 30000)) {
        printf("%s\n", rill_client_error(c));
        exit(1);
    }
    return c;
}

void sound_make(void)
{
    uint32_t seed = 7;
    for (int i = 0; i < N_FRAMES; i++)
        sound[i] = noise(&seed);
}

void path_in(char ret[256], const struct rig *r, const char *name)
{
    snprintf(ret, 256, "%s/models/%s", r->dir, name);
}

void text_put(const char *path, const char *text)
{
    char beside[400];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *f = fopen(beside, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) || rename(beside, path))
        give_up("%s: %s", path, strerror(errno));
}

void model_put(const struct rig *r, const char *name, const char *text)
{
    char path[256], file[300];
    path_in(path, r, "");
    mkdir(path, 0700);
    path_in(path, r, name);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        give_up("%s: %s", path, strerror(errno));
    snprintf(file, sizeof file, "%s/graph.nnef", path);
    text_put(file, text);
}

struct rill_client_open open_of(const char *model)
{
    return (struct rill_client_open) OPEN(FILE, 16000, 1, F32, .model = model, .align = true);
}

float volume_of(struct rig *r, const char *model, char err[512])
{
    struct rill_client_open o = open_of(model);
    struct result got;
    float v = 0, y;
    if (stream_whole(r->sock, &o, sound, 2000, sizeof(float), 700, &got, err) &&
        got.bytes == 2000 * sizeof y) {
        memcpy(&y, got.pcm + 1000 * sizeof y, sizeof y);
        v = y / sound[1000];
    }
    result_free(&got);
    return v;
}

void slow_open(struct slow_stream *s, struct rig *r, const char *model)
{
    struct rill_client_open o = open_of(model);
    memset(s, 0, sizeof *s);
    s->c = client(r->sock);
    result_listen(s->c, &s->got);
    s->got.frame_bytes = sizeof(float);
    CHECK_OF(s->c, rill_client_open(s->c, 1, &o, &s->got.opened) == 0);
}

void slow_send(struct slow_stream *s, size_t n)
{
    n = n < N_FRAMES - s->at ? n : N_FRAMES - s->at;
    CHECK_OF(s->c, rill_client_send(s->c, 1, sound + s->at, n * sizeof(float)) == 0);
    s->at += n;
}

void slow_close(struct slow_stream *s, float volume)
{
    static float want[N_FRAMES];
    slow_send(s, N_FRAMES);
    CHECK_OF(s->c, rill_client_finish(s->c, 1, &s->got.fin) == 0);
    for (int i = 0; i < N_FRAMES; i++)
        want[i] = sound[i] * volume;
    CHECK(s->got.bytes == sizeof want && memcmp(s->got.pcm, want, sizeof want) == 0 &&
              s->got.pos_good,
          "%zu bytes, in %llu, out %llu, dropped %llu, error %d", s->got.bytes, LLU(s->got.fin.in),
          LLU(s->got.fin.out), LLU(s->got.fin.dropped), s->got.error_code);
    rill_client_free(s->c);
    result_free(&s->got);
}

static void on_stats(void *arg, const struct rill_client_model_stats *m)
{
    struct counted *n = arg;
    if (strcmp(m->name, n->model))
        return;
    n->opened = m->streams_opened;
    n->streams = m->streams;
}

static void on_model(void *arg, const struct rill_client_model *m)
{
    struct counted *n = arg;
    if (!strcmp(m->name, n->model))
        snprintf(n->state, sizeof n->state, "%s", m->state);
}

struct counted count_of(struct rill_client *ctl, const char *model)
{
    struct counted n = { .model = model };
    struct rill_client_status st;
    CHECK(rill_client_ctl_status(ctl, &st, on_stats, &n) == 0 &&
          rill_client_info(ctl, on_model, &n) == 0);
    return n;
}

bool state_comes(struct rill_client *ctl, const char *model, const char *state, int timeout_ms)
{
    for (uint64_t end = now_ms() + (uint64_t) timeout_ms; now_ms() < end; usleep(50000))
        if (!strcmp(count_of(ctl, model).state, state))
            return true;
    return false;
}

int open_code(struct rig *r, const char *name)
{
    struct rill_client *c = client(r->sock);
    struct rill_client_open o = open_of(name);
    int code = rill_client_open(c, 1, &o, NULL) == 0 ? 0 : rill_client_error_code(c);
    rill_client_free(c);
    return code;
}
