/* SPDX-License-Identifier: MIT */
/* The n-th call of a family fails, for every n until nothing fails any more: at start, while a
 * model loads, and in a session. The daemon says why it cannot start, or refuses and serves the
 * next client to the bit as before. Usage: test_nth start|load|session */
#include "tests/faults/faults.h"

#include <sys/wait.h>
#include <unistd.h>

static const enum fault_kind kinds[] = {
    FAULT_MALLOC, FAULT_READ,   FAULT_WRITE,   FAULT_SENDMSG, FAULT_ACCEPT, FAULT_MMAP,
    FAULT_OPEN,   FAULT_THREAD, FAULT_EVENTFD, FAULT_EPOLL,   FAULT_SOCKET,
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static struct rig rig;
static struct result want;
static unsigned fds;

static bool wanted(enum fault_kind kind)
{
    const char *only = getenv("FAULTS_ONLY");
    return !only || strcmp(only, fault_name(kind)) == 0;
}

/* What every session does, and every load, so that failing it must have been possible. */
static bool expected(const char *where, enum fault_kind kind)
{
    if (kind == FAULT_THREAD)
        return strcmp(where, "load") == 0;
    return kind == FAULT_MALLOC || kind == FAULT_READ || kind == FAULT_WRITE ||
        kind == FAULT_ACCEPT || kind == FAULT_EPOLL;
}

static void tried_note(const char *where, enum fault_kind kind, unsigned tried)
{
    CHECK(n_failed || tried || !wanted(kind) || !expected(where, kind), "%s: no %s failed", where,
          fault_name(kind));
    printf("%s: %s: %u failures\n", where, fault_name(kind), tried);
}

static bool model_forget(void)
{
    struct rill_client *c = NULL;
    bool good = rill_client_connect(&c, rig.ctl, "test", 10000) == 0;
    CHECK_OF(c, good);
    if (good && rill_client_ctl_unload(c, "rill-denoise") < 0)
        good = CHECK_OF(c, rill_client_error_code(c) != 0); /* it is not loaded: that is fine */
    rill_client_free(c);
    return good;
}

/* The daemon is as good as new. */
static bool healthy(const char *where, enum fault_kind kind, uint64_t n)
{
    struct result r;
    char err[512];
    if (!CHECK(rig_lives(&rig), "%s: %s %llu", where, fault_name(kind), LLU(n)))
        return false;
    bool good = session_play(&rig, NULL, &r, err);
    if (!good && strstr(err, "MODEL_FAILED") &&
        model_forget()) /* remembered for a while, unless it is forgotten */
        good = session_play(&rig, NULL, &r, err);
    good = CHECK(good, "%s: %s %llu: then: %s", where, fault_name(kind), LLU(n), err) &&
        CHECK(result_same(&r, &want), "%s: %s %llu: another output", where, fault_name(kind),
              LLU(n));
    result_free(&r);
    return good;
}

static void want_learn(void)
{
    char err[512];
    fault_disarm();
    if (!CHECK(session_play(&rig, NULL, &want, err), "%s", err))
        exit(check_end());
}

/* ---- in a session ---- */

static uint64_t session_fault(enum fault_kind kind, uint64_t n, bool forever)
{
    struct result r;
    char err[512];
    fault_arm(kind, n, forever, 0);
    bool good = session_play(&rig, NULL, &r, err);
    uint64_t hits = fault_disarm();
    CHECK(good || !strstr(err, "was silent"), "%s %llu: a hang: %s", fault_name(kind), LLU(n), err);
    CHECK(!good || result_same(&r, &want), "%s %llu: another output", fault_name(kind), LLU(n));
    CHECK(good || err[0], "%s %llu: without words", fault_name(kind), LLU(n));
    result_free(&r);
    return hits;
}

/* ---- while a model loads ---- */

static void in_session(const char *when, const char *conf, bool load)
{
    fault_rig(&rig, conf);
    want_learn();
    fds = fds_of(&rig);
    for (size_t k = 0; k < N_KINDS; k++) {
        unsigned tried = 0;
        for (uint64_t n = 1; wanted(kinds[k]) && !n_failed && (!load || model_forget());
             n = fault_next(n)) {
            bool any = session_fault(kinds[k], n, false);
            if (!healthy(when, kinds[k], n) || !any)
                break;
            tried++;
            /* From here on all fail; but who waits for ever, or is never accepted, learns nothing
             * from it. */
            if (!load && kinds[k] != FAULT_EPOLL && kinds[k] != FAULT_ACCEPT && (n == 1 || n == 7))
                session_fault(kinds[k], n, true);
        }
        CHECK(n_failed || wait_fds(&rig, fds), "%s: %u descriptors, %u before",
              fault_name(kinds[k]), fds_of(&rig), fds);
        tried_note(when, kinds[k], tried);
    }
    CHECK(rig_stop(&rig) == 0);
}

/* ---- at start ---- */

/* True once the daemon serves, false once it ended; its exit code in *code. */
static bool start_wait(int *code)
{
    for (uint64_t end = now_ms() + 30000; now_ms() < end; usleep(5000)) {
        int status, fd = raw_connect(rig.sock);
        if (fd >= 0) {
            close(fd);
            return true;
        }
        if (waitpid(rig.pid, &status, WNOHANG) == rig.pid) {
            rig.pid = 0;
            *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return false;
        }
    }
    *code = -1;
    return false;
}

static uint64_t start_fault(enum fault_kind kind, uint64_t n)
{
    int code = 0;
    struct result r = { 0 };
    char err[512] = "";
    fault_arm(kind, n, false, 0);
    fault_spawn(&rig, "");
    bool served = start_wait(&code) && session_play(&rig, NULL, &r, err);
    uint64_t hits = fault_disarm();
    if (rig.pid && !served) { /* not this client; the next one, or the daemon is going */
        served = start_wait(&code) && session_play(&rig, NULL, &r, err);
        if (rig.pid && !served)
            code = rig_wait(&rig, 15000);
    }
    if (served) {
        CHECK(result_same(&r, &want), "start: %s %llu: another output", fault_name(kind), LLU(n));
        /* A client may come in between a model that cannot be loaded and the end that follows from
         * it. */
        bool ends = strstr(rig_log(&rig), "cannot be loaded") != NULL;
        int rc = rig_stop(&rig);
        CHECK(rc == 0 || (rc == 1 && ends), "start: %s %llu: exit code %d", fault_name(kind),
              LLU(n), rc);
    } else {
        CHECK(code > 0 && code < 126 && hits, "start: %s %llu: exit code %d; %s\n%s",
              fault_name(kind), LLU(n), code, err, rig_log(&rig));
        CHECK(strlen(rig_log(&rig)) > 10 || kind == FAULT_WRITE,
              "start: %s %llu: ends without words", fault_name(kind), LLU(n));
        rig_clean(&rig);
    }
    result_free(&r);
    return hits;
}

static void at_start(void)
{
    fault_rig(&rig, "");
    want_learn();
    CHECK(rig_stop(&rig) == 0);
    for (size_t k = 0; k < N_KINDS; k++) {
        unsigned tried = 0;
        for (uint64_t n = 1; wanted(kinds[k]) && !n_failed; n = fault_next(n)) {
            if (!start_fault(kinds[k], n))
                break;
            tried++;
        }
        tried_note("start", kinds[k], tried);
    }
}

int main(int argc, char **argv)
{
    if (fault_none())
        return 77;
    const char *what = argc > 1 ? argv[1] : "session";
    fault_page_make();
    stream_timeout_ms = 20000;
    if (strcmp(what, "start") == 0)
        at_start();
    else if (strcmp(what, "load") == 0)
        in_session("load", "preload =\n", true);
    else
        in_session("session", "", false);
    result_free(&want);
    return check_end();
}
