/* SPDX-License-Identifier: MIT */
/* conf.h - every setting of the daemon: one line each, and everything else is made from it. */
#ifndef RILL_DAEMON_BASE_CONF_H
#define RILL_DAEMON_BASE_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONF_STR_BYTES 512

/* X(section, key, type, read, default, smallest, largest, help). STR: limits of the length; MODE:
 * octal; SIZE: bytes. START: read at start alone; LIVE: a reload takes it over. */
/* clang-format off */
#define CONF_EACH(X)                                                                               \
    X(daemon, socket, STR, START, "/run/rilld/rilld.sock", 1, 107,                                 \
      "Socket for audio. Sockets passed by the service manager (name data) go before it.")         \
    X(daemon, socket_mode, MODE, START, "0660", 0, 0777, "Permissions of the audio socket.")       \
    X(daemon, socket_group, STR, START, "", 0, 64,                                                 \
      "Group of the audio socket; empty = the daemon's own.")                                      \
    X(daemon, control_socket, STR, START, "/run/rilld/control.sock", 0, 107,                       \
      "Socket for rill ctl, for this user and root only (name control); empty = none.")            \
    X(daemon, workers, INT, START, "0", 0, 64, "Compute threads; 0 = one a processor.")            \
    X(daemon, threads, INT, START, "0", 0, 16,                                                     \
      "Threads that share the pulse of a live stream whose model one alone would compute late; "   \
      "0 = one a processor, 1 = none do.")                                                         \
    X(daemon, realtime_priority, INT, START, "0", 0, 20,                                           \
      "Real-time priority (SCHED_FIFO) of the compute threads, where it is allowed; 0 = none.")    \
    X(daemon, batch, INT, START, "32", 1, 32,                                                      \
      "Most streams of a model that run together when they are due together.")                     \
    X(daemon, runtime, STR, START, "cpu", 0, 32,                                                   \
      "What computes: cpu, gpu, or gpu-or-cpu, which is cpu where there is no GPU.")               \
    X(http, listen, STR, START, "", 0, 107,                                                        \
      "Where GET /metrics, /health, /health/live and /health/ready are answered, beside sockets "  \
      "passed under the name metrics: 127.0.0.1:9464, [::1]:9464 or a path; empty = nowhere.")     \
    X(http, health_listen, STR, START, "", 0, 107,                                                 \
      "The same without /metrics (name health). It has places of its own: at a path that only a "  \
      "balancer may open, nobody else can take them.")                                             \
    X(http, socket_mode, MODE, START, "0660", 0, 0777, "Permissions of either where it is a path.")\
    X(http, socket_group, STR, START, "", 0, 64,                                                   \
      "Group of either where it is a path; empty = the daemon's own.")                             \
    X(models, model_path, STR, LIVE,                                                               \
      "/usr/local/share/rill/models:/usr/share/rill/models:/var/lib/rill/models", 0, 511,          \
      "Folders that hold model folders, with : between. Built-in models need none.")               \
    X(models, default_model, STR, LIVE, "rill-denoise", 1, 64,                                     \
      "Model of a stream that names none.")                                                        \
    X(models, preload, STR, LIVE, "rill-denoise", 0, 511,                                          \
      "Models to load before the daemon is ready, with spaces between. Others load at first use.") \
    X(models, max_model_bytes, INT, LIVE, "268435456", 65536, 4294967295,                          \
      "Weights and one stream's state of a model.")                                                \
    X(models, check, STR, LIVE, "yes", 2, 3,                                                       \
      "yes: a process of its own, with the limits below, tries a model out before the daemon "     \
      "reads it.")                                                                                 \
    X(models, check_memory_bytes, INT, LIVE, "402653184", 16777216, 4294967295,                    \
      "Address space that trying a model out may take.")                                           \
    X(models, check_cpu_s, INT, LIVE, "20", 1, 3600,                                               \
      "Seconds of processor time that trying a model out may take.")                               \
    X(models, check_timeout_s, INT, LIVE, "30", 1, 3600,                                           \
      "Seconds that trying a model out may take.")                                                 \
    X(models, pins, STR, LIVE, "", 0, 511,                                                         \
      "File of lines SHA256 NAME: a model that is named there is only loaded if its sha256 is "    \
      "that one (rill ctl models says it); empty = none.")                                         \
    X(models, keep_alive_s, INT, LIVE, "600", 0, 31536000,                                         \
      "Seconds that a model without streams stays in memory if it is not in preload; 0 = for "     \
      "ever.")                                                                                     \
    X(limits, max_connections, INT, LIVE, "256", 1, 4096,                                          \
      "Connections at a time. Of the last eighth no user gets more than stay free.")               \
    X(limits, max_connections_per_uid, INT, LIVE, "64", 1, 4096,                                   \
      "Connections at a time of one user.")                                                        \
    X(limits, max_streams, INT, START, "256", 1, 4096,                                             \
      "Open streams of all connections. Of the last eighth no user gets more than stay free.")     \
    X(limits, max_streams_per_connection, INT, LIVE, "16", 1, 64,                                  \
      "Open streams of one connection.")                                                           \
    X(limits, max_streams_per_uid, INT, LIVE, "192", 1, 4096, "Open streams of one user.")         \
    X(limits, memory_max, SIZE, LIVE, "0", 0, 1125899906842624,                                    \
      "Memory of the whole daemon, with K, M, G or T behind the number if you like; 0 = four "     \
      "fifths of what its control group or a resource limit allows, or of half the machine's. "    \
      "Over it what is asked for is refused, and histories become shorter.")                       \
    X(limits, max_bytes_per_uid, INT, LIVE, "268435456", 0, 4294967295,                            \
      "Memory for connections, streams and histories of one user; 0 = any.")                       \
    X(limits, rtf_share_per_uid, REAL, LIVE, "1", 0.01, 1,                                         \
      "Of rtf_budget, what live streams of one user may claim; 1 = all.")                          \
    X(limits, max_message_bytes, INT, LIVE, "65536", 4096, 1048576,                                \
      "Longest message; a client may ask for less.")                                               \
    X(limits, hello_timeout_ms, INT, LIVE, "2000", 50, 60000,                                      \
      "Time from connecting to a complete Hello.")                                                 \
    X(limits, idle_timeout_ms, INT, LIVE, "300000", 0, 86400000,                                   \
      "Time without a stream or a message after which a connection is closed; 0 = never.")         \
    X(limits, idle_stream_ms, INT, LIVE, "300000", 0, 86400000,                                    \
      "Time without audio after which a live stream ends; 0 = never.")                             \
    X(limits, rtf_budget, REAL, LIVE, "0.7", 0.01, 1000,                                           \
      "Compute that live streams may claim, as a share of all compute threads; more are refused.") \
    X(limits, live_window_ms, INT, LIVE, "100", 10, 10000,                                         \
      "Audio that a live client may send ahead (at least 4 hops).")                                \
    X(limits, file_window_ms, INT, LIVE, "2000", 10, 60000,                                        \
      "Audio that a file client may send ahead (at least 4 hops).")                                \
    X(limits, output_soft_ms, INT, LIVE, "1000", 10, 60000,                                        \
      "Output waiting for a client at which a file stream pauses and a live stream is timed.")     \
    X(limits, output_soft_grace_ms, INT, LIVE, "2000", 10, 600000,                                 \
      "How long a live client may stay over output_soft_ms.")                                      \
    X(limits, output_hard_ms, INT, LIVE, "4000", 10, 60000,                                        \
      "Output waiting for a client at which it is disconnected.")                                  \
    X(limits, output_stall_ms, INT, LIVE, "60000", 100, 3600000,                                   \
      "How long output may wait for a client whose socket has no room for any of it.")             \
    X(limits, topic_keep_ms, INT, LIVE, "10000", 0, 60000,                                         \
      "Most history that a published stream may keep for who subscribes later.")                   \
    X(limits, drain_grace_ms, INT, LIVE, "10000", 0, 600000,                                       \
      "How long open streams may go on after SIGTERM.")                                            \
    X(overload, policy, STR, LIVE, "model", 3, 6,                                                  \
      "What live streams do when there is too little compute: bypass, skip, shed, off (nothing), " \
      "or model: as it says.")                                                                     \
    X(overload, misses, INT, LIVE, "3", 1, 64,                                                     \
      "Late pulses within window_ms that make a compute thread take a step.")                      \
    X(overload, window_ms, INT, LIVE, "1000", 100, 60000, "Time in which late pulses are counted.")\
    X(overload, calm_ms, INT, LIVE, "10000", 100, 600000,                                          \
      "Time without a late pulse before a step is taken back.")                                    \
    X(overload, share, REAL, LIVE, "0.9", 0.1, 1,                                                  \
      "Share of a compute thread that a step leaves to live streams.")                             \
    X(overload, fade_ms, INT, LIVE, "10", 0, 1000,                                                 \
      "Cross-fade between a model and what goes past it.")                                         \
    X(vad, threshold, REAL, LIVE, "0", 0, 1,                                                       \
      "Probability at which speech starts; 0 = as the model says.")                                \
    X(vad, release, REAL, LIVE, "0", 0, 1,                                                         \
      "Probability below which speech may end; 0 = as the model says.")                            \
    X(vad, min_silence_ms, INT, LIVE, "0", 0, 60000,                                               \
      "Silence before an end event, if the model's own is shorter.")                               \
    X(log, level, STR, LIVE, "info", 4, 7, "error, warning, info or debug.")                       \
    X(log, format, STR, START, "auto", 4, 7,                                                       \
      "plain, prefix (<N> before each line), journal (fields of their own) or auto (journal "      \
      "where stderr is it).")                                                                      \
    X(log, journal_socket, STR, START, "/run/systemd/journal/socket", 1, 107,                      \
      "Where the journal takes fields.")                                                           \
    X(log, client_lines_per_s, INT, START, "50", 0, 100000,                                        \
      "Lines a second that one user's clients may cause; more are counted and left out. 0 = all.") \
    X(log, interval_s, INT, LIVE, "10", 1, 3600,                                                   \
      "Seconds between the lines that sum up each model in use.")
/* clang-format on */

#define CONF_TYPE_STR char
#define CONF_DIM_STR [CONF_STR_BYTES]
#define CONF_TYPE_INT uint32_t
#define CONF_DIM_INT
#define CONF_TYPE_SIZE uint64_t
#define CONF_DIM_SIZE
#define CONF_TYPE_MODE uint32_t
#define CONF_DIM_MODE
#define CONF_TYPE_REAL double
#define CONF_DIM_REAL

struct conf {
#define X(section, key, type, read, def, lo, hi, help)                                             \
    CONF_TYPE_##type section##_##key CONF_DIM_##type;
    CONF_EACH(X)
#undef X
};

#define CONF_ERROR_BYTES 768

void conf_defaults(struct conf *c);

/* Defaults, then the file, then DIR/conf.d's *.conf in order of names, where DIR is the file's. A
 * missing file is an error unless may_miss. On false, err says file, line and what would do. */
bool conf_load(struct conf *c, const char *path, bool may_miss, char err[CONF_ERROR_BYTES]);

/* Every key with its help and its default commented out: what conf/rilld.conf holds. */
void conf_print_template(FILE *f);

/* Every key with its value in c. */
void conf_print(const struct conf *c, FILE *f);

#define CONF_FIXED_BYTES 400
/* Gives settings that are read at start alone the values that run. ret: those that differed, as
 * section.key with spaces between; "" if none. */
void conf_keep_fixed(struct conf *to, const struct conf *running, char ret[CONF_FIXED_BYTES]);

#endif
