/* SPDX-License-Identifier: MIT */
/* daemon.h - everything that the loop thread owns. Workers see lanes only. */
#ifndef RILL_DAEMON_DAEMON_H
#define RILL_DAEMON_DAEMON_H

#include "daemon/base/conf.h"
#include "daemon/base/figures.h"
#include "daemon/watch/health.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/notify.h"
#include "daemon/compute/pcm.h"
#include "daemon/models/registry.h"
#include "daemon/net/net.h"
#include "daemon/net/quota.h"
#include "daemon/base/turns.h"
#include "daemon/compute/worker.h"
#include "daemon/serve/claim.h"
#include "daemon/serve/meter.h"
#include "daemon/base/worst.h"
#include "rilld.pb-c.h"

#include <sys/types.h>

#define WORKERS_MAX 128 /* twice the most of the settings */

struct daemon;
struct conn;
struct topic;

/* Of streams: what is claimed of the compute threads, of the loop, and of the machine. */
struct load {
    double compute, loop, all;
};

/* One stream, as the loop sees it. Outlives its connection until the worker let its lane go. */
struct session {
    struct stream_link link; /* of its connection, while that is there */
    struct daemon *daemon;
    struct conn *conn;    /* NULL once the client is gone */
    struct session *next; /* of the daemon */
    uint32_t id, req, serial;
    uint32_t end_req; /* of the message that ends it; Finished carries it */
    struct model *model;
    struct lane *lane; /* NULL while the model loads */
    struct worker *worker;
    struct pcm in, out;
    bool live, align, want_audio, want_vad, want_text, want_keyword, want_endpoint, finishing, gone;
    uint32_t want_mask, max_latency_ms;
    uint64_t audio_us; /* of the newest audio */
    struct stream_options options;
    unsigned char *partial,
        *event; /* the newest one that was not sent; room to read one; NULL: no words are wanted */
    size_t partial_bytes; /* 0 = none waits */
    struct lane_rec vad;  /* the newest probability that was not sent */
    bool vad_waits;
    struct topic *topic; /* NULL: not published */
    bool mute, complete; /* the topic alone gets the outputs; it ended as it should */
    uint64_t told;       /* how far in the input rate what it said goes */
    uint64_t bypassed;   /* samples that went past the model */
    uint32_t uid;
    struct owner *owner;
    size_t counted_bytes; /* of memory, for the owner */
    uint32_t seq_in, seq_out;
    uint64_t pos_in, window;     /* next position; samples that may wait */
    uint64_t received, granted;  /* counts of samples, without jumps */
    uint64_t marked, marked_pos; /* where it began afresh: counts of samples, position */
    bool any_audio;
    uint64_t sent, dropped, not_finite, vad_frames, skipped, late;
    uint64_t compute_us, counted_us, misses, opened_us;
    uint64_t audio_noted; /* samples already in the model's sums */
    uint32_t max_chunk_us;
    struct claim used;                             /* of late, as shares of a processor */
    double loop_ns;                                /* the loop's work for it since the last tick */
    uint32_t n_said;                               /* messages since then */
    uint64_t told_spent_ns, told_ran_ns, told_ran; /* up to here its lane's were read */
    struct hist compute, queue;
    struct figures *figures; /* of its model; NULL until it runs */
    uint64_t gap_samples;    /* of the input rate, whatever the reason */
};

struct daemon {
    uv_loop_t loop;
    uv_async_t progress;
    uv_timer_t tick;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uint64_t polled_us;  /* when the loop last went to wait */
    uint64_t stalled_us; /* when it had before, if it stood still since then; 0: it did not */
    uv_signal_t sig_term, sig_int, sig_hup;
    struct conf conf;
    char conf_path[512];
    bool conf_may_miss;
    char instance_id[33];
    struct log log;
    struct memory memory;
    struct registry registry;
    struct figures_all figures;
    struct worst worst;
    bool profiling; /* a model's steps are being timed */
    struct worker *workers;
    unsigned n_workers, n_live; /* all; the first of them, which live streams run in */
    unsigned n_processors;
    struct meter meter;    /* of the loop */
    struct cost loop_cost; /* of a pulse's messages, in nanoseconds of the loop */
    uint64_t metered_us;
    bool trying; /* a model is tried out again */
    struct net net;
    struct session *sessions;
    struct topic *topics;
    uint32_t n_sessions, next_serial;
    uint64_t streams_opened, streams_refused;
    struct load load; /* of the live streams that were let in */
    uint64_t started_us, started_wall_us, tick_us, drain_until_us, next_summary_us;
    uint64_t next_memory_us; /* when what is in memory is looked at again */
    bool memory_full;        /* without clients; that has been said */
    uint64_t watchdog_us, next_pet_us;
    struct health health;
    uint32_t last_pump; /* stream that had the last turn */
    struct turns turns;
    bool ready, draining, stopping;
    int preloads_left, exit_code;
    struct reload *reload, *next_reload; /* that runs; that is asked for */
    uint64_t reload_from_us;             /* the next one may run */
};

/* --- client.c --- */
extern const struct conn_calls client_calls;

/* --- proto.c: what a message does --- */
void proto_frame(struct conn *c, const uint8_t *bytes, size_t n);

/* --- session.c --- */
void session_open(struct conn *c, uint32_t req, const Rill__OpenStream *m);
void session_audio(struct session *s, const Rill__Audio *m);
void session_finish(struct session *s, uint32_t req);
void session_reset(struct session *s, uint32_t req);
void session_cancel(struct session *s, uint32_t req, bool tell);
void session_pump(struct session *s); /* sends what the lane has; may end the session */
/* It is a live stream, and no more messages of it came in this tick than a microphone sends. */
bool session_pays(const struct session *s);
void sessions_pump(struct daemon *d);
void sessions_drop(struct conn *c);                    /* the connection is going */
void sessions_idle(struct daemon *d, uint64_t now_us); /* ends live streams that get no audio */
uint64_t session_output_bytes_per_s(const struct session *s);

/* --- events.c: what streams say, as messages --- */
bool events_make(struct session *s); /* false without memory */
void events_take(struct session *s, const struct lane_rec *r);
void events_vad(struct session *s, const struct lane_rec *r);
/* the newest partial and probability, if the client reads or it is the end */
void events_flush(struct session *s, bool last);
/* --- limits.c: who may have how much, and for how long without using it --- */
size_t session_bytes(const struct session *s);
/* Asks for firm memory; models that nobody streams with give way to it. */
enum memory_answer memory_claim(struct daemon *d, struct owner *o, enum memory_kind k,
                                size_t bytes);
void memory_conf(struct daemon *d); /* the limits, as the settings say */
void memory_tick(struct daemon *d, uint64_t now_us);
/* NULL: one more stream may be opened */
const char *quota_open(const struct conn *c, const struct daemon *d);
/* NULL: it may run at that share of a thread */
const char *quota_run(const struct session *s, double cost);
void socket_fit(struct conn *c);                  /* when its streams change */
bool idle_check(struct conn *c, uint64_t now_us); /* true: it is closed */
bool idle_stream(const struct session *s, uint64_t now_us);

/* --- topic.c: what a published stream gives, for many subscribers --- */
void topic_publish(struct conn *c, uint32_t req, const Rill__Publish *m);
void topic_subscribe(struct conn *c, uint32_t req, const Rill__Subscribe *m);
/* false: there is no such subscription */
bool sub_cancel(struct conn *c, uint32_t req, uint32_t id);
bool stream_taken(const struct conn *c, uint32_t id); /* by a session or a subscription */
void topic_audio(struct topic *t, const struct lane_rec *r, uint64_t pos, const float *x, size_t n);
void topic_rec(struct topic *t, const struct lane_rec *r, const unsigned char *event);
void topic_pump(struct topic *t);
/* Subscribers are told that instead of Finished, once the topic has ended. Takes NULL. */
void topic_fail(struct topic *t, Rill__Code code, const char *text);
/* takes NULL; subscribers still get what is kept for them */
void topic_end(struct topic *t, bool cancelled);
void topics_sweep(struct daemon *d); /* what nobody needs any more */
void subs_pump(struct conn *c);
void subs_drop(struct conn *c);
uint32_t subs_lag_ms(const struct conn *c); /* of live sources, the longest */
/* true: a source of it ended so long ago that whoever reads has read the rest */
bool subs_overdue(const struct conn *c, uint64_t now_us);
void topics_stood_still(struct daemon *d, uint64_t us); /* that long, and nobody could read */
/* in order of names, those past `after`; *ret_more: there are more than cap */
size_t topics_list(const struct conn *c, const char *after, Rill__TopicInfo *infos, Rill__Pcm *pcms,
                   Rill__Output (*outputs)[5], size_t cap, bool *ret_more);
const char *topic_name(const struct topic *t); /* "" for NULL */
struct sub_look {
    struct conn *conn;
    uint32_t id, in_rate, lag_ms;
    const char *topic, *model;
    struct pcm out;
    bool live;
    uint64_t given, sent, lost, opened_us; /* given and lost: at in_rate */
    size_t bytes;
};
/* the first subscription in (conn, stream) order after those numbers; false: there is none */
bool sub_after(const struct daemon *d, uint32_t conn, uint32_t stream, struct sub_look *ret);
/* as memory.h wants it */
size_t topics_shorten(void *daemon, const struct owner *o, size_t longer_bytes);

/* --- admit.c --- */
bool admit_full(struct daemon *d); /* no live stream could be let in, whatever its model */
/* NULL: there is no room */
struct worker *admit_worker(struct daemon *d, bool live, const struct model *m);
/* Up to what live streams are let in, while as much of the machine is had as of late. */
struct load admit_budget(const struct daemon *d);
double admit_contention(const struct daemon *d); /* share of the time asked for that was had */
/* Live streams that were let in claim more than the processors have, as far as they were had of
 * late. */
bool admit_over(const struct daemon *d);
const char *admit_words(struct daemon *d); /* why admit_worker gave none for a live stream */
uint32_t admit_retry_ms(struct daemon *d);
const char *admit_policy_name(const struct daemon *d, const struct model *m);
void admit_relief(const struct session *s, struct lane_opts *o);
void admit_conf(struct daemon *d); /* settings of overload, to the workers */
void admit_tick(struct daemon *d);
void admit_stats(const struct daemon *d, Rill__StatsReply *a);
void admit_polls(struct daemon *d); /* the loop goes to wait */
/* since when the loop stood still before this; 0: it did not */
uint64_t admit_stalled_us(const struct daemon *d);

/* --- stats.c --- */
void stats_summary(struct daemon *d);
uint32_t sessions_running(const struct daemon *d);
void stats_reply(struct conn *c, uint32_t req, const char *after_model);
void status_reply(struct conn *c, uint32_t req, const char *after_model);
void top_reply(struct conn *c, uint32_t req);
void sessions_reply(struct conn *c, uint32_t req, uint32_t after_conn, uint32_t after_stream);
void info_reply(struct conn *c, uint32_t req, const Rill__Info *m);

/* --- metrics.c --- */
/* to be freed; NULL without memory. open: OpenMetrics, not Prometheus' older text */
char *metrics_text(struct daemon *d, bool open, size_t *ret_bytes);
void metrics_reply(struct conn *c, uint32_t req);

/* --- memory_reply.c --- */
void memory_reply(struct conn *c, uint32_t req);

/* --- profile.c --- */
void worst_reply(struct conn *c, uint32_t req, const char *model, bool profile);

/* --- loop.c --- */
int daemon_run(struct daemon *d); /* exit code */

/* --- drain.c --- */
void daemon_drain(struct daemon *d, uint32_t grace_ms);
void drain_tick(struct daemon *d, uint64_t now_us);

/* --- reload.c --- */
void reload_start(struct daemon *d, struct conn *c, uint32_t req); /* c may be NULL */
void reload_tick(struct daemon *d, uint64_t now_us); /* runs what is asked for, if it is time */
void reload_drop(struct daemon *d);                  /* what did not run */
void reload_forget(struct daemon *d, const struct conn *c);
bool daemon_preload(struct daemon *d);

#endif
