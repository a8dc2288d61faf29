/* SPDX-License-Identifier: MIT */
/* rill top: what the daemon's models and streams do, as a live table. */
#include "tools/terminal.h"
#include "tools/tool.h"
#include "tools/top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t signal_came;

static void on_signal(int number)
{
    if (number != SIGWINCH)
        signal_came = number;
}

/* ---- the terminal ---- */

static struct termios terminal_before;

static void terminal_enter(void)
{
    struct termios t = terminal_before;
    t.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
    fputs("\033[?1049h\033[?25l\033[H\033[J", stdout);
    fflush(stdout);
}

static void terminal_leave(void)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

static void signals_watch(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGPIPE };
    struct sigaction a = { .sa_handler = on_signal };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &a, NULL);
}

/* Stops as the user asked, with the terminal as it was. */
static void stop_self(void)
{
    terminal_leave();
    signal_came = 0;
    raise(SIGSTOP);
    terminal_enter();
}

/* ---- looking ---- */

struct top {
    const struct command *cmd;
    struct rill_client *c;
    const char *sort;
    int64_t interval_ms;
    struct top_look looks[2];
    unsigned at;
    bool any;
};

static int look(struct top *t)
{
    const struct top_look *before = t->any ? &t->looks[t->at] : NULL;
    t->at ^= t->any;
    t->any = true;
    int code = top_take(t->c, &t->looks[t->at], before);
    if (!code)
        top_sort(&t->looks[t->at], t->sort);
    return code;
}

static void draw(struct top *t)
{
    unsigned columns, lines;
    terminal_size(&columns, &lines);
    fputs("\033[H", stdout);
    top_print(&t->looks[t->at], stdout, columns, lines > 1 ? lines - 1 : 1, t->sort, "\033[K\n");
    fputs("\033[J", stdout);
    fflush(stdout);
}

/* A key that was pressed; false: leave. */
static bool key_take(struct top *t)
{
    char key;
    ssize_t n = read(STDIN_FILENO, &key, 1);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    const char *name = top_key_name(key);
    if (name) {
        t->sort = name;
        top_sort(&t->looks[t->at], t->sort);
    }
    return key != 'q' && key != 'Q' && key != 3;
}

static int live_run(struct top *t)
{
    int code = 0;
    double next_s = 0;
    for (bool go = true; go;) {
        double now_s = tool_now_s();
        if (now_s >= next_s) {
            code = look(t);
            next_s = now_s + (double) t->interval_ms * 1e-3;
        }
        if (code)
            return code;
        draw(t);
        struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
        int wait_ms = (int) ((next_s - tool_now_s()) * 1e3) + 1;
        if (poll(&p, 1, wait_ms > 0 ? wait_ms : 0) > 0)
            go = key_take(t);
        if (signal_came == SIGTSTP)
            stop_self();
        else if (signal_came)
            go = false;
    }
    return 0;
}

static int terminal_run(struct top *t)
{
    if (tcgetattr(STDIN_FILENO, &terminal_before) < 0)
        return tool_fail(t->cmd, TOOL_IO, "the input is no terminal; try --once");
    signals_watch();
    terminal_enter();
    int code = live_run(t);
    terminal_leave();
    return code;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    const char *env = getenv("RILL_CONTROL"),
               *socket = env && *env ? env : "/run/rilld/control.sock";
    struct top *t = tool_alloc(sizeof *t);
    int64_t columns = 0;
    bool once = false;
    t->cmd = cmd;
    t->sort = "rtf";
    t->interval_ms = 1000;
    const struct opt table[] = {
        { "columns", 0, OPT_INT, INT_FROM_TO(&columns, 1, TOP_COLUMNS_MAX), "N",
          "with --once: longest line (default 80)" },
        { "interval-ms", 'i', OPT_INT, INT_FROM_TO(&t->interval_ms, 50, 3600000), "MS",
          "time between looks (default 1000)" },
        { "once", '1', OPT_FLAG, &once, NULL, "print one table, of all time, and exit" },
        { "socket", 's', OPT_TEXT, &socket, "PATH",
          "control socket (default: $RILL_CONTROL or the system's)" },
        { "sort", 0, OPT_TEXT, &t->sort, "KEY",
          "rtf, wait, compute, misses, gaps or name (default rtf)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 0);
    if (n < 0 || !top_sort(&t->looks[0], t->sort)) {
        int code = n < 0
            ? -n
            : tool_fail(cmd, TOOL_USAGE, "'%s' is no key to sort by; see rill top --help", t->sort);
        free(t);
        return code;
    }
    int code = rill_client_connect(&t->c, socket, "rill top", 10000);
    if (!code && (once || !isatty(STDOUT_FILENO))) {
        code = look(t);
        if (!code)
            top_print(&t->looks[t->at], stdout, columns ? (unsigned) columns : 80, 0, t->sort,
                      "\n");
    } else if (!code) {
        code = columns ? tool_fail(cmd, TOOL_USAGE, "--columns goes with --once") : terminal_run(t);
    }
    if (code == -1)
        code = tool_fail(cmd, t->c && rill_client_error_code(t->c) ? TOOL_REFUSED : TOOL_IO, "%s",
                         t->c ? rill_client_error(t->c) : "out of memory");
    rill_client_free(t->c);
    free(t);
    return code;
}

const struct command cmd_top = {
    .name = "top",
    .usage = "[OPTIONS]",
    .summary = "models and streams of the running daemon, live",
    .details = "RTF is compute over audio, WAIT99 and COMP99 the time that 99 % of the pulses "
               "waited and computed at most: for models\n"
               "since the last look, for streams since they were opened. MISSES counts pulses that "
               "came later than their own length,\n"
               "GAPS what was told as lost. Keys: r w c m g n sort by rtf, wait, compute, misses, "
               "gaps, name; q quits.",
    .run = run,
};
