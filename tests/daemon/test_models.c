/* SPDX-License-Identifier: MIT */
/* Models that come, go and follow one another while streams run. */
#include "tests/daemon/model_rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- versions ---- */

static void test_swap(void)
{
    struct rig r;
    char err[512];
    struct slow_stream old, new;
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "m", "wiener");
    CHECK(rill_client_ctl_swap(ctl, "m") < 0 && strstr(rill_client_error(ctl), "is not loaded"));
    slow_open(&old, &r, "m");
    slow_send(&old, 3000);
    model_put(&r, "m", "half");
    CHECK(volume_of(&r, "m", err) == 1, "a new file alone changes nothing");
    CHECK_OF(ctl, rill_client_ctl_swap(ctl, "m") == 0);
    CHECK(volume_of(&r, "m", err) == 0.5f, "%s", err);
    slow_open(&new, &r, "m");
    model_put(&r, "m", "nonsense");
    CHECK_OF(ctl,
             rill_client_ctl_swap(ctl, "m") < 0 &&
                 rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED &&
                 strstr(rill_client_error(ctl), "/m: is no model") &&
                 !strstr(rill_client_error(ctl), "/proc/")); /* as which it is opened */
    CHECK(rill_client_ctl_reload_model(ctl, "m") < 0);
    CHECK(volume_of(&r, "m", err) == 0.5f, "a bad file changes nothing: %s", err);
    model_put(&r, "m", "wiener");
    CHECK(rill_client_ctl_reload_model(ctl, "m") == 0);
    CHECK(volume_of(&r, "m", err) == 1);
    slow_close(&old, 1);
    slow_close(&new, 0.5f);
    rig_done(&r, ctl);
}

static void test_reload_all(void)
{
    struct rig r;
    char err[512];
    struct slow_stream old;
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "a", "wiener");
    model_put(&r, "b", "wiener");
    slow_open(&old, &r, "a");
    CHECK(volume_of(&r, "b", err) == 1, "%s", err);
    model_put(&r, "a", "half");
    model_put(&r, "b", "nonsense");
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) < 0 && strstr(rill_client_error(ctl), "b: "));
    CHECK(volume_of(&r, "a", err) == 1 && volume_of(&r, "b", err) == 1,
          "one bad file changes nothing at all: %s", err);
    model_put(&r, "b", "half");
    kill(r.pid, SIGHUP);
    CHECK(rig_log_has(&r, "reloaded /", 10000));
    CHECK(volume_of(&r, "a", err) == 0.5f && volume_of(&r, "b", err) == 0.5f, "%s", err);
    slow_close(&old, 1);
    rig_done(&r, ctl);
}

static void test_unload(void)
{
    struct rig r;
    struct slow_stream s;
    char err[512];
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "m", "wiener");
    slow_open(&s, &r, "m");
    slow_send(&s, 3000);
    CHECK(rill_client_ctl_unload(ctl, "m") == 0 &&
          strstr(rill_client_ctl_text(ctl), "when the streams"));
    CHECK(!strcmp(count_of(ctl, "m").state, "known"));
    int raw = raw_hello(r.ctl);
    FRAME(f, u, CtlUnload, CTL_UNLOAD, ctl_unload);
    model_put(&r, "m", "half");
    CHECK(volume_of(&r, "m", err) == 0.5f, "loaded afresh beside it: %s", err);
    struct slow_stream t;
    slow_open(&t, &r, "m");
    u.model = (char *) (uintptr_t) "m";
    u.wait = true;
    f.req = 5;
    CHECK(raw_frame(raw, &f));
    CHECK(raw_answer(raw, 400) == NULL, "not before its stream has ended");
    struct counted n = count_of(ctl, "m");
    CHECK(n.opened == 3 && n.streams == 2, "counts go on over the versions: %u, %u",
          (unsigned) n.opened, (unsigned) n.streams);
    slow_close(&s, 1);
    slow_close(&t, 0.5f);
    Rill__ServerFrame *a = raw_answer(raw, 10000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_CTL_DONE && a->req == 5 &&
          !strcmp(a->ctl_done->text, "unloaded"));
    rill__server_frame__free_unpacked(a, NULL);
    close(raw);
    n = count_of(ctl, "m");
    CHECK(n.opened == 3 && n.streams == 0);
    CHECK(rill_client_ctl_load(ctl, "m") == 0 && rill_client_ctl_unload_wait(ctl, "m") == 0);
    rig_done(&r, ctl);
}

static void test_idle(void)
{
    struct rig r;
    struct slow_stream s;
    rig_start(&r, "keep_alive_s = 1\npreload = wiener\n");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "m", "wiener");
    slow_open(&s, &r, "m");
    slow_send(&s, 3000);
    usleep(2500000);
    CHECK(!strcmp(count_of(ctl, "m").state, "ready"), "a model with a stream stays");
    slow_close(&s, 1);
    CHECK(state_comes(ctl, "m", "known", 20000));
    CHECK(!strcmp(count_of(ctl, "wiener").state, "ready"), "what is in preload stays");
    slow_open(&s, &r, "m"); /* loaded again on demand */
    CHECK(count_of(ctl, "m").opened == 2);
    slow_close(&s, 1);
    rig_done(&r, ctl);
}

/* ---- bad files ---- */

/* Opening the model fails with these words, and swapping another model for it changes nothing. */
static void bad_is_refused(struct rig *r, struct rill_client *ctl, const char *text,
                           const char *words)
{
    char err[512];
    model_put(r, "bad", text);
    CHECK(rill_client_ctl_load(ctl, "bad") < 0 &&
              rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED &&
              strstr(rill_client_error(ctl), words),
          "%s: %s", text, rill_client_error(ctl));
    CHECK(volume_of(r, "bad", err) == 0 && strstr(err, words), "%s: %s", text, err);
    model_put(r, "good", text);
    CHECK(rill_client_ctl_swap(ctl, "good") < 0 && strstr(rill_client_error(ctl), words));
    model_put(r, "good", "wiener");
    CHECK(volume_of(r, "good", err) == 1, "after %s: %s", text, err);
}

static bool has_address_space_limit(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

/* The one process that the daemon started; 0: there is none. */
static pid_t child_of(pid_t parent)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    pid_t found = 0;
    while (d && !found && (e = readdir(d))) {
        char path[300];
        int of = 0;
        snprintf(path, sizeof path, "/proc/%.200s/stat", e->d_name);
        FILE *f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
        if (f && fscanf(f, "%*d (%*[^)]) %*c %d", &of) == 1 && of == parent)
            found = atoi(e->d_name);
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return found;
}

static pid_t child_wait(const struct rig *r)
{
    pid_t child = 0;
    for (uint64_t end = now_ms() + 20000; !(child = child_of(r->pid)) && now_ms() < end;)
        usleep(10000);
    return child;
}

/* Who kills the process that checks is the kernel where memory is short; that is no lack of
 * processor time. */
static void test_killed(void)
{
    struct rig r;
    rig_start(&r, "check_cpu_s = 60\n");
    int raw = raw_hello(r.ctl);
    pid_t child = 0;
    FRAME(f, m, CtlLoad, CTL_LOAD, ctl_load);
    model_put(&r, "bad", "loop");
    m.model = (char *) (uintptr_t) "bad";
    CHECK(raw_frame(raw, &f));
    child = child_wait(&r);
    if (CHECK(child > 0))
        kill(child, SIGKILL);
    Rill__ServerFrame *a = raw_answer(raw, 20000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_ERROR && strstr(a->error->text, "was killed"),
          "%s", a && a->m_case == RILL__SERVER_FRAME__M_ERROR ? a->error->text : "no error");
    rill__server_frame__free_unpacked(a, NULL);
    close(raw);
    CHECK(rig_stop(&r) == 0);
}

static void test_bad(void)
{
    struct rig r;
    struct slow_stream s;
    rig_start(&r, "check_cpu_s = 1\ncheck_timeout_s = 60\ncheck_memory_bytes = 134217728\n");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "good", "wiener");
    slow_open(&s, &r, "good");
    bad_is_refused(&r, ctl, "nonsense", "is no model");
    slow_send(&s, 2000);
    bad_is_refused(&r, ctl, "crash",
                   has_address_space_limit() ? "ended with signal 11"
                                             : "the process that checked it ended");
    slow_send(&s, 2000);
    bad_is_refused(&r, ctl, "loop", "more than 1 s of processor time");
    slow_send(&s, 2000);
    if (has_address_space_limit())
        bad_is_refused(&r, ctl, "eat", "check_memory_bytes");
    else
        check_skip("sanitizers need more address space than any limit leaves");
    slow_send(&s, 2000);
    bad_is_refused(&r, ctl, "change", "it changed meanwhile");
    slow_close(&s, 1);
    CHECK(strstr(rig_log(&r), "/models/bad") != NULL,
          "messages name the file, not a descriptor: %s", rig_log(&r));
    CHECK(!strstr(rig_log(&r), "/proc/self"), "%s", rig_log(&r));
    rig_done(&r, ctl);
}

static void test_timeout(void)
{
    struct rig r;
    char err[512];
    rig_start(&r, "check_timeout_s = 1\n");
    model_put(&r, "bad", "sleep");
    CHECK(volume_of(&r, "bad", err) == 0 && strstr(err, "took more than 1 s"), "%s", err);
    CHECK(rig_stop(&r) == 0);
}

/* Opening lasts several times as long as a client lets the daemon be silent: it waits while the
 * daemon lives, and no longer. */
static void test_wait_for_check(void)
{
    struct rig r;
    struct rill_client *c = NULL;
    struct rill_client_open o = open_of("bad");
    rig_start(&r, "check_timeout_s = 3\n");
    model_put(&r, "bad", "sleep");
    CHECK_OF(c, rill_client_connect(&c, r.sock, "patient", 600) == 0);
    CHECK(rill_client_open(c, 1, &o, NULL) < 0 &&
              strstr(rill_client_error(c), "took more than 3 s"),
          "%s", rill_client_error(c));
    kill(r.pid, SIGSTOP);
    uint64_t start = now_ms();
    CHECK(rill_client_open(c, 1, &o, NULL) < 0 &&
              strstr(rill_client_error(c), "the daemon was silent for 600 ms"),
          "%s", rill_client_error(c));
    CHECK(now_ms() - start >= 600 && now_ms() - start < 5000, "%llu ms", LLU(now_ms() - start));
    kill(r.pid, SIGCONT);
    rill_client_free(c);
    CHECK(rig_stop(&r) == 0);
}

/* A daemon that is told to stop does not wait for a check to time out. */
static void test_stop_while_checking(void)
{
    struct rig r;
    rig_start(&r, "check_timeout_s = 3600\n");
    model_put(&r, "bad", "sleep");
    int fd = raw_hello(r.ctl);
    FRAME(f, m, CtlLoad, CTL_LOAD, ctl_load);
    m.model = (char *) (uintptr_t) "bad";
    f.req = 5;
    CHECK(raw_frame(fd, &f) && child_wait(&r) > 0);
    CHECK(rig_stop(&r) == 0);
    close(fd);
}

/* Nor does one that is told so before its first models are loaded, and that is no failure. */
static void test_stop_while_preloading(void)
{
    struct rig r;
    rig_dir(&r);
    rig_conf(&r, "check_timeout_s = 3600\npreload = bad\n");
    model_put(&r, "bad", "sleep");
    CHECK(rig_run(&r) && rig_wait_ready(&r) && child_wait(&r) > 0);
    kill(r.pid, SIGTERM);
    CHECK(rig_wait(&r, 30000) == 0 && !strstr(rig_log(&r), "cannot be loaded"), "%s", rig_log(&r));
    rig_clean(&r);
}

/* ---- names ---- */

/* The zero byte is put where the placeholder was, so that the frame's lengths stay right. */
static int open_code_with_zero(struct rig *r, const char *name)
{
    uint8_t b[512];
    OPEN_FRAME(f, o, 1, name, 16000, F32LE);
    f.req = 3;
    size_t n = frame_make(b, sizeof b, &f);
    uint8_t *at = memchr(b, '#', n);
    *at = 0;
    int fd = raw_hello(r->sock), code = -1;
    if (raw_send(fd, b, n))
        code = raw_error(fd, 15000);
    close(fd);
    return code;
}

static void in_models(const struct rig *r, const char *name, void (*make)(const char *path))
{
    char path[256];
    path_in(path, r, name);
    make(path);
}

/* clang-format off */
#define MAKES(name, call) static void name(const char *path) { call; }
/* clang-format on */
MAKES(make_fifo, CHECK(mkfifo(path, 0600) == 0))
MAKES(make_link, CHECK(symlink("m", path) == 0))
MAKES(make_link_up, CHECK(symlink("../outside", path) == 0))
MAKES(make_link_abs, CHECK(symlink("/", path) == 0))
MAKES(make_link_zero, CHECK(symlink("/dev/zero", path) == 0))
MAKES(make_file, text_put(path, "wiener"))

struct link_look {
    const char *name;
    unsigned n;
};

static void link_see(void *arg, const struct rill_client_model *m)
{
    struct link_look *x = arg;
    if (strcmp(m->name, x->name) != 0)
        return;
    x->n++;
    CHECK(!strcmp(m->state, "failed") && strstr(m->error, "is a symbolic link"), "%s: %s %s",
          m->name, m->state, m->error);
}

/* Links are not followed, which lists and refusals say; what is built in does not stand in for
 * one. */
static void test_links(struct rig *r)
{
    const char *built_in = is_fake() ? "half" : "wiener",
               *links[] = { "link", "link.rill", "up", "root", "zero.rill", "gone", built_in };
    char err[512], path[256];
    in_models(r, "gone", make_link_up);
    in_models(r, built_in, make_link);
    struct rill_client *c = client(r->ctl);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct link_look x = { links[i], 0 };
        CHECK(volume_of(r, links[i], err) == 0 && strstr(err, links[i]) &&
                  strstr(err, "is a symbolic link, which is not followed"),
              "%s: %s", links[i], err);
        CHECK(open_code(r, links[i]) == RILL__CODE__MODEL_FAILED, "%s", links[i]);
        CHECK(rill_client_info(c, link_see, &x) == 0 && x.n == 1, "%s: %u", links[i], x.n);
    }
    CHECK_OF(c,
             rill_client_ctl_load(c, built_in) < 0 &&
                 rill_client_error_code(c) == RILL__CODE__MODEL_FAILED &&
                 strstr(rill_client_error(c), "symbolic link"));
    path_in(path, r, built_in);
    CHECK_OF(c, unlink(path) == 0 && rill_client_ctl_load(c, built_in) == 0);
    rill_client_free(c);
}

static void test_names(void)
{
    struct rig r;
    char path[300], dir[300], longest[66];
    rig_start(&r, "");
    model_put(&r, "m", "wiener");
    model_put(&r, "../outside", "wiener");
    snprintf(path, sizeof path, "%s/models/m", r.dir);
    memset(longest, 'a', sizeof longest);
    longest[65] = '\0';
    const char *bad[] = {
        "../outside", "..",  ".",   "m/", "m/graph.nnef", "./m", "/", path,    "m/../../outside",
        "M",          "m m", "m\n", "~",  "-\xc3\xa4",    ".m",  "*", longest, "m%2f",
        "\\m"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(open_code(&r, bad[i]) == RILL__CODE__NO_MODEL, "%s", bad[i]);
    CHECK(open_code_with_zero(&r, "m#") == RILL__CODE__BAD_ARG &&
          open_code_with_zero(&r, "m#/../x") == RILL__CODE__BAD_ARG &&
          open_code_with_zero(&r, "#") == RILL__CODE__BAD_ARG);
    in_models(&r, "fifo.rill", make_fifo);
    in_models(&r, "fifo", make_fifo);
    in_models(&r, "link", make_link);
    in_models(&r, "link.rill", make_link);
    in_models(&r, "up", make_link_up);
    in_models(&r, "root", make_link_abs);
    in_models(&r, "zero.rill", make_link_zero);
    in_models(&r, "plain", make_file);
    const char *none[] = { "fifo.rill", "fifo", "plain" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(open_code(&r, none[i]) == RILL__CODE__NO_MODEL, "%s", none[i]);
    test_links(&r);
    /* Inside a folder: what is read is a regular file that lies there. */
    model_put(&r, "inner", "wiener");
    snprintf(path, sizeof path, "%s/models/inner/graph.nnef", r.dir);
    if (!is_fake()) {
        unlink(path);
        make_fifo(path);
        CHECK(open_code(&r, "inner") == RILL__CODE__MODEL_FAILED);
        unlink(path);
        CHECK(symlink("../../outside/graph.nnef", path) == 0);
        usleep(1100000);
        CHECK(open_code(&r, "inner") == RILL__CODE__MODEL_FAILED);
    }
    /* A folder that turns into a link after it was found is no model any more. */
    snprintf(dir, sizeof dir, "%s/models/turned", r.dir);
    if (is_fake()) {
        model_put(&r, "turned", "wiener");
        CHECK(open_code(&r, "turned") == 0);
        struct rill_client *ctl = client(r.ctl);
        snprintf(path, sizeof path, "%s/aside", r.dir);
        CHECK(rename(dir, path) == 0 && symlink(path, dir) == 0);
        CHECK(rill_client_ctl_swap(ctl, "turned") < 0 &&
                  rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED,
              "the link is not followed: %s", rill_client_error(ctl));
        CHECK_OF(ctl,
                 rill_client_ctl_reload_model(ctl, "turned") < 0 &&
                     rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED &&
                     strstr(rill_client_error(ctl), "is a symbolic link"));
        CHECK(open_code(&r, "turned") == 0, "the version that is there stays");
        CHECK(rill_client_ctl_unload(ctl, "turned") == 0 &&
              open_code(&r, "turned") == RILL__CODE__MODEL_FAILED);
        rill_client_free(ctl);
    }
    CHECK(rig_stop(&r) == 0);
}

/* ---- pins ---- */

static void test_pins(void)
{
    struct rig r;
    char err[512], conf[200], path[128], line[100] = "";
    rig_dir(&r);
    snprintf(path, sizeof path, "%s/pins", r.dir);
    snprintf(conf, sizeof conf, "pins = %s\n", path);
    text_put(path, "# nothing yet\n");
    rig_conf(&r, conf);
    CHECK(rig_run(&r) && rig_wait_ready(&r));
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "m", "wiener");
    CHECK(volume_of(&r, "m", err) == 1, "what is not named is free: %s", err);
    struct slow_stream s;
    slow_open(&s, &r, "m");
    snprintf(line, sizeof line, "%s  m\n", s.got.opened.sha256);
    slow_close(&s, 1);
    text_put(path, line);
    CHECK_OF(ctl, rill_client_ctl_swap(ctl, "m") == 0);
    model_put(&r, "m", "half");
    CHECK_OF(ctl,
             rill_client_ctl_swap(ctl, "m") < 0 &&
                 strstr(rill_client_error(ctl), "not the one that models.pins has"));
    CHECK(volume_of(&r, "m", err) == 1, "%s", err);
    text_put(path, "xyz m\n");
    model_put(&r, "m", "wiener");
    CHECK_OF(ctl,
             rill_client_ctl_swap(ctl, "m") < 0 &&
                 strstr(rill_client_error(ctl), "pins:1 is no line"));
    unlink(path);
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) < 0 && strstr(rill_client_error(ctl), "models.pins"));
    CHECK(mkfifo(path, 0600) == 0);
    CHECK_OF(ctl,
             rill_client_ctl_swap(ctl, "m") < 0 && strstr(rill_client_error(ctl), "is no file"));
    rig_done(&r, ctl);
}

/* ---- the library's own models ---- */

static bool file_copy(const char *from, const char *to)
{
    char b[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    size_t n;
    while (in && out && (n = fread(b, 1, sizeof b, in)))
        fwrite(b, 1, n, out);
    if (in)
        fclose(in);
    return in && out && fclose(out) == 0;
}

static bool compile(const char *model, const char *to)
{
    char cmd[512];
    snprintf(cmd, sizeof cmd, "'%s' compile '%s/models/library/%s' -o '%s'", getenv("RILL"),
             getenv("RILL_SOURCE"), model, to);
    return system(cmd) == 0;
}

/* What a whole stream of `model` gives back, to compare bytes. */
static bool bytes_of(struct rig *r, const char *model, struct result *ret)
{
    char err[512];
    struct rill_client_open o = open_of(model);
    bool good = stream_whole(r->sock, &o, sound, N_FRAMES, sizeof(float), 700, ret, err);
    return CHECK(good, "%s: %s", model, err);
}

static long rss_kib(pid_t pid)
{
    char path[64], line[128];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int) pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

/* A compiled plan is cut off, written over and removed while a stream runs on it. */
static void test_truncated(struct rig *r, struct rill_client *ctl, const char *path)
{
    struct slow_stream s;
    struct result want;
    bytes_of(r, "c.rill", &want);
    slow_open(&s, r, "c.rill");
    slow_send(&s, 4000);
    CHECK(truncate(path, 0) == 0);
    slow_send(&s, 4000);
    CHECK_OF(ctl,
             rill_client_ctl_swap(ctl, "c.rill") < 0 &&
                 rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED);
    text_put(path, "something else\n");
    CHECK_OF(ctl, rill_client_ctl_swap(ctl, "c.rill") < 0);
    unlink(path);
    CHECK_OF(ctl, rill_client_ctl_swap(ctl, "c.rill") < 0);
    slow_send(&s, N_FRAMES);
    CHECK_OF(s.c, rill_client_finish(s.c, 1, &s.got.fin) == 0);
    CHECK(s.got.bytes == want.bytes && memcmp(s.got.pcm, want.pcm, want.bytes) == 0, "%zu bytes",
          s.got.bytes);
    rill_client_free(s.c);
    result_free(&s.got);
    result_free(&want);
}

/* A folder of graph.nnef and model.conf. */
static void folder_put(const struct rig *r, const char *name, const char *graph, const char *ports)
{
    char path[256], file[300], conf[512];
    path_in(path, r, name);
    mkdir(path, 0700);
    snprintf(file, sizeof file, "%s/graph.nnef", path);
    text_put(file, graph);
    snprintf(conf, sizeof conf, "[model]\nsample_rate = 16000\n%s", ports);
    snprintf(file, sizeof file, "%s/model.conf", path);
    text_put(file, conf);
}

/* A model of tokens is loaded, for streams of ports; one of audio is refused by name. */
static void test_tokens(struct rig *r, struct rill_client *ctl, const char *name)
{
    struct rill_client_open o = open_of(name);
    struct rill_client_open_ports ports = { .model = name, .pace = RILL_CLIENT_FILE };
    struct rill_client *c = client(r->sock);
    CHECK_OF(ctl, rill_client_ctl_load(ctl, name) == 0);
    CHECK(rill_client_open(c, 1, &o, NULL) < 0 &&
              rill_client_error_code(c) == RILL__CODE__MODEL_FAILED &&
              strstr(rill_client_error(c), "input 'x', 1 i64 a frame"),
          "%s", rill_client_error(c));
    CHECK_OF(c, rill_client_open_ports(c, 1, &ports) == 0 && rill_client_finish(c, 1, NULL) == 0);
    rill_client_free(c);
}

/* Ports of other types than f32: what a session of audio cannot feed is refused by name, and
 * outputs that nobody asked for stand in nobody's way. */
static void test_types(struct rig *r, struct rill_client *ctl)
{
#define GRAPH(type, outputs, body)                                                                 \
    "version 1.0;\ngraph g(x) -> (" outputs ")\n{\n    x = external<" type                         \
    ">(shape = [S]);\n" body "}\n"
#define AUDIO_IN "[input.x]\nkind = audio\n"
#define AUDIO_OUT "[output.y]\nkind = audio\n"
    static const struct {
        const char *name, *graph, *ports, *words;
    } rows[] = {
        { "whole", GRAPH("integer", "y", "    y = copy(x);\n"), AUDIO_IN AUDIO_OUT,
          "port 'x' is i64" },
        { "decides", GRAPH("scalar", "y", "    y = x > 0.0;\n"), AUDIO_IN AUDIO_OUT,
          "port 'y' is bool" },
    };
    struct result got;
    folder_put(r, "tokens", GRAPH("integer", "y", "    y = copy(x);\n"), "");
    test_tokens(r, ctl, "tokens");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        folder_put(r, rows[i].name, rows[i].graph, rows[i].ports);
        CHECK(rill_client_ctl_load(ctl, rows[i].name) < 0 &&
                  rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED &&
                  strstr(rill_client_error(ctl), rows[i].words),
              "%s: %s", rows[i].name, rill_client_error(ctl));
    }
    folder_put(r, "beside", GRAPH("scalar", "y, k", "    y = x * 0.5;\n    k = x > 0.0;\n"),
               AUDIO_IN AUDIO_OUT);
    if (bytes_of(r, "beside", &got))
        CHECK(got.bytes == N_FRAMES * sizeof(float) &&
                  ((float *) (void *) got.pcm)[9] == sound[9] / 2,
              "%zu bytes", got.bytes);
    result_free(&got);
}

static void test_real(void)
{
    struct rig r;
    char good[256], path[256];
    struct result a, b;
    if (!getenv("RILL")) {
        check_skip("no tool to compile a model with");
        return;
    }
    rig_start(&r, "keep_alive_s = 1\n");
    struct rill_client *ctl = client(r.ctl);
    path_in(path, &r, "");
    mkdir(path, 0700);
    path_in(path, &r, "c.rill");
    snprintf(good, sizeof good, "%s/good", r.dir);
    CHECK(compile("rill-denoise", good) && file_copy(good, path));
    test_types(&r, ctl);
    long before = rss_kib(r.pid);
    uint64_t t = now_ms();
    CHECK_OF(ctl, rill_client_ctl_load(ctl, "c.rill") == 0);
    printf("loaded and checked in %u ms, %ld KiB more\n", (unsigned) (now_ms() - t),
           rss_kib(r.pid) - before);
    bytes_of(&r, "c.rill", &a);
    CHECK(state_comes(ctl, "c.rill", "known", 20000), "without streams it goes");
    long after = rss_kib(r.pid);
    for (uint64_t end = now_ms() + 10000; after >= before + 8192 && now_ms() < end; usleep(50000))
        after = rss_kib(r.pid); /* what was loaded is freed beside the loop */
    CHECK(after < before + 8192 || !has_address_space_limit(), "%ld KiB before, %ld after", before,
          after);
    bytes_of(&r, "c.rill", &b);
    CHECK(a.bytes == b.bytes && memcmp(a.pcm, b.pcm, a.bytes) == 0,
          "the same bits when it comes again");
    result_free(&a);
    result_free(&b);
    test_truncated(&r, ctl, path);
    rig_done(&r, ctl);
}

/* ---- storms ---- */

#define N_STORM 8

/* Reloads of one model and of everything under streams that last over all of them. */
static void test_storm(unsigned n_reloads)
{
    struct rig r;
    struct slow_stream s[N_STORM];
    char err[512];
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl);
    unsigned n_good = 0, n_new = 0;
    model_put(&r, "m", "wiener");
    for (int i = 0; i < N_STORM; i++)
        slow_open(&s[i], &r, "m");
    for (unsigned k = 0; k < n_reloads; k++) {
        const char *text = k % 5 == 3 ? "nonsense" : k % 2 ? "half" : "wiener";
        model_put(&r, "m", text);
        bool good =
            k % 7 == 6 ? rill_client_ctl_reload(ctl) == 0 : rill_client_ctl_swap(ctl, "m") == 0;
        n_good += good == (k % 5 != 3);
        size_t piece = k * (N_FRAMES / 2) / n_reloads;
        for (int i = 0; i < N_STORM; i++)
            if (s[i].at < piece)
                slow_send(&s[i], piece - s[i].at);
        if (good && k % 10 == 0)
            n_new += volume_of(&r, "m", err) == (k % 2 ? 0.5f : 1.0f);
    }
    CHECK(n_good == n_reloads, "%u of %u reloads did what they should: %s", n_good, n_reloads,
          rill_client_error(ctl));
    CHECK(n_new == (n_reloads + 9) / 10);
    for (int i = 0; i < N_STORM; i++)
        slow_close(&s[i], 1);
    CHECK(count_of(ctl, "m").opened == N_STORM + n_new);
    rig_done(&r, ctl);
}

/* Without a descriptor to look with, nothing can be told of the models, so all stays as it is. */
static void test_hup_without_files(void)
{
    struct rig r;
    struct slow_stream s;
    struct rlimit old, none;
    rig_start(&r, "");
    model_put(&r, "m", "wiener");
    slow_open(&s, &r, "m");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "m", "half");
    for (rlim_t n = 3; n < 40; n += 4) {
        CHECK(prlimit(r.pid, RLIMIT_NOFILE, NULL, &old) == 0);
        none = (struct rlimit) { n, old.rlim_max };
        CHECK(prlimit(r.pid, RLIMIT_NOFILE, &none, NULL) == 0);
        bool good = rill_client_ctl_reload(ctl) == 0;
        CHECK_OF(ctl, good || strstr(rill_client_error(ctl), "open files"));
        CHECK(prlimit(r.pid, RLIMIT_NOFILE, &old, NULL) == 0);
        struct counted now = count_of(ctl, "m");
        CHECK(!strcmp(now.state, "ready"), "at %u files: %s", (unsigned) n, now.state);
        if (good)
            break;
    }
    slow_close(&s, 1);
    rig_done(&r, ctl);
}

/* SIGHUP without end is one reload after another. */
static void test_hup_storm(void)
{
    struct rig r;
    struct slow_stream s;
    char err[512];
    rig_start(&r, "");
    model_put(&r, "m", "wiener");
    slow_open(&s, &r, "m");
    for (int i = 0; i < 200; i++) {
        kill(r.pid, SIGHUP);
        usleep(500);
    }
    model_put(&r, "m", "half");
    kill(r.pid, SIGHUP);
    for (uint64_t end = now_ms() + 20000; volume_of(&r, "m", err) != 0.5f && now_ms() < end;
         usleep(50000))
        ;
    CHECK(volume_of(&r, "m", err) == 0.5f, "the last one counts: %s", err);
    slow_close(&s, 1);
    CHECK(rig_stop(&r) == 0);
}

int main(int argc, char **argv)
{
    sound_make();
    if (argc > 2 && !strcmp(argv[1], "storm")) {
        test_storm((unsigned) atoi(argv[2]));
        return check_end();
    }
    test_names();
    if (!is_fake()) {
        test_real();
        return check_end();
    }
    test_swap();
    test_reload_all();
    test_unload();
    test_idle();
    test_bad();
    test_killed();
    test_timeout();
    test_wait_for_check();
    test_stop_while_checking();
    test_stop_while_preloading();
    test_pins();
    test_storm(50);
    test_hup_without_files();
    test_hup_storm();
    return check_end();
}
