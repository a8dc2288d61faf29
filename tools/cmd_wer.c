/* SPDX-License-Identifier: MIT */
/* rill wer: how far what was heard is from what was said. */
#include "engine/base/bytes.h"
#include "tools/json.h"
#include "tools/tool.h"
#include "tools/wer.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES_MAX ((uint64_t) 64 << 20)

struct comparing {
    const struct command *cmd;
    bool raw, chars, json, lines;
    struct wer_count total;
    unsigned n_texts;
    json_t *files; /* of --json */
    rill_error err;
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

/* ---- files ---- */

/* The text of what `rill transcribe --json` wrote. */
static rill_status json_text_of(char **ret, const struct bytes *b, rill_error *err)
{
    json_t *o = json_loadb((const char *) b->data, b->n, 0, NULL);
    const char *text = json_string_value(json_object_get(o, "text"));
    if (text) {
        *ret = tool_alloc(strlen(text) + 1);
        strcpy(*ret, text);
    }
    json_decref(o);
    return text ? RILL_OK
                : err_set(err, RILL_MALFORMED,
                          "expected JSON with a text, as of rill "
                          "transcribe --json");
}

static rill_status utf8_check(const struct bytes *b, rill_error *err)
{
    const char *text = (const char *) b->data;
    unsigned line = 1;
    for (size_t at = 0; at < b->n; line++) {
        const char *end = memchr(text + at, '\n', b->n - at);
        size_t n = end ? (size_t) (end - text) - at : b->n - at;
        json_t *good = memchr(text + at, 0, n) ? NULL : json_stringn(text + at, n);
        if (!good)
            return err_set(err, RILL_MALFORMED, "line %u is not text in UTF-8", line);
        json_decref(good);
        at += n + 1;
    }
    return RILL_OK;
}

/* A string to be freed. */
static rill_status text_read(char **ret, const char *path, rill_error *err)
{
    struct bytes b;
    rill_status s = bytes_from_file(&b, path, TEXT_BYTES_MAX, err);
    *ret = NULL;
    if (s == RILL_OK && ends_with(path, ".json")) {
        s = json_text_of(ret, &b, err);
        bytes_drop(&b);
    } else if (s == RILL_OK) {
        s = utf8_check(&b, err);
        *ret = tool_alloc(b.n + 1);
        if (b.n)
            memcpy(*ret, b.data, b.n);
        (*ret)[b.n] = 0;
        bytes_drop(&b);
    }
    return s == RILL_OK ? s : err_prefix(err, s, "%.300s", path);
}

/* ---- what is told ---- */

static void row_print(const struct comparing *c, const char *name, const struct wer_count *w)
{
    if (c->json)
        return;
    printf("%6.2f %% %7" PRIu64 " words %6" PRIu64 " ins %6" PRIu64 " del %6" PRIu64 " sub  %s\n",
           100 * wer_rate(w), w->words, w->insertions, w->deletions, w->substitutions, name);
}

static json_t *row_json(const char *name, const struct wer_count *w)
{
    return json_pack("{s:o, s:f, s:I, s:I, s:I, s:I}", "name", json_text(name), "wer", wer_rate(w),
                     "words", (json_int_t) w->words, "insertions", (json_int_t) w->insertions,
                     "deletions", (json_int_t) w->deletions, "substitutions",
                     (json_int_t) w->substitutions);
}

static rill_status pair_compare(struct comparing *c, const char *name, const char *ref,
                                const char *hyp)
{
    struct wer_words a = { 0 }, b = { 0 };
    struct wer_count w;
    bool ok = wer_words_make(&a, ref, !c->raw, c->chars) &&
        wer_words_make(&b, hyp, !c->raw, c->chars) && wer_compare(&w, &a, &b);
    wer_words_drop(&a);
    wer_words_drop(&b);
    if (!ok)
        return err_set(&c->err, RILL_NOMEM, "out of memory");
    row_print(c, name, &w);
    if (c->json)
        json_array_append_new(c->files, row_json(name, &w));
    wer_add(&c->total, &w);
    c->n_texts++;
    return RILL_OK;
}

/* ---- a line an utterance: NAME WORDS ---- */

/* Cuts the next line off *text; NULL at the end. */
static char *line_cut(char **text)
{
    char *line = *text;
    while (*line == '\n' || *line == '\r')
        line++;
    if (!*line)
        return NULL;
    size_t n = strcspn(line, "\n");
    *text = line + n + (line[n] == '\n');
    line[n] = 0;
    return line;
}

/* Cuts the name off a line; returns its words. */
static char *name_cut(char *line)
{
    size_t n = strcspn(line, " \t\r");
    char *words = line + n + (line[n] != 0);
    line[n] = 0;
    return words;
}

struct utterance {
    const char *name, *words;
};

static int utterance_order(const void *a, const void *b)
{
    return strcmp(((const struct utterance *) a)->name, ((const struct utterance *) b)->name);
}

static struct utterance *utterances_of(char *text, size_t *ret_n)
{
    size_t n = 0, lines = 1;
    for (const char *t = text; *t; t++)
        lines += *t == '\n';
    struct utterance *list = tool_alloc(lines * sizeof *list);
    for (char *line; (line = line_cut(&text)); n++) {
        list[n].words = name_cut(line);
        list[n].name = line;
    }
    qsort(list, n, sizeof *list, utterance_order);
    *ret_n = n;
    return list;
}

static rill_status lines_compare(struct comparing *c, char *ref, char *hyp)
{
    size_t n_ref, n_hyp, at = 0;
    struct utterance *a = utterances_of(ref, &n_ref), *b = utterances_of(hyp, &n_hyp);
    rill_status s = RILL_OK;
    for (size_t i = 0; i < n_ref && s == RILL_OK; i++) {
        while (at < n_hyp && utterance_order(&b[at], &a[i]) < 0)
            fprintf(stderr, "rill wer: '%.100s' is not in REF and left out\n", b[at++].name);
        bool found = at < n_hyp && !utterance_order(&b[at], &a[i]);
        s = pair_compare(c, a[i].name, a[i].words, found ? b[at].words : "");
        at += found;
    }
    for (; at < n_hyp && s == RILL_OK; at++)
        fprintf(stderr, "rill wer: '%.100s' is not in REF and left out\n", b[at].name);
    free(a);
    free(b);
    return s;
}

/* ---- folders ---- */

/* HYP/NAME with any of the endings; false: there is none, so nothing was heard. */
static bool partner_find(char path[4096], const char *folder, const char *name)
{
    static const char *const endings[] = { ".txt", ".json" };
    const char *dot = strrchr(name, '.');
    int stem = dot ? (int) (dot - name) : (int) strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, 4096, "%s/%.*s%s", folder, stem, name, endings[i]);
        FILE *f = fopen(path, "r");
        if (f)
            fclose(f);
        if (f)
            return true;
    }
    return false;
}

static rill_status file_compare(struct comparing *c, const char *ref, const char *hyp,
                                const char *name)
{
    char *a = NULL, *b = NULL;
    rill_status s = text_read(&a, ref, &c->err);
    if (s == RILL_OK && hyp)
        s = text_read(&b, hyp, &c->err);
    if (s == RILL_OK)
        s = c->lines ? lines_compare(c, a, b) : pair_compare(c, name, a, b ? b : "");
    free(a);
    free(b);
    return s;
}

/* Texts that nothing was said to. */
static void strangers_tell(const char *ref, const char *hyp)
{
    struct dirent **list = NULL;
    int n = scandir(hyp, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[4096];
        const char *name = list[i]->d_name, *dot = strrchr(name, '.');
        bool is_text = name[0] != '.' && (ends_with(name, ".txt") || ends_with(name, ".json"));
        if (is_text)
            snprintf(path, sizeof path, "%s/%.*s.txt", ref, (int) (dot - name), name);
        if (is_text && access(path, F_OK))
            fprintf(stderr, "rill wer: '%.100s' is not in REF and left out\n", name);
        free(list[i]);
    }
    free(list);
}

static rill_status folders_compare(struct comparing *c, const char *ref, const char *hyp)
{
    struct dirent **list = NULL;
    int n = scandir(ref, &list, NULL, alphasort);
    rill_status s = RILL_OK;
    for (int i = 0; i < n; i++) {
        char a[4096], b[4096];
        const char *name = list[i]->d_name;
        snprintf(a, sizeof a, "%s/%s", ref, name);
        if (s == RILL_OK && name[0] != '.' && ends_with(name, ".txt"))
            s = file_compare(c, a, partner_find(b, hyp, name) ? b : NULL, name);
        free(list[i]);
    }
    free(list);
    if (s == RILL_OK)
        strangers_tell(ref, hyp);
    return s == RILL_OK && !c->n_texts
        ? err_set(&c->err, RILL_INVALID, "%.200s: no .txt files in this folder", ref)
        : s;
}

/* ---- the command ---- */

static rill_status compare(struct comparing *c, const char *ref, const char *hyp)
{
    bool folder = tool_is_folder(ref);
    if (folder != tool_is_folder(hyp))
        return err_set(&c->err, RILL_INVALID, "REF and HYP are two files or two folders");
    return folder ? folders_compare(c, ref, hyp) : file_compare(c, ref, hyp, hyp);
}

static void total_print(const struct comparing *c)
{
    if (!c->json) {
        if (c->n_texts > 1)
            row_print(c, "total", &c->total);
        return;
    }
    json_t *o = row_json("total", &c->total);
    json_object_set(o, "files", c->files);
    json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(7));
    putchar('\n');
    json_decref(o);
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct comparing c = { .cmd = cmd };
    const struct opt table[] = {
        { "chars", 0, OPT_FLAG, &c.chars, NULL, "compare characters instead of words" },
        { "json", 0, OPT_FLAG, &c.json, NULL, "print {wer, words, insertions, .., files: [..]}" },
        { "lines", 0, OPT_FLAG, &c.lines, NULL, "each line is an utterance: its name, then words" },
        { "raw", 0, OPT_FLAG, &c.raw, NULL, "compare texts as they stand" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 2, 2);
    if (n < 0)
        return -n;
    c.files = json_array();
    rill_status s = compare(&c, argv[0], argv[1]);
    if (s == RILL_OK)
        total_print(&c);
    json_decref(c.files);
    return s == RILL_OK ? TOOL_OK : tool_fail_status(cmd, &c.err);
}

const struct command cmd_wer = {
    .name = "wer",
    .usage = "[OPTIONS] REF HYP",
    .summary = "count the errors of words between what was said and what was heard",
    .details =
        "REF and HYP are two texts, or two folders: each REF/NAME.txt is compared with "
        "HYP/NAME.txt "
        "or HYP/NAME.json (of rill\n"
        "transcribe --json); where there is neither, nothing was heard. Insertions, deletions and "
        "substitutions are those of\n"
        "the fewest changes. Before, capitals become small letters (Latin, Greek, Cyrillic), "
        "punctuation becomes blanks but\n"
        "for apostrophes within words, and words are what stands between blanks. Numbers stay as "
        "they are written.",
    .run = run,
};
