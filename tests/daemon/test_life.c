/* SPDX-License-Identifier: MIT */
/* Starting, reloading, draining, and what the service manager sees of it. */
#include "tests/daemon/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct rill_client_open plain = OPEN(FILE, 16000, 1, S16, .align = true);
static int16_t silence[16000];

/* ---- sockets ---- */

static void test_sockets(void)
{
    struct rig r, second;
    struct stat st;
    rig_start(&r, "preload = wiener\n[daemon]\nsocket_mode = 0666\n");
    CHECK(stat(r.sock, &st) == 0 && (st.st_mode & 0777) == 0666);
    CHECK(rig_log_has(&r, "model=wiener loaded", 15000) && strstr(rig_log(&r), " cpu="));
    CHECK(stat(r.ctl, &st) == 0 && (st.st_mode & 0777) == 0600);
    /* A second daemon does not take the sockets away. */
    second = r;
    rig_run(&second);
    CHECK(rig_wait(&second, 30000) == 1);
    CHECK(rig_log_has(&r, "another rilld listens", 15000));
    rill_client_free(client_of(r.sock, "life"));
    CHECK(kill(r.pid, SIGKILL) == 0);
    waitpid(r.pid, NULL, 0);
    CHECK(stat(r.sock, &st) == 0); /* left behind by the kill */
    rig_run(&r);
    CHECK(rig_wait_ready(&r));
    rill_client_free(client_of(r.sock, "life"));
    char sock[96];
    memcpy(sock, r.sock, sizeof sock);
    CHECK(rig_stop(&r) == 0 && stat(sock, &st) < 0);
}

/* Who has reached the clients' socket finds the control socket too, however early it asks. */
static void test_sockets_order(void)
{
    for (int i = 0; i < 20; i++) {
        struct rig r;
        rig_dir(&r);
        rig_conf(&r, "");
        CHECK(rig_run(&r));
        int data = -1;
        for (uint64_t end = now_ms() + 30000; data < 0 && now_ms() < end;)
            data = raw_connect(r.sock);
        int control = raw_connect(r.ctl);
        CHECK(data >= 0 && control >= 0, "start %d: %d, %d", i, data, control);
        close(data);
        close(control);
        CHECK(rig_stop(&r) == 0);
    }
}

static void test_foreign_file(void)
{
    struct rig r;
    rig_dir(&r);
    rig_conf(&r, "");
    int fd = open(r.sock, O_CREAT | O_WRONLY, 0600);
    CHECK(write(fd, "precious", 8) == 8);
    close(fd);
    rig_run(&r);
    CHECK(rig_wait(&r, 30000) == 1);
    struct stat st;
    CHECK(stat(r.sock, &st) == 0 && st.st_size == 8);
    rig_clean(&r);
}

static void test_preload_fails(void)
{
    struct rig r;
    rig_dir(&r);
    rig_conf(&r, "preload = nosuch\n");
    rig_run(&r);
    CHECK(rig_wait(&r, 30000) == 1);
    CHECK(rig_log_has(&r, "models.preload: 'nosuch': no model of that name is built in", 100));
    rig_clean(&r);
}

/* ---- reload ---- */

static bool open_soon(struct rill_client *c, uint32_t id, const struct rill_client_open *o)
{
    bool good = false;
    for (uint64_t end = now_ms() + 20000; !good && now_ms() < end; usleep(20000))
        good = rill_client_open(c, id, o, NULL) == 0;
    return good;
}

static void test_reload(void)
{
    struct rig r;
    rig_start(&r, "");
    struct rill_client *c = client_of(r.sock, "life"), *ctl = client_of(r.ctl, "life");
    struct rill_client_finished f;
    CHECK(rill_client_open(c, 1, &plain, NULL) == 0);
    CHECK(rill_client_send(c, 1, silence, 2000) == 0);
    rig_conf(&r, "[limits]\nmax_streams_per_connection = 1\n[oops]\nx = 1\n");
    CHECK_OF(ctl,
             rill_client_ctl_reload(ctl) < 0 && strstr(rill_client_error(ctl), "rilld.conf:") &&
                 strstr(rill_client_error(ctl), "oops"));
    CHECK(rill_client_open(c, 2, &plain, NULL) == 0, "the old settings hold: %s",
          rill_client_error(c));
    rig_conf(&r, "preload = nosuch\n[limits]\nmax_streams_per_connection = 1\n");
    CHECK(rill_client_ctl_reload(ctl) < 0 && strstr(rill_client_error(ctl), "nosuch"));
    CHECK_OF(c, rill_client_open(c, 3, &plain, NULL) == 0);
    rig_conf(&r, "[limits]\nmax_streams_per_connection = 3\n[daemon]\nworkers = 1\n");
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) == 0 && strstr(rill_client_ctl_text(ctl), "workers"));
    CHECK(rill_client_open(c, 4, &plain, NULL) < 0 &&
          rill_client_error_code(c) == RILL__CODE__QUOTA);
    CHECK_OF(c,
             rill_client_send(c, 1, silence, 2000) == 0 && rill_client_finish(c, 1, &f) == 0 &&
                 f.in == 2000 && f.out == 2000);
    rig_conf(&r, "[limits]\nmax_streams_per_connection = 9\n");
    kill(r.pid, SIGHUP);
    /* Two more than the old settings allowed; a reload waits a while after another. */
    CHECK_OF(c, open_soon(c, 4, &plain) && open_soon(c, 40, &plain));
    rig_done(&r, ctl, c);
}

/* A reload that is asked for while the daemon still reads its settings comes once it has started.
 */
static void test_reload_early(void)
{
    struct rig r;
    char next[120];
    rig_dir(&r);
    snprintf(next, sizeof next, "%s", r.conf);
    CHECK(mkfifo(r.conf, 0600) == 0 && rig_run(&r));
    FILE *f = fopen(r.conf, "w"); /* once it is read */
    CHECK(f && kill(r.pid, SIGHUP) == 0);
    snprintf(r.conf, sizeof r.conf, "%s/next", r.dir);
    rig_conf(&r, "");
    CHECK(rename(r.conf, next) == 0);
    memcpy(r.conf, next, sizeof r.conf);
    if (f) {
        fprintf(f, "[daemon]\nsocket = %s\ncontrol_socket = %s\n", r.sock, r.ctl);
        fclose(f);
    }
    CHECK(rig_wait_ready(&r) && rig_log_has(&r, "reloaded", 15000));
    rig_done(&r, NULL);
}

/* What is read at start alone is told as long as the file differs from what runs; the rest holds at
 * once. */
static void test_reload_fixed(void)
{
    static const char words[] = "these need a restart: daemon.batch log.format";
    struct rig r;
    rig_start(&r, "");
    struct rill_client *ctl = client_of(r.ctl, "life");
    rig_conf(&r, "[daemon]\nbatch = 3\n[limits]\nmax_connections = 100\n[log]\nformat = prefix\n");
    for (int i = 0; i < 2; i++)
        CHECK(rill_client_ctl_reload(ctl) == 0 && !strcmp(rill_client_ctl_text(ctl), words),
              "reload %d: '%s'", i, rill_client_ctl_text(ctl));
    rig_conf(&r, "");
    CHECK(rill_client_ctl_reload(ctl) == 0 && !*rill_client_ctl_text(ctl), "'%s'",
          rill_client_ctl_text(ctl));
    rig_done(&r, ctl);
}

/* ---- control ---- */

static void on_session(void *arg, const struct rill_client_session *s)
{
    unsigned *n = arg;
    *n += s->in.rate == 16000 && strcmp(s->state, "running") == 0 && strcmp(s->client, "life") == 0;
}

static void test_control(void)
{
    struct rig r;
    rig_start(&r, "[limits]\nmax_streams_per_connection = 64\n");
    struct rill_client *c = client_of(r.sock, "life"), *ctl = client_of(r.ctl, "life");
    struct rill_client_status st;
    for (uint32_t id = 1; id <= 50; id++)
        CHECK(rill_client_open(c, id, &plain, NULL) == 0);
    CHECK(rill_client_ctl_status(ctl, &st, NULL, NULL) == 0);
    CHECK(st.streams == 50 && st.connections == 2 && st.pid == (uint32_t) r.pid &&
          strcmp(st.state, "running") == 0);
    unsigned n = 0;
    CHECK(rill_client_ctl_sessions(ctl, on_session, &n) == 0 && n == 50,
          "%u sessions over the pages", n);
    CHECK(rill_client_ctl_load(ctl, "nosuch") < 0 && rill_client_ctl_load(ctl, "wiener") == 0);
    CHECK(rill_client_ctl_unload(ctl, "wiener") == 0);
    CHECK(rill_client_open(c, 60, &plain, NULL) == 0);
    CHECK(rill_client_ctl_log_level(ctl, "debug") == 0 && rill_client_ctl_log_level(ctl, "x") < 0);
    CHECK(rill_client_ctl_kick(ctl, 999) < 0);
    CHECK(rill_client_ctl_kick(ctl, 2) == 0 || rill_client_ctl_kick(ctl, 1) == 0);
    while (rill_client_poll(c, 2000) > 0)
        ;
    CHECK(rill_client_ping(c, NULL) < 0);
    CHECK(rill_client_ctl_drain(ctl, 100) == 0);
    CHECK(rig_wait(&r, 30000) == 0);
    rill_client_free(c);
    rill_client_free(ctl);
    rig_clean(&r);
}

/* ---- drain ---- */

static void test_drain(void)
{
    struct rig r;
    rig_start(&r, "[limits]\ndrain_grace_ms = 600000\n"); /* nobody waits for its end */
    struct rill_client *c = client_of(r.sock, "life");
    struct rill_client_finished f;
    struct result got = { .frame_bytes = 2 };
    result_listen(c, &got);
    CHECK(rill_client_open(c, 1, &plain, NULL) == 0);
    CHECK(rill_client_send(c, 1, silence, 8000) == 0);
    kill(r.pid, SIGTERM);
    for (uint64_t end = now_ms() + 20000; !got.goaway && now_ms() < end;)
        rill_client_poll(c, 100);
    CHECK(got.goaway);
    CHECK(rill_client_open(c, 2, &plain, NULL) < 0 &&
          rill_client_error_code(c) == RILL__CODE__DRAINING);
    CHECK(raw_connect(r.sock) < 0);
    CHECK_OF(c, rill_client_send(c, 1, silence, 8000) == 0);
    CHECK_OF(c,
             rill_client_finish(c, 1, &f) == 0 && f.in == 8000 && f.out == 8000 &&
                 got.bytes == 16000);
    CHECK(rig_wait(&r, 30000) == 0);
    rill_client_free(c);
    result_free(&got);
    rig_clean(&r);
}

static void test_drain_grace(void)
{
    struct rig r;
    rig_start(&r, "[limits]\ndrain_grace_ms = 300\n");
    struct rill_client *c = client_of(r.sock, "life");
    CHECK(rill_client_open(c, 1, &plain, NULL) == 0);
    kill(r.pid, SIGTERM);
    CHECK(rig_wait(&r, 30000) == 0, "the stream never ends, the grace does");
    CHECK(rig_log_has(&r, "draining: 1 streams, at most 300 ms", 0), "%s", rig_log(&r));
    while (rill_client_poll(c, 100) > 0)
        ;
    CHECK_OF(c, rill_client_error_code(c) == RILL__CODE__DRAINING);
    rill_client_free(c);
    rig_clean(&r);
}

/* ---- the service manager ---- */

#define WATCHDOG_MS 1500

/* Pets come a third of the watchdog's time apart and never sooner, however late they are read; that
 * all come later than the whole of it, when the daemon would be dead, is a hang. */
static void pets_watch(int fd)
{
    char b[2048];
    uint64_t began = now_ms(), last = 0, least = UINT64_MAX;
    unsigned n = 0, none = 0;
    while (recv(fd, b, sizeof b, MSG_DONTWAIT) > 0)
        ;
    for (; n < 5 && notified(fd, "WATCHDOG=1", 20000, &none); n++) {
        uint64_t now = now_ms();
        least = n && now - last < least ? now - last : least;
        last = now;
    }
    CHECK(n == 5 && least < WATCHDOG_MS, "%u pets, the least time between two %llu ms", n,
          LLU(least));
    CHECK(n <= (last - began) / (WATCHDOG_MS / 3) + 1, "%u pets in %llu ms", n,
          LLU((last - began)));
}

static void test_notify(bool abstract)
{
    struct rig r;
    char name[128];
    unsigned pets = 0;
    rig_dir(&r);
    rig_conf(&r, "");
    snprintf(name, sizeof name, "%s%s/notify", abstract ? "@" : "", r.dir);
    int fd = rig_run_notified(&r, name, "1500000"); /* WATCHDOG_MS */
    pets_watch(fd);
    kill(r.pid, SIGHUP);
    CHECK(notified(fd, "RELOADING=1", 20000, &pets) && notified(fd, "READY=1", 20000, &pets));
    /* A stopped process pets no more. */
    CHECK(rig_freeze(&r));
    while (recv(fd, name, sizeof name, MSG_DONTWAIT) > 0)
        ;
    pets = 0;
    notified(fd, "NEVER", WATCHDOG_MS, &pets);
    CHECK(pets == 0);
    kill(r.pid, SIGCONT);
    kill(r.pid, SIGTERM);
    CHECK(notified(fd, "STOPPING=1", 20000, &pets));
    CHECK(rig_wait(&r, 30000) == 0);
    close(fd);
    rig_clean(&r);
}

/* A compute thread that hangs: the daemon answers, says so, and leaves the watchdog alone until it
 * is over. */
static void test_stuck_worker(void)
{
    struct rig r;
    struct rill_client_status st;
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = false);
    static const float hang[512] = { 0.765625f };
    char name[128];
    unsigned pets = 0;
    rig_dir(&r);
    rig_conf(&r, "");
    snprintf(name, sizeof name, "%s/notify", r.dir);
    int fd = rig_run_notified(&r, name, "900000");
    struct rill_client *c = client_of(r.sock, "life"), *ctl = client_of(r.ctl, "life");
    rig_hold(&r);
    CHECK(rill_client_open(c, 1, &o, NULL) == 0 && rill_client_send(c, 1, hang, sizeof hang) == 0);
    CHECK(rig_log_has(&r, "does not advance", 20000));
    while (recv(fd, name, sizeof name, MSG_DONTWAIT) > 0)
        ;
    pets = 0;
    notified(fd, "NEVER", 1000, &pets);
    CHECK(pets == 0, "%u pets while a thread hangs", pets);
    CHECK(rill_client_ctl_status(ctl, &st, NULL, NULL) == 0 && strcmp(st.state, "stuck") == 0);
    rig_let_go(&r);
    CHECK(notified(fd, "WATCHDOG=1", 20000, &pets));
    struct rill_client_finished f;
    CHECK_OF(c, rill_client_finish(c, 1, &f) == 0 && f.in == 512);
    CHECK(rig_log_has(&r, "advance again", 20000));
    rill_client_free(c);
    rill_client_free(ctl);
    close(fd);
    CHECK(rig_stop(&r) == 0);
}

static bool has_program(const char *name)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "command -v %s >/dev/null 2>&1", name);
    return system(cmd) == 0;
}

static void test_activation(void)
{
    struct rig r;
    char data[96], control[96];
    if (!has_program("systemd-socket-activate")) {
        check_skip("systemd-socket-activate is not installed");
        return;
    }
    rig_dir(&r);
    rig_conf(&r, "");
    snprintf(data, sizeof data, "%s/passed", r.dir);
    snprintf(control, sizeof control, "%s/passed-control", r.dir);
    char *argv[] = { (char *) "/usr/bin/systemd-socket-activate",
                     (char *) "-l",
                     data,
                     (char *) "-l",
                     control,
                     (char *) "--fdname=data:control",
                     getenv("RILLD"),
                     (char *) "-c",
                     r.conf,
                     NULL };
    memcpy(r.sock, data, sizeof data);
    memcpy(r.ctl, control, sizeof control);
    rig_spawn(&r, argv);
    CHECK(rig_wait_ready(&r));
    struct rill_client *c = client_of(data, "life"), *ctl = client_of(control, "life");
    struct rill_client_finished f;
    struct rill_client_status st;
    CHECK_OF(c,
             rill_client_open(c, 1, &plain, NULL) == 0 &&
                 rill_client_send(c, 1, silence, 3200) == 0 && rill_client_finish(c, 1, &f) == 0 &&
                 f.out == 1600);
    CHECK(rill_client_ctl_status(ctl, &st, NULL, NULL) == 0);
    CHECK(rill_client_ctl_status(c, &st, NULL, NULL) < 0);
    rill_client_free(c);
    rill_client_free(ctl);
    char ready[128];
    snprintf(ready, sizeof ready, "threads, %s\n", data);
    CHECK(rig_log_has(&r, ready, 10000), "the log names the socket that was passed: %s",
          rig_log(&r));
    struct stat s;
    kill(r.pid, SIGTERM);
    CHECK(rig_wait(&r, 30000) == 0);
    CHECK(stat(data, &s) == 0); /* the manager's socket is not ours to remove */
    rig_clean(&r);
}

/* ---- units ---- */

static int units_copy(const char *dir)
{
    char cmd[1024];
    snprintf(cmd, sizeof cmd,
             "cp '%s'/*.socket '%s' && "
             "sed -e 's|^ExecStart=.*|ExecStart=%s|' -e 's|^ExecReload=.*|ExecReload=+/bin/true|' "
             "'%s' > '%s/rilld.service'",
             getenv("RILLD_UNITS"), dir, getenv("RILLD"), getenv("RILLD_SERVICE"), dir);
    return system(cmd);
}

static void test_units(void)
{
    struct rig r;
    char cmd[512];
    if (!has_program("systemd-analyze")) {
        check_skip("systemd-analyze is not installed");
        return;
    }
    rig_dir(&r);
    CHECK(units_copy(r.dir) == 0);
    snprintf(cmd, sizeof cmd,
             "cd '%s' && systemd-analyze verify --man=no ./rilld.service ./rilld.socket "
             "./rilld-control.socket ./rilld-metrics.socket ./rilld-health.socket"
             " > verify 2>&1; rc=$?; cat verify; [ $rc = 0 ] && ! grep -q rilld verify",
             r.dir);
    CHECK(system(cmd) == 0);
    snprintf(cmd, sizeof cmd,
             "cd '%s' && systemd-analyze security --offline=true --threshold=10 --no-pager "
             "./rilld.service > security 2>&1 || { tail -3 security; false; }",
             r.dir);
    CHECK(system(cmd) == 0);
    rig_clean(&r);
}

int main(void)
{
    test_sockets();
    test_sockets_order();
    test_foreign_file();
    test_preload_fails();
    test_reload();
    test_reload_early();
    test_reload_fixed();
    test_control();
    test_drain();
    test_drain_grace();
    test_notify(false);
    test_notify(true);
    if (is_fake())
        test_stuck_worker();
    test_activation();
    test_units();
    return check_end();
}
