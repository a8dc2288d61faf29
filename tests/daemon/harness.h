/* SPDX-License-Identifier: MIT */
/* harness.h - a daemon of its own for each test, raw frames, and counting.
 * RILLD names the daemon's binary; RILL_FAKE=1 says that its models are those of fake_rill.c. */
#ifndef TEST_DAEMON_HARNESS_H
#define TEST_DAEMON_HARNESS_H

#include "clients/c/rill_client.h"
#include "rilld.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

extern unsigned n_passed, n_failed, n_skipped;
extern unsigned stream_timeout_ms; /* of stream_whole: how long nothing may happen */

/* CHECK(condition) or CHECK(condition, format, ...); true if it holds. */
#define CHECK(...) check_note(__FILE__, __LINE__, #__VA_ARGS__, __VA_ARGS__, (const char *) NULL)
bool check_note(const char *file, int line, const char *text, int good, ...);
/* The same of what a client was asked for: with the words of its error. */
#define CHECK_OF(c, ...) CHECK((__VA_ARGS__), "%s", rill_client_error(c))
#define LLU(x) ((unsigned long long) (x)) /* for %llu */
void check_skip(const char *what);
int check_end(void); /* prints the totals; exit code */
/* Ends the test as failed: what was awaited in vain, and what the newest daemon said last. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
bool is_fake(void);

struct rig {
    char dir[64], sock[96], ctl[96], conf[96], log[96];
    pid_t pid;
    unsigned failed_before;
};

void rig_dir(struct rig *r);                       /* makes the folder and the names */
void rig_conf(struct rig *r, const char *more);    /* writes the settings; `more` follows them */
pid_t rig_fork(struct rig *r);                     /* fork; the child's stderr goes to r->log */
bool rig_spawn(struct rig *r, char *const argv[]); /* the same, and the program */
bool rig_run(struct rig *r);                       /* the same with $RILLD and its settings */
bool rig_wait_ready(struct rig *r);
/* The same under a service manager that listens at `name`: its socket, once READY=1 has come. */
int rig_run_notified(struct rig *r, const char *name, const char *watchdog_usec);
void rig_start(struct rig *r, const char *more); /* all of the above with $RILLD */
int rig_wait(struct rig *r, int timeout_ms);     /* exit status; -1 after killing it */
int rig_stop(struct rig *r);                     /* SIGTERM, exit status, removes the folder */
/* Frees the clients; the daemon must stop well. */
#define rig_done(r, ...) rig_end(r, (struct rill_client *[]) { __VA_ARGS__, NULL })
void rig_end(struct rig *r, struct rill_client *const *clients);
void rig_clean(struct rig *r);  /* the log's end is printed where a check has failed */
bool rig_freeze(struct rig *r); /* SIGSTOP; returns when no thread of it runs any more */
/* From now on pulses that begin with FAKE_HANG last until rig_let_go(). */
void rig_hold(struct rig *r);
bool rig_held(struct rig *r, unsigned n); /* waits until so many such pulses have begun */
unsigned rig_holds(struct rig *r);        /* how many have */
void rig_let_go(struct rig *r);
/* Whether daemons that start from here on note what the machine does to them; and whether it kept
 * this one from running, so that its times say nothing. Those of fake_rill.c only. */
extern bool rig_watches;
bool rig_disturbed(struct rig *r);
uint64_t rig_slept_us(struct rig *r); /* how long its models slept because they had to, in all */
/* Judges runs by the clock: one that is good is enough, one that is bad and that nothing disturbed
 * is the daemon's fault. Bad ones that were disturbed are run again; after five of them nothing is
 * known, which is said and counted as skipped. */
enum run_verdict { RUN_GOOD, RUN_BAD, RUN_DISTURBED };
bool runs_judge(enum run_verdict (*run)(void *arg), void *arg, const char *what);
bool rig_log_has(struct rig *r, const char *text, int timeout_ms);
const char *rig_log(struct rig *r); /* whole log; static memory */

int raw_connect(const char *path);
bool raw_send(int fd, const void *bytes, size_t n);
ssize_t raw_recv(int fd, void *bytes, size_t n, int timeout_ms); /* exactly n, 0 at the end, -1 */
bool raw_closed(int fd, int timeout_ms);                         /* reads to the end */
bool raw_preface(int fd);
/* FRAME(f, m, Ping, PING, ping): a frame f and its message m, both with their defaults. */
#define FRAME(f, m, Type, TYPE, member)                                                            \
    Rill__##Type m = RILL__##TYPE##__INIT;                                                         \
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;                                                \
    f.m_case = RILL__CLIENT_FRAME__M_##TYPE;                                                       \
    f.member = &m
/* OPEN_FRAME(f, o, 1, "model", 16000, S16LE): a frame f that opens stream 1 by o, at a file's pace;
 * "" is the default model. */
#define OPEN_FRAME(f, o, id, name, hz, ENC)                                                        \
    Rill__Pcm o##_in = RILL__PCM__INIT;                                                            \
    Rill__OpenStream o = RILL__OPEN_STREAM__INIT;                                                  \
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;                                                \
    o##_in.rate = hz;                                                                              \
    o##_in.channels = 1;                                                                           \
    o##_in.enc = RILL__ENC__ENC_##ENC;                                                             \
    o.stream = id;                                                                                 \
    o.model = (char *) (uintptr_t) (name);                                                         \
    o.in = &o##_in;                                                                                \
    o.pace = RILL__PACE__PACE_FILE;                                                                \
    f.m_case = RILL__CLIENT_FRAME__M_OPEN;                                                         \
    f.open = &o
size_t frame_make(uint8_t *to, size_t cap, const Rill__ClientFrame *f);
bool raw_frame(int fd, const Rill__ClientFrame *f);
bool raw_burst(int fd, const Rill__ClientFrame *f, unsigned n); /* so many times, written at once */
/* A message of the kind, and two that are often said. */
bool raw_say(int fd, Rill__ClientFrame__MCase which, void *m, uint32_t req);
bool raw_audio(int fd, uint32_t id, uint32_t seq, uint64_t pos, bool discont, const float *x,
               size_t n);
bool raw_finish(int fd, uint32_t id);
Rill__ServerFrame *raw_answer(int fd, int timeout_ms);     /* NULL at the end */
int raw_hello(const char *path);                           /* connected, preface and Hello done */
int raw_hello_small(const char *path, uint32_t max_frame); /* checks that it is agreed on */
Rill__ServerFrame *raw_ask(int fd, const Rill__ClientFrame *f, int timeout_ms);

/* The next Error's code, passing over what else comes; 0 if none came. */
int raw_error(int fd, int timeout_ms);

/* A socket of messages, as service managers and journals have; '@': its name is abstract. */
int message_listen(const char *name);
/* The next one as text; false where none comes before end_ms (by now_ms()). */
bool message_next(int fd, uint64_t end_ms, char *text, size_t cap);
/* Whether one holds `what` in time; counts those on the way with WATCHDOG=1, if not NULL. */
bool notified(int fd, const char *what, int timeout_ms, unsigned *ret_pets);

/* What a program prints to both streams, in static memory, and its exit code; 60 s at most. */
const char *program_says(const char *program, const char *arguments, int *ret_code);

uint64_t now_ms(void);
float noise(uint32_t *seed); /* -0.5..0.5 */

/* A client that is connected; NULL, and a failed check, where it could not be. */
struct rill_client *client_of(const char *sock, const char *name);

/* OPEN(FILE, 16000, 1, F32, .align = true): what to open, as it is initialised. */
/* clang-format off */
#define OPEN(PACE, rate, channels, ENC, ...) \
    { .in = { rate, channels, RILL_CLIENT_##ENC }, .pace = RILL_CLIENT_##PACE, __VA_ARGS__ }
/* clang-format on */

/* What a whole stream gave back. */
struct result {
    uint8_t *pcm;
    size_t bytes, cap, frame_bytes; /* frame_bytes: of the output, for the check of positions */
    uint64_t next_pos, first_pos;
    unsigned n_audio, n_vad, n_gap, n_start, n_end;
    uint64_t gap_dropped, gap_bypassed; /* sums over gaps, in samples of the input */
    float *probs;
    size_t probs_cap;
    uint64_t vad_pos, start_pos, end_pos;
    struct rill_client_gap gap;
    bool pos_good, goaway;
    int error_code;
    struct rill_client_finished fin;
    struct rill_client_opened opened;
};

void result_free(struct result *r);
void result_listen(struct rill_client *c, struct result *r);

/* Connects, streams pcm in pieces of `piece_frames` and finishes. False with words in err. */
bool stream_whole(const char *sock, const struct rill_client_open *o, const void *pcm,
                  size_t n_frames, size_t frame_bytes, size_t piece_frames, struct result *ret,
                  char err[512]);

#endif
