/* SPDX-License-Identifier: MIT */
/* tool.h - what the commands of `rill` share. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H
#include "rill.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes, stable. */
enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1,    /* a check or comparison failed */
    TOOL_USAGE = 2,     /* unknown command or option */
    TOOL_BAD_INPUT = 3, /* a model, case or audio file that cannot be used */
    TOOL_IO = 4,        /* a file, device or socket error */
    TOOL_REFUSED = 5    /* the daemon said no */
};

struct command {
    const char *name;
    const char *usage;   /* arguments after the name */
    const char *summary; /* one line */
    const char *details; /* paragraphs for --help, may be NULL */
    int (*run)(const struct command *self, int argc, char **argv);
};

enum opt_kind { OPT_FLAG, OPT_INT, OPT_REAL, OPT_TEXT, OPT_LIST };

/* item: behind the last one stands NULL; NULL where there is none. */
struct opt_list {
    const char **item;
    unsigned n;
};

/* Where a number of the command line goes, and from where to where it is taken. */
struct opt_int {
    int64_t *to, least, most;
};
struct opt_real {
    double *to, least, most;
};
#define INT_FROM_TO(to, least, most) (&(struct opt_int) { to, least, most })

/* Of commands that make plans. */
#define BUDGET_OPTS(ms, open)                                                                      \
    { "budget", 0,                                                                                 \
      OPT_INT,  INT_FROM_TO(&(ms), 1, 60000),                                                      \
      "MS",     "how long a pulse that is chosen by its cost may last (default 20)" },             \
    {                                                                                              \
        "latency", 0, OPT_TEXT, &(open).latency, "TIME",                                           \
            "how late outputs may be, the pulse with it, as in 40ms or 40frames: it is chosen by " \
            "that"                                                                                 \
    }
#define REAL_FROM_TO(to, least, most) (&(struct opt_real) { to, least, most })
#define OPT_YEAR_S 31536000 /* the longest that a command is told to last */

/* One option of a command: to points to bool, struct opt_int, struct opt_real, const char * or
 * struct opt_list. Values that are not given stay as they are, out of the range too. */
struct opt {
    const char *name; /* long name; NULL ends the table */
    char letter;      /* 0: none */
    enum opt_kind kind;
    void *to;
    const char *arg;  /* what the value is called in the help */
    const char *help; /* NULL: works, but the help does not show it */
};

/* Parses argv[1..] by the table; --help prints and exits 0. Positional arguments are moved to the
 * front of argv; returns their number, or -TOOL_USAGE after a message. */
int opts_parse(const struct command *cmd, const struct opt *table, int argc, char **argv,
               int min_args, int max_args);

/* Prints "rill COMMAND: text" to standard error; returns code. */
__attribute__((format(printf, 3, 4))) int tool_fail(const struct command *cmd, int code,
                                                    const char *fmt, ...);
/* with the exit code of err->status */
int tool_fail_status(const struct command *cmd, const rill_error *err);

/* The exit code of a command that ended with code: with words another one where that was TOOL_OK
 * and standard output did not take everything. */
int tool_end(int code);

/* A cell of a table of commas, in quotes where it has to be. */
void tool_cell_write(FILE *f, const char *text);

bool tool_is_folder(const char *path);
double tool_now_s(void); /* monotonic */
/* From now on SIGINT and SIGTERM only ask to stop. */
void tool_stop_by_signals(void);
bool tool_stops(void); /* whether one has come */
int tool_compare_f64(const void *a, const void *b);
double tool_percentile(const double *sorted, size_t n, double p); /* p 0..1, nearest rank */

/* Of one pulse of a port. */
size_t tool_pulse_bytes(const rill_port *p);

/* A pulse of quiet noise; any numbers of 8 and 16 bits; 0 and 1, which are indices into any table,
 * of other whole numbers. */
void tool_pulse_noise(const rill_port *p, uint32_t *seed, void *ret);
bool tool_noise_is_bits(const rill_port *p); /* 0 and 1 */

/* All ports of a plan, to be freed. */
rill_port *tool_ports(const rill_plan *p, unsigned *ret_n);

/* Doubled until bytes fit; exits the program when memory is out: tools only. */
void *tool_alloc(size_t bytes); /* 64-byte aligned, zeroed */

/* A file as a string, which the caller frees. MALFORMED: a zero byte, behind which nothing would be
 * read. */
rill_status tool_text(char **ret, const char *path, uint64_t most_bytes, rill_error *err);

extern const struct command cmd_bench, cmd_check, cmd_compile, cmd_conformance, cmd_convert,
    cmd_ctl, cmd_denoise, cmd_devices, cmd_feed, cmd_inspect, cmd_keyword, cmd_listen, cmd_live,
    cmd_models, cmd_pipe, cmd_plot, cmd_quantize, cmd_run, cmd_runtimes, cmd_stream, cmd_top,
    cmd_transcribe, cmd_vad, cmd_verify, cmd_wer;
#endif
