/* SPDX-License-Identifier: MIT */
/* rill_client.h - talk to rilld over its Unix socket: a small blocking client.
 *
 *     struct rill_client *c;
 *     struct rill_client_open o = { .in = { 16000, 1, RILL_CLIENT_F32 },
 *                                   .pace = RILL_CLIENT_FILE, .align = true };
 *     if (rill_client_connect(&c, path, "my program", 0) ||
 *         (rill_client_set_events(c, &events), rill_client_open(c, 1, &o, NULL)) ||
 *         rill_client_send(c, 1, samples, bytes) || rill_client_finish(c, 1, NULL))
 *         puts(rill_client_error(c));
 *     rill_client_free(c);
 *
 * Threads: one rill_client is one connection and belongs to one thread at a time; different ones
 * are independent. The library has no globals, starts no threads, takes no signals (SIGPIPE is not
 * raised) and prints nothing.
 *
 * Waiting: calls that wait (open, send, finish, requests) read the socket meanwhile and hand what
 * arrives to the callbacks, on the same thread. Callbacks must not call back into the client. No
 * call is fit for a real-time thread.
 *
 * Errors: functions return 0, or -1 with words in rill_client_error() and, where the daemon
 * refused, the protocol's Code in rill_client_error_code(). A connection that ended makes every
 * later call fail the same way; a stream that ended with an error makes later calls on it fail, and
 * the others go on. A call that waits for the daemon fails when that has said nothing for the
 * timeout of rill_client_connect(). What takes longer, such as loading a model, is waited for: the
 * daemon is asked meanwhile whether it lives.
 *
 * Units: positions and counts of samples are per channel and of the input's rate where nothing else
 * is said; PCM is interleaved, little-endian; times end in _us or _ms; rtf is compute time over
 * audio time.
 *
 * Memory: what is passed in is read during the call only; strings and pointers in the structs that
 * callbacks get are valid during the callback. */
#ifndef RILL_CLIENT_H
#define RILL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default) /* what the library exports is what stands here */
#endif

struct rill_client;

/* The daemon rounds to whole numbers: to the nearest, halves to even (docs/protocol.md). */
enum rill_client_enc {
    RILL_CLIENT_S16 = 1,
    RILL_CLIENT_S24 = 2,
    RILL_CLIENT_S32 = 3,
    RILL_CLIENT_F32 = 4
};
enum rill_client_pace { RILL_CLIENT_LIVE = 0, RILL_CLIENT_FILE = 1 };
enum rill_client_want { /* bits */
                        RILL_CLIENT_AUDIO = 1u << 1,
                        RILL_CLIENT_VAD = 1u << 2,
                        RILL_CLIENT_TEXT = 1u << 3,
                        RILL_CLIENT_KEYWORD = 1u << 4,
                        RILL_CLIENT_ENDPOINT = 1u << 5
};
enum rill_client_edge { RILL_CLIENT_EDGE_NONE, RILL_CLIENT_EDGE_START, RILL_CLIENT_EDGE_END };

struct rill_client_pcm {
    uint32_t rate, channels;
    enum rill_client_enc enc;
};

struct rill_client_open {
    const char *model;              /* NULL or "" = the daemon's default */
    struct rill_client_pcm in, out; /* out.rate 0 = as in */
    enum rill_client_pace pace;
    bool align;              /* sample k of the output answers sample k of the input */
    uint32_t max_latency_ms; /* LIVE: audio that waited longer is dropped with a gap; 0 = never */
    unsigned want; /* RILL_CLIENT_AUDIO | ...; 0 = what the model has, endpoints only with texts */
    float vad_threshold; /* 0 = the model's; so for the next two */
    float vad_release;
    uint32_t vad_hangover_ms;
    const char *const *options; /* name, value, name, value, ..., NULL: of docs/protocol.md; NULL =
                                   none; at most 13 */
};

struct rill_client_opened {
    char model[65], sha256[65];
    struct rill_client_pcm model_pcm;
    uint32_t hop_samples;       /* at the model's rate */
    uint32_t latency_samples;   /* so much later than what it stands for audio comes; output rate */
    int32_t offset_samples;     /* input sample that output sample 0 stands for; output rate */
    uint32_t lookahead_samples; /* longest latency of an output, at the model's rate */
    uint64_t credit_samples;    /* first window, input rate */
    unsigned outputs;           /* RILL_CLIENT_AUDIO | ... */
};

struct rill_client_audio {
    uint32_t stream, seq;
    uint64_t pos;    /* output rate */
    const void *pcm; /* valid during the callback */
    size_t bytes;
    uint32_t queue_us, compute_us;
};

struct rill_client_vad {
    uint32_t stream;
    uint64_t pos; /* input rate */
    float prob;
    enum rill_client_edge edge;
};

struct rill_client_word {
    const char *text;
    uint64_t pos, end_pos; /* input rate */
    float confidence;
};

struct rill_client_text {
    uint32_t stream, segment; /* counts finals; a long one comes in parts of one segment */
    bool final;               /* false: takes the place of the one before */
    float stability;
    uint64_t pos; /* input rate */
    const char *text;
    const struct rill_client_word *words;
    size_t n_words;
};

struct rill_client_keyword {
    uint32_t stream;
    const char *word;
    float score;
    uint64_t pos, end_pos; /* input rate */
};

struct rill_client_endpoint {
    uint32_t stream;
    uint64_t pos; /* input rate */
    int rule;     /* number of the protocol */
};

struct rill_client_gap {
    uint32_t stream;
    uint64_t pos, samples; /* input rate */
    int reason, fill;      /* numbers of the protocol */
};

struct rill_client_finished {
    uint32_t stream;
    uint64_t in, out, processed, dropped, not_finite, vad_frames;
    uint64_t audio_us, compute_us;
    uint32_t max_chunk_us, deadline_misses;
    float rtf, max_chunk_rtf, p99_chunk_us;
    bool cancelled;
    uint64_t bypassed; /* of in: went past the model under overload */
};

struct rill_client_failure {
    uint32_t stream;       /* 0 = the connection */
    int code;              /* number of the protocol's Code */
    const char *code_name; /* such as "BAD_ARG" */
    const char *text;
    bool fatal;
    uint32_t retry_ms;
};

/* Any may be NULL. Pointers in the structs are valid during the call only. */
struct rill_client_events {
    void *arg;
    void (*audio)(void *arg, const struct rill_client_audio *a);
    void (*vad)(void *arg, const struct rill_client_vad *v);
    void (*gap)(void *arg, const struct rill_client_gap *g);
    void (*finished)(void *arg, const struct rill_client_finished *f);
    void (*error)(void *arg, const struct rill_client_failure *e);
    void (*goaway)(void *arg, uint32_t grace_ms);
    void (*text)(void *arg, const struct rill_client_text *t);
    void (*keyword)(void *arg, const struct rill_client_keyword *k);
    void (*endpoint)(void *arg, const struct rill_client_endpoint *e);
};

/* Connects to the socket at path (at most 107 bytes), sends the preface and Hello, and waits for
 * the answer. timeout_ms is for how long the daemon may say nothing, now and in every later wait,
 * in the second half of which it is asked for a sign of life; 0 = 10 s. name (may be NULL) is for
 * the daemon's log. *ret is written in every case, NULL where memory was out, so that
 * rill_client_error() can be asked; free it either way. */
int rill_client_connect(struct rill_client **ret, const char *path, const char *name,
                        unsigned timeout_ms);

/* Closes the connection; open streams are dropped by the daemon. Takes NULL too; returns NULL. */
struct rill_client *rill_client_free(struct rill_client *c);

/* Who hears what comes from now on. *ev is copied; any callback may be NULL. Cannot fail. */
void rill_client_set_events(struct rill_client *c, const struct rill_client_events *ev);

/* Words for the last failure, "" if nothing failed; valid until the next call. Takes NULL: "out of
 * memory". */
const char *rill_client_error(const struct rill_client *c);
int rill_client_error_code(const struct rill_client *c); /* the protocol's Code, 0 if local */

/* For poll(2); owned by the client. When it is readable, call rill_client_poll(). */
int rill_client_fd(const struct rill_client *c);

/* Name and version of the daemon; valid until rill_client_free(). */
const char *rill_client_server(const struct rill_client *c);

/* Opens stream number id (not 0, not open now). *ret (may be NULL) says what will come and how
 * late. Fails with NO_MODEL, MODEL_FAILED, BAD_ARG, BAD_FORMAT, OVERLOADED, QUOTA or DRAINING. The
 * model may have to be loaded first: that is waited for. */
int rill_client_open(struct rill_client *c, uint32_t id, const struct rill_client_open *o,
                     struct rill_client_opened *ret);

/* Sends interleaved samples in the stream's input format; bytes is a multiple of one frame
 * (channels x bytes per sample). Waits while the stream has no credit. After a failure it is not
 * known how much was sent. */
int rill_client_send(struct rill_client *c, uint32_t id, const void *pcm, size_t bytes);

/* Samples (per channel) that may be sent now without waiting; 0 for a stream that is not open.
 * Reads nothing. */
uint64_t rill_client_credit(const struct rill_client *c, uint32_t id);

/* Ends the stream and waits until everything came back; its number is free then. *ret (may be NULL)
 * is the account. */
int rill_client_finish(struct rill_client *c, uint32_t id, struct rill_client_finished *ret);

/* The model starts afresh; positions go on. Does not wait. */
int rill_client_reset(struct rill_client *c, uint32_t id);

/* Drops the stream: nothing more is wanted of it, its number is free. Does not wait; what is under
 * way may still arrive. */
int rill_client_cancel(struct rill_client *c, uint32_t id);

/* Jumps the input position forward: the next send() starts samples later. The daemon tells the jump
 * in a gap. */
int rill_client_skip(struct rill_client *c, uint32_t id, uint64_t samples);

/* Reads what has come, waiting at most timeout_ms (-1 = for ever, 0 = not at all) for the first
 * byte; returns the number of messages handled, or -1. */
int rill_client_poll(struct rill_client *c, int timeout_ms);

/* Asks for a sign of life and waits. *ret_us (may be NULL): the round trip in microseconds. */
int rill_client_ping(struct rill_client *c, uint64_t *ret_us);

/* What a live stream is charged, as shares of a processor, and how that came about. */
struct rill_client_price {
    float compute, loop; /* loop: of reading and writing sockets; its client counts as much */
    uint32_t figures;    /* seconds with live streams; 0: tried alone */
    uint32_t age_ms;     /* of the newest of them */
    float cpu, wall;     /* that one; wall: by the clock, contention included */
    float weight;        /* 0 to 1: how much it counts beside what was tried */
    float tried, tried_wall;
    uint32_t tried_age_ms;
};

struct rill_client_model {
    const char *name, *task, *licence, *summary, *state, *sha256;
    uint32_t rate, hop_samples, latency_samples;
    unsigned outputs;
    uint64_t weights_bytes, stream_bytes;
    float rtf;
    bool is_default;
    const char *error;              /* failed: why it cannot be had */
    struct rill_client_price price; /* of one that is ready */
    const char *audio_error;        /* why rill_client_open() is refused; open_ports is not */
    uint32_t threads;               /* that share a pulse of a live stream; 1: one computes it */
};

/* Calls each(arg, model) for every model the daemon knows. each may be NULL. */
int rill_client_info(struct rill_client *c,
                     void (*each)(void *arg, const struct rill_client_model *m), void *arg);

#define RILL_CLIENT_TIMES 32

struct rill_client_model_stats {
    const char *name;
    uint32_t streams;
    uint64_t streams_opened, audio_us, compute_us, pulses, deadline_misses;
    float rtf, rtf_p99, rtf_max;
    uint32_t compute_p99_us, queue_p99_us;
    uint64_t gap_us, gap_samples;
    float batch_mean;                  /* streams that ran together */
    uint32_t n_times;                  /* 0: the daemon left the histograms out */
    uint32_t le_us[RILL_CLIENT_TIMES]; /* n_times - 1 bounds; the last count has none */
    uint64_t compute_count[RILL_CLIENT_TIMES],
        queue_count[RILL_CLIENT_TIMES]; /* pulses of at most le_us */
};

#define RILL_CLIENT_CODES 32
#define RILL_CLIENT_REASONS 16

struct rill_client_stats {
    uint64_t uptime_us, connections_accepted, streams_opened, streams_refused, protocol_errors;
    uint32_t connections, streams;
    uint64_t errors[RILL_CLIENT_CODES], refused[RILL_CLIENT_CODES]; /* by the protocol's Code */
    uint64_t gap_samples[RILL_CLIENT_REASONS], gap_us[RILL_CLIENT_REASONS]; /* by its Gap.Reason */
    uint64_t resident_bytes, weights_bytes, stream_bytes, cpu_us, log_lines_lost;
    uint32_t open_fds;
    uint64_t memory_connections_bytes, memory_streams_bytes, memory_topics_bytes;
};

/* Counts since the daemon started to *ret, and each(arg, model) for every model that had streams,
 * in order of names. Both may be NULL. */
int rill_client_stats(struct rill_client *c, struct rill_client_stats *ret,
                      void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg);

enum rill_client_health_state {
    RILL_CLIENT_OK = 1,
    RILL_CLIENT_DRAINING,
    RILL_CLIENT_STUCK,
    RILL_CLIENT_STARTING
};

struct rill_client_health {
    enum rill_client_health_state state;
    char reason[256]; /* "" while it is OK */
    uint32_t threads;
    uint64_t silent_us; /* the longest that a compute thread has had work and not advanced */
};

/* Whether the compute threads advance. */
int rill_client_health(struct rill_client *c, struct rill_client_health *ret);

/* "BAD_ARG", "late": names of the protocol's numbers, "?" for others. */
const char *rill_client_code_name(int code);
const char *rill_client_reason_name(int reason);

/* --- streams of ports ----------------------------------------------------------------------- */

/* Numbers of the protocol. Little-endian; those of 4 and 2 bits have a byte each, a bool is 0 or 1.
 */
enum rill_client_type {
    RILL_CLIENT_TYPE_F32 = 1,
    RILL_CLIENT_TYPE_F64,
    RILL_CLIENT_TYPE_I8,
    RILL_CLIENT_TYPE_I16,
    RILL_CLIENT_TYPE_I32,
    RILL_CLIENT_TYPE_I64,
    RILL_CLIENT_TYPE_U8,
    RILL_CLIENT_TYPE_U16,
    RILL_CLIENT_TYPE_U32,
    RILL_CLIENT_TYPE_U64,
    RILL_CLIENT_TYPE_BOOL,
    RILL_CLIENT_TYPE_I4,
    RILL_CLIENT_TYPE_U4,
    RILL_CLIENT_TYPE_I2,
    RILL_CLIENT_TYPE_U2
};

/* One input or output of a model. Frame k stands for sample offset_num / offset_den +
 * k * hop_num / hop_den of the input's time axis and comes latency_samples later. */
struct rill_client_port {
    const char *name;
    bool is_input;
    bool is_set;      /* an input beside the stream: one frame holds until the next */
    bool is_wanted;   /* outputs of an open stream: its frames come */
    const char *kind; /* tensor, audio, vad, keyword, ctc, transducer, attention */
    enum rill_client_type type;
    uint32_t element_bytes;
    uint32_t n_dims;             /* of a frame: the axes of the tensor but time */
    const uint32_t *dims;        /* the last one is the first to change */
    uint32_t time_axis;          /* where time stands among them, if hop_num is not 0 */
    uint32_t rate_num, rate_den; /* frames per second; 0 if not declared */
    uint32_t pulse_frames;       /* that go through the model at once */
    uint32_t hop_num, hop_den;   /* hop_num 0: it does not run along time */
    uint32_t latency_samples;
    int32_t offset_num;
    uint32_t offset_den;
    size_t frame_bytes; /* element_bytes times all dims */
};

struct rill_client_open_ports {
    const char *model;          /* NULL or "" = the daemon's default */
    enum rill_client_pace pace; /* LIVE wants a model that states its rate */
    const char *const *want;    /* names of outputs, NULL at the end; NULL = all */
};

struct rill_client_frames {
    uint32_t stream;
    const char *port;
    uint64_t pos; /* index of the first frame since the stream began */
    uint64_t
        at_bytes; /* of that frame which came before: not 0 where one is larger than a message */
    const void *data;
    size_t bytes;
    uint32_t queue_us, compute_us;
    uint32_t resets; /* of the stream before these frames */
};

/* Who hears frames of outputs from now on; frames may be NULL. */
void rill_client_set_frames(struct rill_client *c,
                            void (*frames)(void *arg, const struct rill_client_frames *f),
                            void *arg);

/* Opens stream number id on the ports of a model, of any type and as they are. It is finished,
 * reset and cancelled as any other. Fails as rill_client_open() does. */
int rill_client_open_ports(struct rill_client *c, uint32_t id,
                           const struct rill_client_open_ports *o);

/* The ports of such a stream, inputs first; how many. They live as long as it is open. */
size_t rill_client_ports(const struct rill_client *c, uint32_t id,
                         const struct rill_client_port **ret);

/* Sends frames of an input (port NULL: the only one), which must be of that type. Waits while there
 * is no credit: where a model has several inputs along time, no longer than a window ahead of the
 * others, or it waits in vain. An input beside the stream wants a frame before the first frames of
 * the others. */
int rill_client_push(struct rill_client *c, uint32_t id, const char *port,
                     enum rill_client_type type, const void *frames, size_t n_frames);

/* The same as far as there is credit; *ret_frames: how many were sent. Does not wait for more. */
int rill_client_push_some(struct rill_client *c, uint32_t id, const char *port,
                          enum rill_client_type type, const void *frames, size_t n_frames,
                          size_t *ret_frames);

/* Frames of an input that may be sent now without waiting. Reads nothing. */
uint64_t rill_client_port_credit(const struct rill_client *c, uint32_t id, const char *port);

/* Calls each(arg, port) for every port of a model, none of one that is not loaded; returns how many
 * there are, or -1. each may be NULL. */
int rill_client_model_ports(struct rill_client *c, const char *model,
                            void (*each)(void *arg, const struct rill_client_port *p), void *arg);

/* "i64", "bool"; "?" for others. */
const char *rill_client_type_name(enum rill_client_type type);

/* --- published streams ---------------------------------------------------------------------- */

struct rill_client_publish {
    const char *topic; /* [a-z0-9._-]{1,64}, begins with no dot */
    bool for_all;      /* every user may subscribe, not the publisher's only */
    uint32_t keep_ms;  /* of history for who comes later */
    bool mute;         /* this client gets none of the stream's outputs */
};

enum rill_client_from { RILL_CLIENT_NOW, RILL_CLIENT_OLDEST, RILL_CLIENT_POS };

struct rill_client_subscribe {
    const char *topic;
    enum rill_client_from from;
    uint64_t pos;               /* POS: in the source's input rate */
    unsigned want;              /* RILL_CLIENT_AUDIO | ...; 0 = all that the source gives */
    struct rill_client_pcm out; /* channels 0 = as the publisher's; rate 0 or the publisher's */
};

struct rill_client_subscribed {
    char model[65];
    uint64_t pos;     /* where it begins, in_rate */
    uint32_t in_rate; /* of the positions in events and gaps */
    struct rill_client_pcm out;
    unsigned outputs;
};

/* Offers what stream id, which is open, gives as a topic. ret_keep_ms (may be NULL): what the
 * daemon keeps. */
int rill_client_publish(struct rill_client *c, uint32_t id, const struct rill_client_publish *p,
                        uint32_t *ret_keep_ms);

/* Gets a topic as stream number id, which is not open. What comes goes to the callbacks, also
 * before this returns; read on with rill_client_poll until rill_client_ended. ret may be NULL. */
int rill_client_subscribe(struct rill_client *c, uint32_t id, const struct rill_client_subscribe *s,
                          struct rill_client_subscribed *ret);

/* Ends a subscription and waits for its Finished. ret may be NULL. */
int rill_client_unsubscribe(struct rill_client *c, uint32_t id, struct rill_client_finished *ret);

/* Whether Finished or a fatal Error came for the stream, or the connection is closed. */
bool rill_client_ended(const struct rill_client *c, uint32_t id);

struct rill_client_topic {
    const char *name, *model;
    uint32_t uid, in_rate, keep_ms, subscribers;
    bool for_all;
    struct rill_client_pcm out;
    unsigned outputs;
    uint64_t oldest_pos, pos; /* in_rate */
};

/* Calls each(arg, topic) for every topic that this user may subscribe to. */
int rill_client_topics(struct rill_client *c,
                       void (*each)(void *arg, const struct rill_client_topic *t), void *arg);

/* --- the control socket only: elsewhere these fail with DENIED ------------------------------- */

struct rill_client_status {
    const char *server, *state, *config; /* valid until the next call on this client */
    uint32_t pid, threads, connections, streams;
    uint64_t uptime_us;
    float rtf_load, rtf_budget; /* of the compute threads */
    float loop_load, loop_budget, machine_load, machine_budget;
    float had; /* share of the processor time asked for; the budgets are less by the rest */
    struct rill_client_stats stats;
};

/* State of the daemon to *ret (not NULL); each (may be NULL) is called per model that had
 * streams. */
int rill_client_ctl_status(struct rill_client *c, struct rill_client_status *ret,
                           void (*each)(void *arg, const struct rill_client_model_stats *m),
                           void *arg);

struct rill_client_session {
    uint32_t conn, stream, uid, pid;
    const char *client, *model, *state;
    struct rill_client_pcm in, out;
    enum rill_client_pace pace;
    uint64_t in_samples, out_samples, age_us, queued_bytes;
    float rtf;
    uint64_t compute_us, audio_us; /* of what went into the model */
    uint64_t deadline_misses, gap_samples;
    uint32_t compute_p99_us, queue_p99_us, max_chunk_us, serial; /* serial: its number in the log */
    uint64_t memory_bytes; /* of the stream, without its connection's */
    const char *topic; /* published under this name, "" if it is not; what a subscription reads */
    bool is_subscription; /* then in_samples is what it was given of the source, gap_samples lost */
    uint32_t lag_ms;      /* of a subscription: sound that waits for it in the daemon */
};

/* Calls each(arg, session) (not NULL) for every open stream and every subscription. */
int rill_client_ctl_sessions(struct rill_client *c,
                             void (*each)(void *arg, const struct rill_client_session *s),
                             void *arg);

/* These wait for the verdict; on failure rill_client_error() holds the reason, of a reload also
 * file and line. On success rill_client_ctl_text() may hold notes, such as keys that need a
 * restart. Models are named, never by path. */
int rill_client_ctl_reload(struct rill_client *c); /* settings and loaded models */
/* anew, loaded or not */
int rill_client_ctl_reload_model(struct rill_client *c, const char *model);
int rill_client_ctl_drain(struct rill_client *c, uint32_t grace_ms); /* 0 = as configured */
int rill_client_ctl_load(struct rill_client *c, const char *model);
int rill_client_ctl_unload(struct rill_client *c, const char *model);
/* till its last stream has ended */
int rill_client_ctl_unload_wait(struct rill_client *c, const char *model);
/* a new version of a loaded one */
int rill_client_ctl_swap(struct rill_client *c, const char *model);
int rill_client_ctl_kick(struct rill_client *c, uint32_t conn); /* number of ctl_sessions() */
/* error, warning, info, debug */
int rill_client_ctl_log_level(struct rill_client *c, const char *level);
/* of the last ctl call, "" if none; until the next */
const char *rill_client_ctl_text(const struct rill_client *c);

/* One look at everything: state and counts to *ret, each_model per model, each_session for the
 * streams that computed most, the most first. Callbacks may be NULL. Texts are valid until the next
 * call. */
int rill_client_ctl_top(struct rill_client *c, struct rill_client_status *ret,
                        void (*each_model)(void *arg, const struct rill_client_model_stats *m),
                        void (*each_session)(void *arg, const struct rill_client_session *s),
                        void *arg);

/* The metrics as OpenMetrics text, valid until the next call; NULL on failure. */
const char *rill_client_ctl_metrics(struct rill_client *c);

struct rill_client_memory {
    uint64_t max_bytes;       /* what all of it may be */
    uint64_t used_bytes;      /* what is counted */
    uint64_t rest_bytes;      /* what the process has beside that */
    uint64_t refused;         /* asks that were, for want of memory */
    uint64_t shortened_bytes; /* by which histories became shorter, for the same reason */
};

/* Memory of who for what: "streams", "queues", ... of "uid 1000", "http", "daemon"; who NULL: of
 * all. */
struct rill_client_memory_sum {
    const char *who, *of;
    uint64_t bytes;
};

/* Calls each(arg, sum) for the sums of all, then for those of the daemon itself and of those who
 * have the most. each may be NULL. */
int rill_client_ctl_memory(struct rill_client *c, struct rill_client_memory *ret,
                           void (*each)(void *arg, const struct rill_client_memory_sum *s),
                           void *arg);

struct rill_client_worst {
    uint64_t when_us; /* since the epoch */
    const char *model;
    uint32_t serial, uid, queue_us, compute_us, batch, pulse_us;
    bool live;
};

struct rill_client_step {
    const char *step, *kernel;
    uint64_t runs, total_ns, worst_ns;
};

/* The pulses that came latest for their length, the worst first; with a model (else NULL) only of
 * that one. With profile the steps of the model are timed now, beside its streams, and given
 * slowest first. Callbacks may be NULL. */
int rill_client_ctl_worst(struct rill_client *c, const char *model, bool profile,
                          void (*each_pulse)(void *arg, const struct rill_client_worst *w),
                          void (*each_step)(void *arg, const struct rill_client_step *t),
                          void *arg);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
