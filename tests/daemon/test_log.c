/* SPDX-License-Identifier: MIT */
/* The log: fields of the journal, a journal that is not there, a client's flood, and a pipe that
 * nobody empties. */
#include "daemon/base/log.h"
#include "tests/daemon/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- fields ---- */

static bool field_is(const char *datagram, const char *field)
{
    char with[300];
    snprintf(with, sizeof with, "\n%s\n", field);
    return strstr(datagram, with) ||
        (!strncmp(datagram, field, strlen(field)) && datagram[strlen(field)] == '\n');
}

static void test_fields(void)
{
    char b[2048];
    size_t n = log_fields(b, sizeof b - 1, LOG_WARN, EVENT_STREAM,
                          "stream=7 uid=1000 rtf_max=0.5 text=\"two words\" out=3 end words=9");
    b[n] = '\0';
    CHECK(
        field_is(b, "MESSAGE=stream=7 uid=1000 rtf_max=0.5 text=\"two words\" out=3 end words=9") &&
        field_is(b, "PRIORITY=4"));
    CHECK(field_is(b, "SYSLOG_IDENTIFIER=rilld") && strstr(b, "\nMESSAGE_ID="));
    CHECK(field_is(b, "RILL_STREAM=7") && field_is(b, "RILL_UID=1000") &&
          field_is(b, "RILL_RTF_MAX=0.5"));
    CHECK(field_is(b, "RILL_TEXT=two words") && field_is(b, "RILL_OUT=3") &&
          !strstr(b, "RILL_WORDS"));
    n = log_fields(b, sizeof b - 1, LOG_INFO, EVENT_NONE, "plain words a=1");
    b[n] = '\0';
    CHECK(!strstr(b, "RILL_") && !strstr(b, "MESSAGE_ID"));
    /* A field that does not fit is left out whole. */
    for (unsigned long cap = 0; cap < 120; cap++) {
        n = log_fields(b, cap, LOG_INFO, EVENT_READY, "key=value");
        CHECK(n <= cap && (!n || b[n - 1] == '\n'));
    }
}

/* ---- a daemon with a journal of its own ---- */

/* Reads datagrams until one has the field; it, or NULL. */
static const char *journal_find(int fd, const char *field, int timeout_ms)
{
    static char b[8192];
    uint64_t end = now_ms() + (uint64_t) timeout_ms;
    while (message_next(fd, end, b, sizeof b))
        if (field_is(b, field))
            return b;
    return NULL;
}

static void stream_short(const struct rig *r, uint32_t id)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, S16, .align = false);
    static int16_t x[1600];
    struct rill_client *c = client_of(r->sock, "log");
    CHECK_OF(c,
             rill_client_open(c, id, &o, NULL) == 0 && rill_client_send(c, id, x, sizeof x) == 0 &&
                 rill_client_finish(c, id, NULL) == 0);
    rill_client_free(c);
}

/* own: stderr is the journal's by JOURNAL_STREAM, and the format is auto. */
static void test_journal(bool own)
{
    struct rig r;
    char path[80], more[300], uid[40], stream[64];
    struct stat st;
    rig_dir(&r);
    snprintf(path, sizeof path, "%s/j", r.dir);
    int fd = message_listen(path);
    snprintf(more, sizeof more, "[log]\nformat = %s\njournal_socket = %s\n",
             own ? "auto" : "journal", path);
    rig_conf(&r, more);
    close(open(r.log, O_CREAT | O_WRONLY, 0600));
    stat(r.log, &st);
    snprintf(stream, sizeof stream, "%llu:%llu", LLU(st.st_dev), LLU(st.st_ino));
    if (own)
        setenv("JOURNAL_STREAM", stream, 1);
    rig_run(&r);
    unsetenv("JOURNAL_STREAM");
    CHECK(rig_wait_ready(&r));
    const char *d = journal_find(fd, "MESSAGE_ID=6dba44a669c7044881073435470fa180", 10000);
    CHECK(d && field_is(d, "PRIORITY=6") && strstr(d, " ready: "));
    stream_short(&r, 3);
    d = journal_find(fd, "RILL_STREAM=1", 5000);
    snprintf(uid, sizeof uid, "RILL_UID=%u", (unsigned) getuid());
    CHECK(d && field_is(d, uid) && field_is(d, "RILL_MODEL=rill-denoise") &&
              strstr(d, "\nRILL_RTF=") && field_is(d, "RILL_MISS=0") &&
              strstr(d, "\nRILL_Q_P99=") && strstr(d, "\nMESSAGE_ID="),
          "%s", d ? d : "none");
    int raw = raw_connect(r.sock);
    CHECK(raw_send(raw, "GET / HT", 8));
    d = journal_find(fd, "RILL_ERROR=BAD_PREFACE", 5000);
    CHECK(d && field_is(d, "PRIORITY=4") && strstr(d, "\nRILL_TEXT=the connection does not begin"));
    close(raw);
    CHECK(!*rig_log(&r), "%s", rig_log(&r));
    /* The journal goes away: lines go to stderr with their priority. */
    close(fd);
    stream_short(&r, 4);
    CHECK(rig_log_has(&r, "<6>stream=2 ", 15000));
    CHECK(rig_stop(&r) == 0);
}

/* JOURNAL_STREAM of somebody else's stderr. */
static void test_not_journal(void)
{
    struct rig r;
    setenv("JOURNAL_STREAM", "1:2", 1);
    rig_start(&r, "");
    unsetenv("JOURNAL_STREAM");
    CHECK(rig_log_has(&r, "rilld ", 15000) && !strstr(rig_log(&r), "<6>"));
    CHECK(rig_stop(&r) == 0);
}

/* ---- floods ---- */

static void test_flood(void)
{
    struct rig r;
    FRAME(f, m, Finish, FINISH, finish);
    struct rill_client_stats st;
    rig_start(&r, "[log]\nclient_lines_per_s = 5\n");
    int fd = raw_hello(r.sock);
    m.stream = 9;
    for (int i = 0; i < 2000; i++)
        CHECK(raw_frame(fd, &f) && raw_error(fd, 15000) == RILL__CODE__NO_STREAM);
    struct rill_client *c = client_of(r.sock, "flood");
    CHECK(rill_client_stats(c, &st, NULL, NULL) == 0);
    unsigned n_lines = 0;
    for (const char *p = rig_log(&r); (p = strstr(p, "error=NO_STREAM")); p++)
        n_lines++;
    /* Twenty at once, and five a second while it lasted. */
    CHECK(n_lines >= 20 && n_lines < 400 && st.log_lines_lost + n_lines == 2000,
          "%u written, %llu lost", n_lines, LLU(st.log_lines_lost));
    CHECK(st.protocol_errors == 2000);
    usleep(600000);
    CHECK(raw_frame(fd, &f) && raw_error(fd, 15000) == RILL__CODE__NO_STREAM);
    CHECK(rig_log_has(&r, "left_out=", 15000));
    rill_client_free(c);
    close(fd);
    CHECK(rig_stop(&r) == 0);
}

/* stderr is a pipe that nobody reads: the daemon goes on and counts. */
static void test_full_pipe(void)
{
    struct rig r;
    int ends[2];
    struct rill_client *c = NULL;
    struct rill_client_stats st;
    FRAME(f, m, Finish, FINISH, finish);
    rig_dir(&r);
    rig_conf(&r, "[log]\nclient_lines_per_s = 0\n");
    CHECK(pipe(ends) == 0);
    if (rig_fork(&r) == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl(getenv("RILLD"), "rilld", "-c", r.conf, (char *) NULL);
        _exit(127);
    }
    CHECK(rig_wait_ready(&r));
    int fd = raw_hello(r.sock);
    m.stream = 9;
    for (int i = 0; i < 3000; i++)
        if (!CHECK(raw_frame(fd, &f) && raw_error(fd, 15000) == RILL__CODE__NO_STREAM))
            break;
    c = client_of(r.sock, "pipe");
    CHECK(rill_client_stats(c, &st, NULL, NULL) == 0);
    CHECK(st.log_lines_lost > 1000, "%llu", LLU(st.log_lines_lost));
    rill_client_free(c);
    close(fd);
    close(ends[1]);
    CHECK(rig_stop(&r) == 0);
    close(ends[0]);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_fields();
    test_journal(false);
    test_journal(true);
    test_not_journal();
    test_flood();
    test_full_pipe();
    return check_end();
}
