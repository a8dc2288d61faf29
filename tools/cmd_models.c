/* SPDX-License-Identifier: MIT */
/* rill models: what the library has, and fetching weights. */
#include "engine/base/bytes.h"
#include "models/conf.h"
#include "tools/catalogue.h"
#include "tools/library.h"
#include "tools/library_paths.h"
#include "tools/stage.h"
#include "tools/tool.h"
#include "tools/unpack.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNKNOWN_BYTES_MAX (UINT64_C(1) << 30)  /* of a file whose size nobody states */
#define UNSIGNED_BYTES_MAX (UINT64_C(1) << 20) /* of a file without a checksum that is fetched */
#define SHIPPED_BYTES_MAX ((size_t) 64 << 20)

/* The first folder of `paths` in which all the model's weights lie; NULL: none. */
static const char *present_in(const char *const *paths, unsigned n, const char *name,
                              const struct model_conf *c)
{
    static char folder[8192];
    for (unsigned i = 0; i < n; i++) {
        snprintf(folder, sizeof folder, "%s/%s", paths[i], name);
        if (library_is_whole(folder, c))
            return folder;
    }
    return NULL;
}

/* ---- list ---- */

/* Some weights are published in another form, and what a user made of them has no checksum. */
static bool is_known(const struct conf_weights *w)
{
    static const uint8_t none[sizeof w->sha256];
    return memcmp(w->sha256, none, sizeof none) != 0;
}

/* Whether it may come over the network: with a checksum, or so small a file that opening the model
 * tells whether it is right. */
static bool is_fetched(const struct conf_weights *w)
{
    return *w->url && (is_known(w) || (w->about_bytes && w->about_bytes <= UNSIGNED_BYTES_MAX));
}

/* What is fetched for w: itself, or the archive that it is a member of. */
static const struct conf_weights *fetched_for(const struct model_conf *c,
                                              const struct conf_weights *w)
{
    const struct conf_weights *archive = model_conf_archive(c, w);
    return archive ? archive : w;
}

static uint64_t size_of(const struct conf_weights *w)
{
    return w->bytes ? w->bytes : w->about_bytes;
}

/* Of what is fetched. */
static uint64_t weights_bytes(const struct model_conf *c)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < c->n_weights; i++)
        n += model_conf_archive(c, &c->weights[i]) ? 0 : size_of(&c->weights[i]);
    for (unsigned i = 0; i < c->n_archives; i++)
        n += c->archives[i].bytes;
    return n;
}

/* Whether `get` needs no folder for any of them. */
static bool is_published(const struct model_conf *c)
{
    for (unsigned i = 0; i < c->n_weights; i++)
        if (!is_fetched(fetched_for(c, &c->weights[i])))
            return false;
    return true;
}

static void entry_print(const char *name, const struct model_conf *c, const char *where,
                        json_t *list)
{
    if (list) {
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:s, s:I, s:b, s:s}", "name", name, "task",
                                        c->info.task, "sample_rate",
                                        c->info.sample_rate ? json_integer(c->info.sample_rate)
                                                            : json_null(),
                                        "licence", c->info.licence, "weights_bytes",
                                        (json_int_t) weights_bytes(c), "present",
                                        where || !c->n_weights, /* or built in */
                                        "summary", c->info.summary));
        return;
    }
    char state[32];
    if (!where && !is_published(c))
        snprintf(state, sizeof state, "from a folder");
    else
        snprintf(state, sizeof state,
                 c->n_weights && !where ? "to fetch, %.1f MB"
                     : c->n_weights     ? "present"
                                        : "built in",
                 (double) weights_bytes(c) * 1e-6);
    char rate[32] = "";
    if (c->info.sample_rate)
        snprintf(rate, sizeof rate, "%u Hz", c->info.sample_rate);
    printf("%-19s %-10s %9s  %-17s %s\n", name, c->info.task, rate, state, c->info.summary);
}

static int models_list(const struct command *cmd, bool json)
{
    char cats[CATALOGUES_MAX][CATALOGUE_PATH_BYTES];
    const char *paths[LIBRARY_PATHS_MAX];
    unsigned n_paths = library_paths(paths), n = catalogue_paths(cats), found = 0;
    json_t *list = json ? json_array() : NULL;
    for (unsigned i = 0; i < n && !found; i++) {
        struct dirent **entries = NULL;
        int k = scandir(cats[i], &entries, NULL, alphasort);
        for (int e = 0; e < k; e++) {
            char folder[8192];
            struct arena a = { 0 };
            struct model_conf c;
            rill_error err;
            snprintf(folder, sizeof folder, "%s/%s", cats[i], entries[e]->d_name);
            if (entries[e]->d_name[0] != '.' && catalogue_has_file(folder, "graph.nnef")) {
                if (library_conf_read(&c, &a, folder, &err) == RILL_OK)
                    entry_print(entries[e]->d_name, &c,
                                present_in(paths, n_paths, entries[e]->d_name, &c), list);
                else
                    tool_fail(cmd, 0, "%s", err.text);
                found++;
            }
            arena_drop(&a);
            free(entries[e]);
        }
        free(entries);
    }
    if (list) {
        json_dumpf(list, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(list);
    }
    return found
        ? TOOL_OK
        : tool_fail(cmd, TOOL_IO,
                    "the library of models is not installed; set RILL_LIBRARY to its folder");
}

/* ---- get ---- */

struct get {
    const struct command *cmd;
    FILE *to;
    SHA2_CTX sha;
    uint64_t bytes, want;
    const char *file;
    bool bar, exact; /* exact: want is what model.conf says, not a limit */
    char at[8192];   /* path or url of what is taken */
};

static void bar_draw(const struct get *g)
{
    if (!g->bar || !g->want)
        return;
    int filled = (int) (30 * g->bytes / g->want);
    fprintf(stderr, "\r%-22.22s [%-30.*s] %5.1f%%", g->file, filled > 30 ? 30 : filled,
            "==============================", 100.0 * (double) g->bytes / (double) g->want);
}

/* Takes one piece; false when the file gets larger than it should be, or the disk is full. */
static bool piece_take(struct get *g, const void *data, size_t n)
{
    g->bytes += n;
    if (g->bytes > g->want || fwrite(data, 1, n, g->to) != n)
        return false;
    SHA256Update(&g->sha, data, n);
    bar_draw(g);
    return true;
}

static size_t curl_take(char *data, size_t size, size_t n, void *arg)
{
    return piece_take(arg, data, size * n) ? size * n : 0;
}

static int fetch_url(struct get *g, const char *url)
{
    char why[CURL_ERROR_SIZE] = "";
    snprintf(g->at, sizeof g->at, "%s", url);
    CURL *c = curl_easy_init();
    if (!c)
        return tool_fail(g->cmd, TOOL_IO, "cannot start libcurl");
    const char *test = getenv("RILL_TEST_ALLOW_HTTP");
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, test ? "https,http" : "https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, test ? "https,http" : "https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 100L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, 30L);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, curl_take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, g);
    CURLcode code = curl_easy_perform(c);
    curl_easy_cleanup(c);
    if (code == CURLE_OK)
        return TOOL_OK;
    if (g->bytes > g->want)
        return tool_fail(g->cmd, TOOL_BAD_INPUT, "%s: larger than the %llu bytes it should have",
                         url, (unsigned long long) g->want);
    return tool_fail(g->cmd, TOOL_IO, "%s: %s (already have the file? use --from DIR)", url,
                     *why ? why : curl_easy_strerror(code));
}

static int copy_file(struct get *g, const char *path)
{
    struct bytes b = { 0 };
    rill_error err;
    struct stat st;
    snprintf(g->at, sizeof g->at, "%s", path);
    if (stat(path, &st) == 0 && (uint64_t) st.st_size > g->want)
        return tool_fail(g->cmd, TOOL_BAD_INPUT, "%s: has %lld bytes, expected %s%llu", path,
                         (long long) st.st_size, g->exact ? "" : "at most ",
                         (unsigned long long) g->want);
    rill_status s = bytes_from_file(&b, path, g->want, &err);
    if (s != RILL_OK) {
        err_prefix(&err, s, "%.200s", path);
        return tool_fail_status(g->cmd, &err);
    }
    bool ok = piece_take(g, b.data, b.n);
    bytes_drop(&b);
    return ok ? TOOL_OK : tool_fail(g->cmd, TOOL_IO, "%s.part: %s", g->file, strerror(errno));
}

/* A file in DIR, under the path the model names, its own name, or the model's folder. */
static int fetch_local(struct get *g, const char *dir, const char *name,
                       const struct conf_weights *w)
{
    const char *tries[3] = { w->from, NULL, w->file };
    char own[512], path[8192];
    snprintf(own, sizeof own, "%s/%s", name, w->file);
    tries[1] = own;
    for (int i = 0; i < 3; i++)
        if (tries[i] && catalogue_has_file(dir, tries[i])) {
            snprintf(path, sizeof path, "%s/%s", dir, tries[i]);
            return copy_file(g, path);
        }
    return tool_fail(g->cmd, TOOL_IO, "'%s' has no %s", dir, w->from ? w->from : own);
}

static void sum_print(const char *file, const char *name, const uint8_t *sum)
{
    char hex[SUM_HEX_BYTES];
    sum_hex(sum, hex);
    printf("%s: no checksum of it is known; %s opens with it; its SHA-256 is %s\n", file, name,
           hex);
}

static uint64_t bytes_most(const struct conf_weights *w)
{
    if (is_known(w) && w->bytes)
        return w->bytes;
    return w->about_bytes && w->about_bytes < UNKNOWN_BYTES_MAX ? 2 * w->about_bytes
                                                                : UNKNOWN_BYTES_MAX;
}

/* What was taken, with what model.conf says of it. */
static int taken_check(const struct get *g, const struct conf_weights *w,
                       const uint8_t sum[SHA256_DIGEST_LENGTH])
{
    rill_error err;
    if (!is_known(w))
        return TOOL_OK;
    if (w->bytes && g->bytes != w->bytes)
        return tool_fail(g->cmd, TOOL_BAD_INPUT, "%s: has %llu bytes, expected %llu; not kept",
                         g->at, (unsigned long long) g->bytes, (unsigned long long) w->bytes);
    return weights_sum_check(w, g->at, sum, &err) == RILL_OK ? TOOL_OK
                                                             : tool_fail_status(g->cmd, &err);
}

static int weights_get(const struct command *cmd, const char *folder, const char *name,
                       const struct conf_weights *w, const char *from, bool quiet,
                       uint8_t sum[SHA256_DIGEST_LENGTH])
{
    char part[8192], path[8192];
    struct get g = { .cmd = cmd,
                     .file = w->file,
                     .want = bytes_most(w),
                     .exact = is_known(w) && w->bytes,
                     .bar = !quiet && isatty(STDERR_FILENO) };
    snprintf(path, sizeof path, "%s/%s", folder, w->file);
    snprintf(part, sizeof part, "%s.part", path);
    if (!from && !is_fetched(w))
        return tool_fail(
            cmd, TOOL_BAD_INPUT,
            "%s: nobody publishes this file as it is; %s/MODEL.md says where it comes from, "
            "--from DIR takes it from a folder",
            w->file, name);
    g.to = fopen(part, "wb");
    if (!g.to)
        return tool_fail(cmd, TOOL_IO, "%s: %s", part, strerror(errno));
    SHA256Init(&g.sha);
    int code = from ? fetch_local(&g, from, name, w) : fetch_url(&g, w->url);
    if (fclose(g.to) && code == TOOL_OK)
        code = tool_fail(cmd, TOOL_IO, "%s: %s", part, strerror(errno));
    if (g.bar)
        fputc('\n', stderr);
    SHA256Final(sum, &g.sha);
    if (code == TOOL_OK)
        code = taken_check(&g, w, sum);
    if (code == TOOL_OK && rename(part, path))
        code = tool_fail(cmd, TOOL_IO, "%s: %s", path, strerror(errno));
    if (code != TOOL_OK)
        unlink(part);
    return code;
}

static int folder_make(const struct command *cmd, const char *path)
{
    char at[8192];
    snprintf(at, sizeof at, "%s", path);
    for (char *p = at + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(at, 0755);
            *p = '/';
        }
    if (mkdir(at, 0755) && errno != EEXIST)
        return tool_fail(cmd, TOOL_IO, "%s: %s", at, strerror(errno));
    return TOOL_OK;
}

/* How many bytes of the path name what is there: all of it, or up to a slash. */
static size_t folder_there(const char *path)
{
    char at[8192];
    struct stat st;
    snprintf(at, sizeof at, "%s", path);
    char *slash;
    while (stat(at, &st) && (slash = strrchr(at, '/')))
        *slash = 0;
    return stat(at, &st) ? 0 : strlen(at);
}

/* Takes away empty folders of the path beyond its first `there` bytes. */
static void folder_unmake(const char *path, size_t there)
{
    char at[8192];
    snprintf(at, sizeof at, "%s", path);
    for (char *slash = at; slash && strlen(at) > there && (!rmdir(at) || errno == ENOENT);)
        if ((slash = strrchr(at, '/')))
            *slash = 0;
}

static int file_copy(const struct command *cmd, const char *from, const char *to, const char *name)
{
    char path[8192];
    struct bytes b = { 0 };
    rill_error err;
    snprintf(path, sizeof path, "%s/%s", from, name);
    rill_status s = bytes_from_file(&b, path, SHIPPED_BYTES_MAX, &err);
    if (s != RILL_OK) {
        err_prefix(&err, s, "%.200s", path);
        return tool_fail_status(cmd, &err);
    }
    snprintf(path, sizeof path, "%s/%s", to, name);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(b.data, 1, b.n, f) == b.n;
    ok = f && !fclose(f) && ok;
    bytes_drop(&b);
    return ok ? TOOL_OK : tool_fail(cmd, TOOL_IO, "%s: %s", path, strerror(errno));
}

static int copy_drop(const struct command *cmd, const char *from, const char *to, const char *name)
{
    char path[8192];
    (void) from;
    snprintf(path, sizeof path, "%s/%s", to, name);
    return unlink(path) ? tool_fail(cmd, TOOL_IO, "%s: %s", path, strerror(errno)) : TOOL_OK;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Weights that [weights] names come from elsewhere, whatever lies beside the shipped model.conf. */
static bool is_shipped(const char *folder, const char *file, const struct model_conf *c)
{
    for (unsigned i = 0; i < c->n_weights; i++)
        if (!strcmp(c->weights[i].file, file))
            return false;
    return file[0] != '.' && catalogue_has_file(folder, file);
}

struct fill {
    const struct command *cmd;
    const char *source, *name, *from; /* shipped folder, model, where weights come from */
    const struct model_conf *conf;
    bool quiet, in_place; /* in_place: the folder is the shipped one */
};

/* Takes one shipped file to the folder, or away from it. */
typedef int (*shipped_fn)(const struct command *cmd, const char *from, const char *to,
                          const char *name);

static int shipped_each(const struct fill *f, const char *to, shipped_fn act)
{
    struct dirent **list = NULL;
    int n = scandir(f->source, &list, NULL, alphasort), code = TOOL_OK;
    for (int i = 0; i < n; i++) {
        if (code == TOOL_OK && is_shipped(f->source, list[i]->d_name, f->conf))
            code = act(f->cmd, f->source, to, list[i]->d_name);
        free(list[i]);
    }
    free(list);
    return code;
}

static bool all_known(const struct model_conf *c)
{
    bool all = true;
    for (unsigned k = 0; k < c->n_weights; k++)
        all &= is_known(&c->weights[k]);
    return all;
}

/* Whether what reads its outputs fits them, too. */
static rill_status sinks_try(const rill_plan *p, rill_error *err)
{
    unsigned n;
    rill_port *ports = tool_ports(p, &n);
    rill_status s = RILL_OK;
    for (unsigned i = 0; i < n && s == RILL_OK; i++) {
        rill_sink_opts o = { .struct_bytes = sizeof o };
        rill_sink *sink = NULL;
        if (!ports[i].is_input && rill_sink_defaults(&o, p, i, NULL) == RILL_OK)
            s = rill_sink_new(&sink, p, i, &o, err);
        rill_sink_free(sink);
    }
    free(ports);
    return s;
}

static int folder_open(const struct fill *f, const char *folder)
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err;
    rill_status s = rill_model_open(&m, folder, &err);
    if (s == RILL_OK)
        s = rill_plan_new(&p, m, NULL, &err);
    if (s == RILL_OK)
        s = sinks_try(p, &err);
    rill_plan_unref(p);
    rill_model_free(m);
    return s == RILL_OK ? TOOL_OK
                        : tool_fail(f->cmd, TOOL_BAD_INPUT,
                                    "%s does not open with these weights, which are not kept: %s",
                                    f->name, err.text);
}

/* Fetches an archive and leaves its members that are weights in the folder. */
static int archive_get(const struct fill *f, const char *folder, const struct conf_weights *archive)
{
    uint8_t sum[SHA256_DIGEST_LENGTH];
    char path[8192];
    rill_error err;
    snprintf(path, sizeof path, "%s/%s", folder, archive->file);
    int code = weights_get(f->cmd, folder, f->name, archive, f->from, f->quiet, sum);
    if (code == TOOL_OK && weights_unpack(f->conf, archive, path, folder, &err) != RILL_OK)
        code = tool_fail_status(f->cmd, &err);
    unlink(path);
    return code;
}

static int all_get(const struct fill *f, const char *folder,
                   uint8_t sums[CONF_WEIGHTS_MAX][SHA256_DIGEST_LENGTH])
{
    const struct model_conf *c = f->conf;
    int code = TOOL_OK;
    for (unsigned k = 0; code == TOOL_OK && k < c->n_archives; k++)
        code = archive_get(f, folder, &c->archives[k]);
    for (unsigned k = 0; code == TOOL_OK && k < c->n_weights; k++)
        if (!model_conf_archive(c, &c->weights[k]))
            code = weights_get(f->cmd, folder, f->name, &c->weights[k], f->from, f->quiet, sums[k]);
    return code;
}

/* What came without a checksum has one in the folder's own model.conf from then on. */
static int pins_write(const struct fill *f, const char *folder,
                      uint8_t sums[CONF_WEIGHTS_MAX][SHA256_DIGEST_LENGTH])
{
    char path[8192];
    const struct model_conf *c = f->conf;
    snprintf(path, sizeof path, "%s/model.conf", folder);
    FILE *to = fopen(path, "a");
    for (unsigned k = 0; to && k < c->n_weights; k++) {
        if (is_known(&c->weights[k]) || !*c->weights[k].url)
            continue;
        char hex[SUM_HEX_BYTES];
        sum_hex(sums[k], hex);
        fprintf(to, "\n; As it was first fetched.\n[weights.%s]\nsha256 = %s\n", c->weights[k].file,
                hex);
    }
    bool ok = to && !ferror(to);
    ok = to && !fclose(to) && ok;
    return ok ? TOOL_OK : tool_fail(f->cmd, TOOL_IO, "%s: %s", path, strerror(errno));
}

/* Checksums that an earlier get has noted in the folder. */
static void pins_read(struct model_conf *c, struct arena *a, const char *folder)
{
    struct model_conf own;
    rill_error err;
    if (library_conf_read(&own, a, folder, &err) != RILL_OK)
        return;
    for (unsigned k = 0; k < c->n_weights; k++)
        for (unsigned i = 0; i < own.n_weights; i++)
            if (!is_known(&c->weights[k]) && !strcmp(c->weights[k].file, own.weights[i].file))
                memcpy(c->weights[k].sha256, own.weights[i].sha256, sizeof own.weights[i].sha256);
}

/* In place, shipped files stay as they are: copies are there only while the model is opened. */
static int folder_fill(const struct fill *f, const char *folder)
{
    uint8_t sums[CONF_WEIGHTS_MAX][SHA256_DIGEST_LENGTH];
    const struct model_conf *c = f->conf;
    bool opens = !all_known(c);
    int code = all_get(f, folder, sums);
    if (code == TOOL_OK && (opens || !f->in_place))
        code = shipped_each(f, folder, file_copy);
    if (code == TOOL_OK && opens)
        code = folder_open(f, folder);
    if (code == TOOL_OK && opens)
        code = f->in_place ? shipped_each(f, folder, copy_drop) : pins_write(f, folder, sums);
    for (unsigned k = 0; code == TOOL_OK && !f->quiet && k < c->n_weights; k++)
        if (!is_known(&c->weights[k]))
            sum_print(c->weights[k].file, f->name, sums[k]);
    return code;
}

static int file_move(const char *path, const char *file, void *to)
{
    char at[8192];
    snprintf(at, sizeof at, "%s/%s", (const char *) to, file);
    return rename(path, at) ? errno : 0;
}

static int staged_move(const struct fill *f, const char *stage, const char *folder)
{
    int code = folder_make(f->cmd, folder);
    int why = code == TOOL_OK ? files_each(stage, file_move, (void *) folder) : 0;
    return why ? tool_fail(f->cmd, TOOL_IO, "%s: %s", folder, strerror(why)) : code;
}

/* All is put together in a folder beside, which is of this run alone, so that what was there stays
 * until all is there and right. */
static int folder_stage(const struct fill *f, const char *root, const char *folder)
{
    struct stage stage;
    int why = stage_make(&stage, root, f->name);
    if (why)
        return tool_fail(f->cmd, TOOL_IO, "%s: %s", stage.path, strerror(why));
    int code = folder_fill(f, stage.path);
    if (code == TOOL_OK)
        code = staged_move(f, stage.path, folder);
    stage_drop(&stage);
    return code;
}

/* Nothing is left of what is not right, folders that were made for it neither. */
static int folder_replace(const struct fill *f, const char *root, const char *folder)
{
    size_t there = folder_there(root);
    int code = folder_make(f->cmd, root);
    if (code == TOOL_OK)
        code = folder_stage(f, root, folder);
    if (code != TOOL_OK)
        folder_unmake(root, there);
    return code;
}

/* `to` is NULL for the user's folder, where a model that is built in would only hide itself. */
static int model_get(const struct command *cmd, const char *name, const char *to, const char *from,
                     bool quiet)
{
    char source[8192], folder[8192];
    const char *root = to ? to : library_user_path();
    if (!catalogue_find(name, source))
        return tool_fail(cmd, TOOL_BAD_INPUT,
                         "the library has no model '%s'; 'rill models' lists them", name);
    struct arena a = { 0 };
    struct model_conf c;
    rill_error err;
    snprintf(folder, sizeof folder, "%s/%s", root, name);
    int code =
        library_conf_read(&c, &a, source, &err) == RILL_OK ? TOOL_OK : tool_fail_status(cmd, &err);
    if (code == TOOL_OK && !same_file(source, folder))
        pins_read(&c, &a, folder);
    const struct fill f = { cmd, source, name, from, &c, quiet, same_file(source, folder) };
    bool needed = to || (code == TOOL_OK && c.n_weights);
    if (code == TOOL_OK && needed)
        code = folder_replace(&f, root, folder);
    if (code == TOOL_OK && !quiet && needed)
        printf("%s is in %s\n", name, folder);
    else if (code == TOOL_OK && !quiet)
        printf("%s is built in: there is nothing to fetch\n", name);
    arena_drop(&a);
    return code;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    bool json = false, quiet = false;
    const char *from = NULL, *to = NULL;
    const struct opt table[] = {
        { "from", 0, OPT_TEXT, &from, "DIR",
          "get: take weights from a folder instead of the network" },
        { "json", 0, OPT_FLAG, &json, NULL, "list as [{name, task, present, ...}]" },
        { "quiet", 'q', OPT_FLAG, &quiet, NULL, "get: no progress" },
        { "to", 0, OPT_TEXT, &to, "DIR", "get: folder of models to add to (default: the user's)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 0, -1), code = TOOL_OK;
    if (n < 0)
        return -n;
    if (n == 0 || (n == 1 && !strcmp(argv[0], "list")))
        return models_list(cmd, json);
    if (strcmp(argv[0], "get") || n < 2)
        return tool_fail(cmd, TOOL_USAGE, "usage: rill models %s", cmd->usage);
    for (int i = 1; i < n && code == TOOL_OK; i++)
        code = model_get(cmd, argv[i], to, from, quiet);
    return code;
}

const struct command cmd_models = {
    .name = "models",
    .usage = "[list | get NAME...] [OPTIONS]",
    .summary = "list the library of models, fetch weights",
    .details = "Weights come from the address in model.conf over https and are kept only if their "
               "SHA-256 agrees; a file\n"
               "from a folder of which model.conf knows none only if the whole model opens with "
               "it.\n"
               "They go to the user's folder of models, which every command searches. The daemon "
               "reads the folders of its\n"
               "model_path alone: --to one of them makes a model known to it.",
    .run = run,
};
