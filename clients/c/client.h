/* SPDX-License-Identifier: MIT */
/* client.h - what the files of the C client share. */
#ifndef CLIENTS_C_CLIENT_H
#define CLIENTS_C_CLIENT_H
#include "clients/c/rill_client.h"
#include "rilld.pb-c.h"

#define MAX_MESSAGE_BYTES (1u << 20)
#define MAX_STREAMS 64

struct peer_port {
    uint64_t frames, limit_frames; /* sent; that may be sent */
    size_t part_bytes;             /* of the frame behind those */
};

struct peer_stream {
    Rill__ServerFrame *opened;      /* of a stream of ports: names are in it */
    struct rill_client_port *ports; /* so are these */
    struct peer_port *sent;         /* of each port */
    size_t n_ports;
    uint32_t id, seq;
    uint32_t frame_bytes;    /* of the input format */
    uint64_t pos, limit_pos; /* input rate */
    bool discont, ended, finished;
    struct rill_client_finished fin; /* if finished */
};

struct rill_client {
    int fd;
    unsigned timeout_ms;
    uint32_t max_message_bytes, req;
    bool dead;
    uint8_t *in; /* 4 + MAX_MESSAGE_BYTES */
    size_t in_fill;
    struct peer_stream streams[MAX_STREAMS];
    struct rill_client_events ev;
    void (*on_frames)(void *arg, const struct rill_client_frames *f);
    void *on_frames_arg;
    Rill__ServerFrame *answer; /* to the last request */
    Rill__ServerFrame *held;   /* what rill_client_status points into */
    int error_code;
    char error[768], server[64], text[768];
    char *metrics; /* what came of the last ctl_metrics */
    size_t metrics_bytes;
};

/* A message f on the stack whose only member is message_. */
#define MESSAGE(case_, member_, message_)                                                          \
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;                                                \
    f.m_case = RILL__CLIENT_FRAME__M_##case_;                                                      \
    f.member_ = &(message_)

/* ---- client.c ---- */

/* Keep the words for rill_client_error(); both return -1. fail_dead gives the connection up and
 * keeps words that are there already. */
__attribute__((format(printf, 3, 4))) int client_fail(struct rill_client *c, int code,
                                                      const char *format, ...);
int client_fail_dead(struct rill_client *c, const char *what);

const char *client_code_name(int code);
/* 0 finds a free one; NULL if none */
struct peer_stream *client_stream(struct rill_client *c, uint32_t id);
void client_stream_drop(struct peer_stream *s); /* frees what it has, and the slot */
void client_message_free(Rill__ServerFrame *f); /* takes NULL */

unsigned client_outputs(size_t n, const Rill__Output *outputs); /* bits of enum rill_client_want */
struct rill_client_pcm client_pcm(const Rill__Pcm *m);          /* takes NULL */

/* ---- wire.c ---- */

/* handles the whole messages in c->in; their number or -1 */
int client_messages(struct rill_client *c);
/* one round; a daemon that says nothing for timeout_ms, asked for a sign of life, is an error */
int client_wait(struct rill_client *c, const char *for_what);
int client_bytes_send(struct rill_client *c, const uint8_t *p, size_t n);
int client_send(struct rill_client *c, const Rill__ClientFrame *f);

/* Sends f with a number of its own and waits for the answer, which the caller frees. NULL on
 * failure, also where the answer is an Error or no `want`. */
Rill__ServerFrame *client_request(struct rill_client *c, Rill__ClientFrame *f,
                                  Rill__ServerFrame__MCase want, const char *what);

/* ---- events.c ---- */

void client_on_message(struct rill_client *c, Rill__ServerFrame *f); /* owns f */

/* ---- stream.c ---- */

void client_pcm_message(Rill__Pcm *m, const struct rill_client_pcm *p);
size_t client_wants(unsigned mask, Rill__Output want[5]);
/* NULL with words: it is not open */
struct peer_stream *client_running(struct rill_client *c, uint32_t id);
/* waits; frees the slot */
int client_finished(struct rill_client *c, struct peer_stream *s, struct rill_client_finished *ret);

/* ---- ask.c ---- */

/* Every page of Info; each_model and each_topic may be NULL. */
int client_info(struct rill_client *c,
                void (*each_model)(void *arg, const struct rill_client_model *m),
                void (*each_topic)(void *arg, const struct rill_client_topic *t), void *arg);

/* ---- figures.c ---- */

void client_stats(struct rill_client_stats *ret, const Rill__StatsReply *m,
                  void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg);
/* Those of the pages after `page`, which stays the caller's; asks for none where each is NULL. */
int client_stats_rest(struct rill_client *c, const Rill__StatsReply *page,
                      void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg);
void client_status(struct rill_client_status *ret, const Rill__StatusReply *m,
                   void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg);
void client_session(const Rill__Session *x,
                    void (*each)(void *arg, const struct rill_client_session *s), void *arg);
#endif
