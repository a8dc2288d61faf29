/* SPDX-License-Identifier: MIT */
#include "tools/tool.h"
#include "engine/base/bytes.h"
#include "engine/base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int tool_fail(const struct command *cmd, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "rill %s: ", cmd->name);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return code;
}

int tool_fail_status(const struct command *cmd, const rill_error *err)
{
    return tool_fail(cmd, err->status == RILL_IO ? TOOL_IO : TOOL_BAD_INPUT, "%s: %s",
                     rill_status_text(err->status), err->text);
}

int tool_end(int code)
{
    bool flushed = fflush(stdout) == 0;
    const char *why = flushed ? "not all of it was taken" : strerror(errno);
    if (code != TOOL_OK || (flushed && !ferror(stdout)))
        return code;
    fprintf(stderr, "rill: standard output: %s\n", why);
    return TOOL_IO;
}

void tool_cell_write(FILE *f, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    for (fputs(quoted ? "\"" : "", f); *text; text++)
        fprintf(f, *text == '"' ? "\"%c" : "%c", *text);
    fputs(quoted ? "\"" : "", f);
}

double tool_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    (void) sig;
    stop = 1;
}

void tool_stop_by_signals(void)
{
    struct sigaction sa = { .sa_handler = on_signal };
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

bool tool_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool tool_stops(void)
{
    return stop;
}

int tool_compare_f64(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

double tool_percentile(const double *sorted, size_t n, double p)
{
    size_t i = (size_t) (p * (double) n);
    return n ? sorted[i < n ? i : n - 1] : 0;
}

void *tool_alloc(size_t bytes)
{
    size_t size = (bytes + 63) & ~(size_t) 63;
    void *p = aligned_alloc(64, size ? size : 64);
    if (!p) {
        fprintf(stderr, "rill: out of memory (%zu bytes)\n", bytes);
        exit(TOOL_IO);
    }
    memset(p, 0, size);
    return p;
}

rill_status tool_text(char **ret, const char *path, uint64_t most_bytes, rill_error *err)
{
    struct bytes b;
    rill_status s = bytes_from_file(&b, path, most_bytes, err);
    if (s != RILL_OK)
        return err_prefix(err, s, "%.200s", path);
    bool has_zero = b.n && memchr(b.data, 0, b.n);
    *ret = tool_alloc(b.n + 1);
    if (b.n)
        memcpy(*ret, b.data, b.n);
    bytes_drop(&b);
    if (!has_zero)
        return RILL_OK;
    free(*ret);
    *ret = NULL;
    return err_set(err, RILL_MALFORMED, "%.200s: a zero byte in a text", path);
}

size_t tool_pulse_bytes(const rill_port *p)
{
    return (size_t) p->width * p->pulse_frames * p->element_bytes;
}

bool tool_noise_is_bits(const rill_port *p)
{
    const bool any = p->type >= RILL_TYPE_I8 && p->type != RILL_TYPE_BOOL && p->element_bytes < 4;
    return p->type != RILL_TYPE_F32 && p->type != RILL_TYPE_F64 && !any;
}

void tool_pulse_noise(const rill_port *p, uint32_t *seed, void *ret)
{
    size_t n = (size_t) p->width * p->pulse_frames;
    const bool bits = tool_noise_is_bits(p);
    memset(ret, 0, tool_pulse_bytes(p));
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        float noise = (float) (int32_t) *seed / 2147483648.0f * 0.1f;
        unsigned char *to = (unsigned char *) ret + i * p->element_bytes;
        if (p->type == RILL_TYPE_F32)
            memcpy(to, &noise, sizeof noise);
        else if (p->type == RILL_TYPE_F64)
            memcpy(to, &(double) { (double) noise }, sizeof(double));
        else if (bits)
            *to = (unsigned char) (*seed >> 31);
        else
            memcpy(to, seed, p->element_bytes);
    }
}

rill_port *tool_ports(const rill_plan *p, unsigned *ret_n)
{
    *ret_n = rill_plan_ports(p, NULL, 0);
    rill_port *ports = tool_alloc((*ret_n + 1) * sizeof *ports);
    ports->struct_bytes = sizeof *ports;
    rill_plan_ports(p, ports, *ret_n);
    return ports;
}
