/* SPDX-License-Identifier: MIT */
/* rill top in a terminal of its own and rill ctl's figures: what they print of streams that run. */
#include "tests/daemon/harness.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static struct rig r;
static struct rill_client *c;
static int16_t audio[32000];

static const char *rill(const char *arguments, int *ret_code)
{
    return program_says(getenv("RILL_TOOL"), arguments, ret_code);
}

static bool lines_fit(const char *text, size_t columns)
{
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        if (strcspn(p, "\n") > columns) {
            printf("too long: %.120s\n", p);
            return false;
        }
        if (!p[strcspn(p, "\n")])
            break;
    }
    return true;
}

/* ---- tables for scripts ---- */

static void test_once(void)
{
    char args[256];
    int code;
    snprintf(args, sizeof args, "top --once --socket %s", r.ctl);
    const char *t = rill(args, &code);
    CHECK(code == 0 && lines_fit(t, 80) && strstr(t, "running") &&
              strstr(t, "rill-denoise        2 "),
          "%s", t);
    CHECK(strstr(t, "1/1") || strstr(t, "2/1"), "%s", t);
    CHECK(strstr(t, " live ") && strstr(t, " file ") && !strstr(t, "\033"), "%s", t);
    /* By name streams come in the order of their opening, by audio computed the one that did
     * something first. */
    snprintf(args, sizeof args, "top --once --sort name --columns 200 --socket %s", r.ctl);
    t = rill(args, &code);
    const char *live = strstr(t, " live "), *file = strstr(t, " file ");
    CHECK(code == 0 && live && file && live < file, "%s", t);
    CHECK(live && !strncmp(live, " live      - ", 13), "it did nothing yet: %s", t);
    snprintf(args, sizeof args, "top --once --sort rtf --socket %s", r.ctl);
    t = rill(args, &code);
    live = strstr(t, " live ");
    file = strstr(t, " file ");
    CHECK(code == 0 && live && file && file < live, "%s", t);
    snprintf(args, sizeof args, "top --once --sort colour --socket %s", r.ctl);
    rill(args, &code);
    CHECK(code == 2);
    rill("top --once --socket /nowhere/at/all", &code);
    CHECK(code == 4);
}

static json_t *ctl_json(const char *verb, int *ret_code)
{
    char args[256];
    json_error_t e;
    snprintf(args, sizeof args, "ctl --json --socket %s %s", r.ctl, verb);
    const char *t = rill(args, ret_code);
    json_t *j = json_loads(t, 0, &e);
    CHECK(j != NULL, "%s: %s in %s", verb, e.text, t);
    return j;
}

static json_int_t number(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

static double real(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static void test_ctl(void)
{
    int code;
    char args[256];
    json_t *j = ctl_json("stats", &code), *m = json_array_get(json_object_get(j, "models"), 0);
    CHECK(code == 0 && number(j, "streams") == 2 && number(j, "streams_opened") == 2 &&
          number(j, "streams_refused") == 1);
    CHECK(number(json_object_get(j, "refused"), "NO_MODEL") == 1 &&
          number(json_object_get(j, "errors"), "NO_MODEL") == 1);
    CHECK(number(json_object_get(j, "gap_samples"), "client") == 160 &&
          number(json_object_get(j, "gap_us"), "client") == 10000);
    CHECK(number(m, "pulses") > 20 && number(m, "gap_samples") == 160 &&
          number(j, "resident_bytes") > 1000000);
    json_t *times = json_object_get(m, "compute"),
           *last = json_array_get(times, json_array_size(times) - 1);
    CHECK(json_is_null(json_object_get(last, "le_us")) &&
          number(last, "count") == number(m, "pulses"));
    json_decref(j);
    j = ctl_json("status", &code);
    CHECK(code == 0 && number(j, "streams") == 2 &&
          number(json_object_get(j, "stats"), "streams") == 2);
    CHECK(real(j, "machine_budget") > 0 && real(j, "loop_budget") > 0 && real(j, "had") > 0 &&
          real(j, "had") <= 1);
    json_decref(j);
    j = ctl_json("models", &code);
    m = json_array_get(json_object_get(j, "models"), 0);
    for (size_t i = 0; i < json_array_size(json_object_get(j, "models")); i++)
        if (!strcmp(json_string_value(
                        json_object_get(json_array_get(json_object_get(j, "models"), i), "state")),
                    "ready"))
            m = json_array_get(json_object_get(j, "models"), i);
    json_t *price = json_object_get(m, "price");
    CHECK(real(price, "compute") > 0 && real(price, "loop") > 0 && real(price, "tried") > 0 &&
              real(price, "tried_wall") >= real(price, "tried") * 0.99 &&
              json_is_integer(json_object_get(price, "figures")),
          "how the price of %s came about", json_string_value(json_object_get(m, "name")));
    json_decref(j);
    j = ctl_json("sessions", &code);
    json_t *s = json_array_get(json_object_get(j, "sessions"), 1);
    CHECK(code == 0 && json_array_size(json_object_get(j, "sessions")) == 2 &&
          number(s, "gap_samples") == 160 && number(s, "audio_us") > 900000);
    CHECK(json_is_real(json_object_get(s, "rtf")));
    s = json_array_get(json_object_get(j, "sessions"), 0);
    CHECK(json_is_null(json_object_get(s, "rtf")) &&
              json_is_null(json_object_get(s, "max_chunk_us")),
          "it did nothing yet");
    json_decref(j);
    j = ctl_json("models", &code);
    s = json_array_get(json_object_get(j, "models"), 0);
    CHECK(code == 0 && !strcmp(json_string_value(json_object_get(s, "state")), "known") &&
              json_is_null(json_object_get(s, "rate")) &&
              json_is_null(json_object_get(s, "weights_bytes")),
          "%s is not loaded", json_string_value(json_object_get(s, "name")));
    json_decref(j);
    j = ctl_json("health", &code);
    CHECK(code == 0 && !strcmp(json_string_value(json_object_get(j, "state")), "ok") &&
          number(j, "threads") == 4); /* two of them for files */
    json_decref(j);
    j = ctl_json("worst", &code);
    CHECK(code == 0 && json_array_size(json_object_get(j, "pulses")) > 0);
    json_decref(j);
    snprintf(args, sizeof args, "ctl --socket %s metrics", r.ctl);
    const char *t = rill(args, &code);
    CHECK(code == 0 && strstr(t, "\nrill_sessions 2\n") && !strcmp(t + strlen(t) - 6, "# EOF\n"));
    for (size_t i = 0; i < 5; i++) {
        static const char *const verbs[] = { "stats", "status", "sessions", "health", "worst" };
        snprintf(args, sizeof args, "ctl --socket %s %s", r.ctl, verbs[i]);
        t = rill(args, &code);
        CHECK(code == 0 && *t, "%s", verbs[i]);
        CHECK(i != 2 || strstr(t, "no pulse yet"), "%s", t);
    }
}

static void test_subscription(void)
{
    const struct rill_client_publish p = { .topic = "desk" };
    const struct rill_client_subscribe s = { .topic = "desk", .out = { 0, 2, RILL_CLIENT_S16 } };
    int code;
    CHECK_OF(c, rill_client_publish(c, 2, &p, NULL) == 0);
    struct rill_client *x = client_of(r.sock, "ears");
    CHECK_OF(x, rill_client_subscribe(x, 7, &s, NULL) == 0);
    json_t *j = ctl_json("sessions", &code), *list = json_object_get(j, "sessions"),
           *mine = json_array_get(list, 1), *ears = json_array_get(list, 2);
    CHECK(code == 0 && json_array_size(list) == 3);
    CHECK(number(mine, "uid") == getuid() && number(mine, "channels") == 1 &&
          number(mine, "out_channels") == 1 && number(mine, "out_rate") == 16000);
    CHECK(json_is_true(json_object_get(ears, "subscription")) && json_object_get(ears, "uid") &&
          number(ears, "uid") == getuid() && number(ears, "rate") == 16000 &&
          number(ears, "out_channels") == 2 && number(ears, "out_rate") == 16000 &&
          !json_object_get(ears, "channels"));
    json_decref(j);
    rill_client_free(x);
}

/* ---- a terminal ---- */

/* -1 where there are none. */
static int terminal_open(char name[64])
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY);
    struct winsize w = { .ws_row = 24, .ws_col = 80 };
    if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0 || ptsname_r(fd, name, 64) != 0) {
        close(fd);
        return -1;
    }
    ioctl(fd, TIOCSWINSZ, &w);
    return fd;
}

static pid_t top_start(const char *terminal)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int fd = open(terminal, O_RDWR);
        dup2(fd, 0);
        dup2(fd, 1);
        dup2(fd, 2);
        execl(getenv("RILL_TOOL"), "rill", "top", "--interval-ms", "200", "--socket", r.ctl,
              (char *) NULL);
        _exit(127);
    }
    return pid;
}

static char screen[1 << 20];
static size_t screen_n;

/* Reads until `text` was printed since the last call. */
static bool screen_has(int fd, const char *text, int timeout_ms)
{
    uint64_t end = now_ms() + (uint64_t) timeout_ms;
    size_t from = screen_n;
    while (!strstr(screen + from, text)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        uint64_t now = now_ms();
        if (now >= end || poll(&p, 1, (int) (end - now)) <= 0)
            return false;
        ssize_t n = read(fd, screen + screen_n, sizeof screen - 1 - screen_n);
        if (n <= 0)
            return false;
        screen_n += (size_t) n;
        screen[screen_n] = '\0';
    }
    return true;
}

/* Between "home" and the next one no more than 24 lines of 80 columns. */
static bool screens_fit(void)
{
    char *p = strstr(screen, "\033[H");
    unsigned n_screens = 0;
    while (p) {
        char *next = strstr(p + 3, "\033[H");
        unsigned lines = 0;
        for (char *l = p + 3; next && l < next; lines++) {
            char *end = strstr(l, "\033[K");
            if (!end || end > next)
                break;
            if (end - l > 80)
                return false;
            l = end + 3 + strspn(end + 3, "\r\n");
        }
        if (lines > 24)
            return false;
        n_screens += lines > 5;
        p = next;
    }
    return n_screens >= 3;
}

static void test_terminal(int how)
{
    char name[64];
    struct termios before, after;
    int fd = terminal_open(name), hold = fd < 0 ? -1 : open(name, O_RDWR | O_NOCTTY), status = -1;
    if (hold < 0) {
        check_skip("no terminal can be had here");
        return;
    }
    tcgetattr(hold, &before);
    screen_n = 0;
    screen[0] = '\0';
    pid_t pid = top_start(name);
    CHECK(screen_has(fd, "\033[?1049h", 20000) && screen_has(fd, "sorted by rtf", 20000));
    CHECK(screen_has(fd, "rill-denoise", 20000));
    CHECK(write(fd, "m", 1) == 1 && screen_has(fd, "sorted by misses", 20000));
    CHECK(write(fd, "n", 1) == 1 && screen_has(fd, "sorted by name", 20000));
    CHECK(screen_has(fd, "STREAM", 20000) && screen_has(fd, "q: quit", 20000));
    tcgetattr(hold, &after);
    CHECK(!(after.c_lflag & ECHO) && !(after.c_lflag & ICANON));
    if (how == 'q')
        CHECK(write(fd, "q", 1) == 1);
    else
        kill(pid, how);
    CHECK(screen_has(fd, "\033[?1049l", 20000));
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tcgetattr(hold, &after);
    CHECK(after.c_lflag == before.c_lflag && strstr(screen, "\033[?25h"));
    CHECK(screens_fit());
    close(hold);
    close(fd);
}

static void on_model(void *arg, const struct rill_client_model_stats *m)
{
    *(uint64_t *) arg = m->audio_us;
}

int main(void)
{
    struct rill_client_open o = OPEN(LIVE, 16000, 1, S16, .align = false);
    rig_start(&r, "");
    c = client_of(r.sock, "top test");
    CHECK(rill_client_open(c, 1, &o, NULL) == 0);
    o.pace = RILL_CLIENT_FILE;
    o.align = true;
    for (size_t i = 0; i < sizeof audio / sizeof *audio; i++)
        audio[i] = (int16_t) (i * 7919 % 3000);
    CHECK_OF(c,
             rill_client_open(c, 2, &o, NULL) == 0 && rill_client_send(c, 2, audio, 16000) == 0 &&
                 rill_client_skip(c, 2, 160) == 0 && rill_client_send(c, 2, audio, 16000) == 0);
    o.model = "nosuch";
    CHECK(rill_client_open(c, 3, &o, NULL) < 0);
    uint64_t done_us = 0; /* all of the second that was sent, to whole pulses */
    for (uint64_t end = now_ms() + 20000; done_us < 960000 && now_ms() < end; usleep(10000))
        CHECK_OF(c, rill_client_stats(c, NULL, on_model, &done_us) == 0);
    CHECK(done_us >= 960000, "%llu us computed", (unsigned long long) done_us);
    test_once();
    test_ctl();
    test_subscription();
    test_terminal('q');
    test_terminal(SIGTERM);
    rig_done(&r, c);
    return check_end();
}
