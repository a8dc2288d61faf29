/* SPDX-License-Identifier: MIT */
/* Which model a name finds, where nothing can be told, and how many can be known. */
#include "tests/daemon/model_rig.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that cannot be searched is told with its name and why, and is no missing model. */
static void test_folder_unreadable(void)
{
    struct rig r;
    struct slow_stream s;
    char dir[256], aside[300], words[400], err[512];
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "m", "wiener");
    model_put(&r, "loaded", "wiener");
    slow_open(&s, &r, "loaded");
    snprintf(dir, sizeof dir, "%s/models", r.dir);
    snprintf(aside, sizeof aside, "%s.aside", dir);
    CHECK(rename(dir, aside) == 0 && symlink("models", dir) == 0);
    snprintf(words, sizeof words, "%s of model_path cannot be searched for it: Too many", dir);
    CHECK(open_code(&r, "m") == RILL__CODE__MODEL_FAILED);
    CHECK(volume_of(&r, "m", err) == 0 && strstr(err, words), "%s", err);
    const char *names[] = { "m", "loaded" };
    for (int i = 0; i < 2; i++)
        CHECK(rill_client_ctl_reload_model(ctl, names[i]) < 0 &&
                  rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED &&
                  strstr(rill_client_error(ctl), words),
              "%s: %s", names[i], rill_client_error(ctl));
    CHECK_OF(ctl, rill_client_ctl_load(ctl, "m") < 0 && strstr(rill_client_error(ctl), words));
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) < 0 && strstr(rill_client_error(ctl), words));
    CHECK(open_code(&r, "half") == RILL__CODE__MODEL_FAILED && volume_of(&r, "half", err) == 0 &&
              strstr(err, words),
          "the folder may hold another one than what is built in: %s", err);
    CHECK_OF(ctl, rill_client_ctl_load(ctl, "half") < 0 && strstr(rill_client_error(ctl), words));
    CHECK(unlink(dir) == 0 && rename(aside, dir) == 0);
    CHECK(volume_of(&r, "m", err) == 1, "%s", err);
    CHECK(open_code(&r, "nosuch") == RILL__CODE__NO_MODEL);
    snprintf(words, sizeof words, "%s/net.tflite is a file, no model folder", dir);
    snprintf(aside, sizeof aside, "%s/net.tflite", dir);
    text_put(aside, "wiener");
    CHECK(open_code(&r, "net.tflite") == RILL__CODE__NO_MODEL &&
              volume_of(&r, "net.tflite", err) == 0 && strstr(err, words),
          "%s", err);
    slow_close(&s, 1);
    rig_done(&r, ctl);
}

/* What lies in a folder under the name of a built-in model never gives way to that one while it
 * cannot be told whether it is still there. */
static void test_over_builtin(void)
{
    struct rig r;
    char dir[256], aside[300], more[400], err[512];
    struct stat st;
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl);
    model_put(&r, "half", "wiener");
    CHECK(volume_of(&r, "half", err) == 1, "%s", err);
    snprintf(dir, sizeof dir, "%s/models", r.dir);
    snprintf(aside, sizeof aside, "%s.aside", dir);
    CHECK(rename(dir, aside) == 0 && symlink("models", dir) == 0);
    CHECK(rill_client_ctl_swap(ctl, "half") < 0 && rill_client_ctl_reload(ctl) < 0);
    CHECK(volume_of(&r, "half", err) == 1, "the operator's stays: %s", err);
    CHECK(rill_client_ctl_unload(ctl, "half") == 0);
    CHECK(volume_of(&r, "half", err) == 0 && strstr(err, "cannot be searched"), "%s", err);
    CHECK(unlink(dir) == 0);
    CHECK(volume_of(&r, "half", err) == 0.5f, "no folder, so what is built in: %s", err);
    rig_done(&r, ctl);
    /* Neither does a later folder take its place, nor does a preload pass. */
    rig_dir(&r);
    snprintf(dir, sizeof dir, "%s/loop", r.dir);
    CHECK(symlink("loop", dir) == 0);
    snprintf(more, sizeof more, "model_path = %s/loop:%s/models\npreload = half\n", r.dir, r.dir);
    rig_conf(&r, more);
    model_put(&r, "half", "half");
    CHECK(rig_run(&r) && rig_wait(&r, 20000) == 1);
    CHECK(stat(r.dir, &st) == 0 && strstr(rig_log(&r), "/loop of model_path cannot be searched"),
          "%s", rig_log(&r));
    rig_clean(&r);
}

/* The next error's code and retry_ms; 0 if there is none. */
static int error_of(int fd, uint32_t *retry_ms)
{
    Rill__ServerFrame *a = raw_answer(fd, 20000);
    int code = 0;
    if (a && a->m_case == RILL__SERVER_FRAME__M_ERROR) {
        code = (int) a->error->code;
        *retry_ms = a->error->retry_ms;
    }
    rill__server_frame__free_unpacked(a, NULL);
    return code;
}

/* Want of descriptors passes, and clients are told when to try again. */
static void test_passing(const char *conf)
{
    struct rig r;
    struct rlimit old, none;
    char err[512];
    uint32_t retry_ms = 0;
    rig_start(&r, conf);
    int raw = raw_hello(r.ctl);
    model_put(&r, "half", "wiener");
    FRAME(f, m, CtlLoad, CTL_LOAD, ctl_load);
    m.model = (char *) (uintptr_t) "half";
    CHECK(prlimit(r.pid, RLIMIT_NOFILE, NULL, &old) == 0);
    for (rlim_t n = 3; n < 40; n++) {
        none = (struct rlimit) { n, old.rlim_max };
        CHECK(prlimit(r.pid, RLIMIT_NOFILE, &none, NULL) == 0);
        CHECK(raw_frame(raw, &f));
        int code = error_of(raw, &retry_ms);
        if (!code)
            break;
        CHECK(code == RILL__CODE__OVERLOADED && retry_ms > 0, "%d, %u ms, up to %llu descriptors",
              code, retry_ms, (unsigned long long) n);
    }
    CHECK(prlimit(r.pid, RLIMIT_NOFILE, &old, NULL) == 0);
    CHECK(volume_of(&r, "half", err) == 1, "%s", err);
    close(raw);
    CHECK(rig_stop(&r) == 0);
}

/* ---- many ---- */

#define PLACES 256

static void count_model(void *arg, const struct rill_client_model *m)
{
    unsigned *n = arg;
    (void) m;
    ++*n;
}

static unsigned listed(struct rill_client *c)
{
    unsigned n = 0;
    CHECK_OF(c, rill_client_info(c, count_model, &n) == 0);
    return n;
}

/* A list takes no place from what is asked for, and shows what is there. */
static void test_many(void)
{
    struct rig r;
    char name[32], cmd[200], err[512];
    rig_start(&r, "");
    struct rill_client *ctl = client(r.ctl), *c = client(r.sock);
    unsigned few = listed(c);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "m%03d", i);
        model_put(&r, name, i % 2 ? "half" : "wiener");
    }
    CHECK(listed(c) == PLACES);
    CHECK(rig_log_has(&r, "more models than the 256 that are listed", 15000));
    for (int i = 0; i < 300; i += 7) {
        snprintf(name, sizeof name, "m%03d", i);
        CHECK(volume_of(&r, name, err) == (i % 2 ? 0.5f : 1.0f), "%s: %s", name, err);
    }
    CHECK(listed(c) == PLACES);
    for (int i = 0; i < 300; i += 7) {
        snprintf(name, sizeof name, "m%03d", i);
        CHECK(!strcmp(count_of(ctl, name).state, "ready"), "%s", name);
        CHECK(rill_client_ctl_unload(ctl, name) == 0);
    }
    snprintf(cmd, sizeof cmd, "rm -rf '%s/models'", r.dir);
    CHECK(system(cmd) == 0);
    model_put(&r, "fresh", "half");
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) == 0);
    CHECK_OF(ctl, rill_client_ctl_load(ctl, "fresh") == 0);
    CHECK(listed(c) == few + 1, "%u, not %u", listed(c), few + 1);
    rig_done(&r, c, ctl);
}

/* As many as there can be are loaded: the words say so, and what to do. */
static void test_full(void)
{
    struct rig r;
    char name[32];
    int refused = 0;
    rig_start(&r, "check = no\nkeep_alive_s = 0\n");
    struct rill_client *ctl = client(r.ctl);
    for (int i = 0; i < PLACES + 1 && !refused; i++) {
        snprintf(name, sizeof name, "m%03d", i);
        model_put(&r, name, "half");
        if (rill_client_ctl_load(ctl, name) < 0)
            refused = rill_client_error_code(ctl);
    }
    CHECK(refused == RILL__CODE__QUOTA && strstr(rill_client_error(ctl), "256 models are in use") &&
              strstr(rill_client_error(ctl), "rill ctl unload"),
          "%d: %s", refused, rill_client_error(ctl));
    CHECK_OF(ctl, rill_client_ctl_unload(ctl, "m007") == 0 && rill_client_ctl_load(ctl, name) == 0);
    rig_done(&r, ctl);
}

/* Of those that were used, the one that was used the longest time ago gives way, not the first by
 * name; asking for a model that has failed is a use too. */
static void test_oldest(void)
{
    static const char *const used[] = { "m255", "bad", "m000", "m254" };
    struct rig r;
    char name[32], err[512];
    rig_start(&r, "check = no\nkeep_alive_s = 0\n");
    struct rill_client *ctl = client(r.ctl);
    for (int i = 0; i < 4; i++)
        model_put(&r, used[i], strcmp(used[i], "bad") ? "half" : "nonsense");
    for (int i = 0; i < 4; i++) {
        bool bad = !strcmp(used[i], "bad");
        CHECK(volume_of(&r, used[i], err) == (bad ? 0 : 0.5f), "%s: %s", used[i], err);
        CHECK(bad || rill_client_ctl_unload(ctl, used[i]) == 0);
    }
    CHECK(open_code(&r, "bad") == RILL__CODE__MODEL_FAILED);
    usleep(1200000); /* ticks look at what nobody holds */
    for (int i = 0; i < PLACES && (i < 240 || count_of(ctl, "m000").opened); i++) {
        snprintf(name, sizeof name, "n%03d", i);
        model_put(&r, name, "half");
        CHECK(rill_client_ctl_load(ctl, name) == 0, "%s: %s", name, rill_client_error(ctl));
    }
    CHECK(count_of(ctl, "m255").opened == 0 && count_of(ctl, "m000").opened == 0 &&
          count_of(ctl, "m254").opened == 1);
    CHECK(!strcmp(count_of(ctl, "bad").state, "failed"), "%s", count_of(ctl, "bad").state);
    rig_done(&r, ctl);
}

/* A default model that is not there is told at reload as at start: in the log, and to who asked. */
static void test_default_missing(void)
{
    static const char words[] = "models.default_model: 'gone': no model of that name";
    struct rig r;
    char more[200];
    rig_start(&r, "default_model = gone\n");
    CHECK(strstr(rig_log(&r), words) != NULL, "%s", rig_log(&r));
    struct rill_client *ctl = client(r.ctl);
    rig_conf(&r, "default_model = half\n");
    CHECK(rill_client_ctl_reload(ctl) == 0 && !*rill_client_ctl_text(ctl), "%s",
          rill_client_ctl_text(ctl));
    snprintf(more, sizeof more, "default_model = gone\n[log]\nformat = prefix\n");
    rig_conf(&r, more);
    CHECK(rill_client_ctl_reload(ctl) == 0 && strstr(rill_client_ctl_text(ctl), words) &&
              strstr(rill_client_ctl_text(ctl), "need a restart"),
          "%s", rill_client_ctl_text(ctl));
    const char *first = strstr(rig_log(&r), words);
    CHECK(first && strstr(first + 1, words), "%s", rig_log(&r));
    rig_done(&r, ctl);
}

int main(void)
{
    sound_make();
    test_folder_unreadable();
    test_over_builtin();
    test_passing("");
    test_passing("check = no\n");
    test_many();
    test_full();
    test_oldest();
    test_default_missing();
    return check_end();
}
