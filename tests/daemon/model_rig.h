/* SPDX-License-Identifier: MIT */
/* model_rig.h - models of fake_rill.c in a daemon's folder, and streams that tell them apart. */
#ifndef TEST_DAEMON_MODEL_RIG_H
#define TEST_DAEMON_MODEL_RIG_H

#include "tests/daemon/harness.h"

#define N_FRAMES 16000

extern float sound[N_FRAMES];

void sound_make(void);
struct rill_client *client(const char *sock);
void path_in(char ret[256], const struct rig *r, const char *name);
/* The file is replaced as installers do it: a new one is renamed over it. */
void text_put(const char *path, const char *text);
void model_put(const struct rig *r, const char *name, const char *text);
struct rill_client_open open_of(const char *model);
int open_code(struct rig *r, const char *name); /* the error's; 0 if it opens */
/* The volume of what a whole stream of `model` gives back: 1, 0.5; 0 if it failed. Words in err. */
float volume_of(struct rig *r, const char *model, char err[512]);

/* A stream that is sent bit by bit while something else happens. */
struct slow_stream {
    struct rill_client *c;
    struct result got;
    size_t at;
};

void slow_open(struct slow_stream *s, struct rig *r, const char *model);
void slow_send(struct slow_stream *s, size_t n);
/* Sends the rest. Every sample came back, at that volume and to the bit. */
void slow_close(struct slow_stream *s, float volume);

struct counted {
    const char *model;
    uint64_t opened, streams;
    char state[16];
};

struct counted count_of(struct rill_client *ctl, const char *model);
bool state_comes(struct rill_client *ctl, const char *model, const char *state, int timeout_ms);

#endif
