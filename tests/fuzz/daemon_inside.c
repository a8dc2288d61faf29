/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/daemon_inside.h"
#include "daemon/parts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 20000

static struct daemon_parts *inside;
static pthread_t inside_thread;
static char dir[64], sock[96];

/* Bytes of the frame that is coming in. */
static uint8_t coming[1 << 20];
static size_t n_coming, n_preface;

static void *inside_main(void *arg)
{
    if (daemon_run(arg) != 0)
        abort();
    return NULL;
}

/* At the end the daemon is told to stop, as a service manager would, and does so. */
static void inside_stop(void)
{
    char cmd[128];
    kill(getpid(), SIGTERM);
    pthread_join(inside_thread, NULL);
    log_end(&inside->log);
    free(inside);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    if (system(cmd) != 0)
        perror(dir);
}

static void inside_start(void)
{
    char path[96], err[CONF_ERROR_BYTES];
    snprintf(dir, sizeof dir, "/tmp/rilld-fuzz-XXXXXX");
    inside = daemon_new();
    if (!inside || !mkdtemp(dir))
        abort();
    snprintf(sock, sizeof sock, "%s/s", dir);
    snprintf(path, sizeof path, "%s/conf", dir);
    FILE *f = fopen(path, "w");
    if (!f)
        abort();
    fprintf(f,
            "[daemon]\nsocket = %s\ncontrol_socket =\nworkers = 2\n[models]\nmodel_path = %s\n"
            "[limits]\nmax_streams = 4096\nmax_connections = 4096\nmax_connections_per_uid = "
            "4096\n[log]\nlevel = error\n",
            sock, dir);
    fclose(f);
    if (!conf_load(&inside->conf, path, false, err))
        abort();
    snprintf(inside->life.conf_path, sizeof inside->life.conf_path, "%s", path);
    log_init(&inside->log, "error", "plain", "", 0);
    if (pthread_create(&inside_thread, NULL, inside_main, inside) != 0)
        abort();
    atexit(inside_stop);
}

static int connect_once(void)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    memcpy(a.sun_path, sock, sizeof sock);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *) &a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

int inside_connect(void)
{
    int fd = -1;
    if (!inside)
        inside_start();
    n_coming = n_preface = 0;
    for (int i = 0; i < 5000 && (fd = connect_once()) < 0; i++)
        usleep(2000);
    if (fd < 0)
        abort();
    return fd;
}

/* The frame in `coming` is one; its req. */
static uint32_t frame_check(size_t n)
{
    Rill__ServerFrame *f = rill__server_frame__unpack(NULL, n, coming + 4);
    if (!f)
        abort();
    uint32_t req = f->req;
    rill__server_frame__free_unpacked(f, NULL);
    return req;
}

static bool byte_take(uint8_t c, uint32_t req)
{
    coming[n_coming++] = c;
    size_t want = n_coming < 4
        ? 0
        : coming[0] | (size_t) coming[1] << 8 | (size_t) coming[2] << 16 | (size_t) coming[3] << 24;
    if (n_coming >= 4 && (!want || want > sizeof coming - 4))
        abort();
    if (n_coming < 4 || n_coming < 4 + want)
        return false;
    n_coming = 0;
    return frame_check(want) == req && req;
}

/* Takes bytes from the daemon; true if the answer to `req` was among them. A refused preface is
 * answered without one. */
static bool bytes_take(const uint8_t *p, size_t n, uint32_t req)
{
    static const uint8_t preface[8] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0 };
    bool answered = false;
    for (; n; p++, n--) {
        if (n_preface < 8 && *p == preface[n_preface]) {
            n_preface++;
            continue;
        }
        for (size_t i = 0; n_preface < 8 && i < n_preface; i++) /* it was a length */
            byte_take(preface[i], 0);
        n_preface = 8;
        answered |= byte_take(*p, req);
    }
    return answered;
}

/* 1: answered, 0: closed, -1: nothing now. */
static int take_some(int fd, uint32_t req)
{
    uint8_t b[65536];
    ssize_t n = recv(fd, b, sizeof b, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN ? -1 : 0;
    if (n == 0)
        return 0;
    return bytes_take(b, (size_t) n, req) ? 1 : -2;
}

/* A fuzzer interrupts with its clock. */
static void wait_for(struct pollfd *pf)
{
    int r = poll(pf, 1, WAIT_MS);
    if (r == 0 || (r < 0 && errno != EINTR))
        abort();
}

bool inside_send(int fd, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    while (n) {
        int r = take_some(fd, 0);
        ssize_t w = r == 0 ? -1 : send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (r == 0 || (w < 0 && errno != EAGAIN))
            return false;
        if (w < 0) {
            struct pollfd pf = { .fd = fd, .events = POLLIN | POLLOUT };
            wait_for(&pf);
            continue;
        }
        p += w;
        n -= (size_t) w;
    }
    return true;
}

void inside_drain(int fd, uint32_t req)
{
    for (;;) {
        struct pollfd pf = { .fd = fd, .events = POLLIN };
        wait_for(&pf);
        int r = take_some(fd, req);
        if (r == 0 || r == 1)
            return;
    }
}

void inside_close(int fd)
{
    shutdown(fd, SHUT_WR);
    inside_drain(fd, 0);
    close(fd);
}
