/* SPDX-License-Identifier: MIT */
#include "tools/conformance.h"
#include "tools/conformance_case.h"

#include <dirent.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 8
#define FAMILIES_MAX 400
#define RULES_MAX 600

enum outcome { PASSED, FAILED, SKIPPED };
static const char *const outcome_text[] = { "ok", "FAILED", "skipped" };

struct family {
    char name[40];
    unsigned count[3];
};

struct rule {
    char *pattern, *reason;
    bool used;
};

struct suite {
    const char *root, *only, *unsupported;
    bool verbose, json, strict;
    struct rule rules[RULES_MAX];
    unsigned n_rules;
    struct family families[FAMILIES_MAX];
    unsigned n_families;
    unsigned count[3], planned, listed_passes, printed;
};

/* ---- the list of what is not supported: "pattern reason", one a line ---- */

static bool rule_add(struct suite *s, char *line)
{
    line += strspn(line, " \t");
    line[strcspn(line, "\n")] = 0;
    if (!*line || *line == '#')
        return true;
    size_t n = strcspn(line, " \t");
    const char *reason = line + n + strspn(line + n, " \t");
    if (!*reason || s->n_rules == RULES_MAX) {
        fprintf(stderr, "%s: '%s' %s\n", s->unsupported, line, *reason ? "is one rule too many" : "gives no reason");
        return false;
    }
    s->rules[s->n_rules++] = (struct rule) { .pattern = strndup(line, n), .reason = strdup(reason) };
    return true;
}

static bool rules_read(struct suite *s)
{
    char line[512];
    bool ok = true;
    FILE *f = s->unsupported ? fopen(s->unsupported, "r") : NULL;
    if (s->unsupported && !f)
        perror(s->unsupported);
    while (f && ok && fgets(line, sizeof line, f))
        ok = rule_add(s, line);
    if (f)
        fclose(f);
    return ok && (f || !s->unsupported);
}

static struct rule *rule_find(struct suite *s, const char *name)
{
    for (unsigned i = 0; i < s->n_rules; i++)
        if (!fnmatch(s->rules[i].pattern, name, 0)) {
            s->rules[i].used = true;
            return &s->rules[i];
        }
    return NULL;
}

static void rules_free(struct suite *s)
{
    for (unsigned i = 0; i < s->n_rules; i++) {
        free(s->rules[i].pattern);
        free(s->rules[i].reason);
    }
}

/* ---- counting and printing ---- */

/* The op that a case is about, from its name: test_<op>_... */
static struct family *family_of(struct suite *s, const char *name)
{
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    base += strncmp(base, "test_", 5) ? 0 : 5;
    base += strncmp(base, "operator_", 9) ? 0 : 9;
    int n = (int) strcspn(base, "_");
    for (unsigned i = 0; i < s->n_families; i++)
        if ((int) strlen(s->families[i].name) == n && !strncmp(s->families[i].name, base, (size_t) n))
            return &s->families[i];
    struct family *f = &s->families[s->n_families < FAMILIES_MAX - 1 ? s->n_families++ : FAMILIES_MAX - 1];
    snprintf(f->name, sizeof f->name, "%.*s", n, base);
    return f;
}

static void json_text(const char *t)
{
    putchar('"');
    for (; *t; t++)
        if (*t == '"' || *t == '\\')
            printf("\\%c", *t);
        else
            printf((unsigned char) *t < 32 ? "\\u%04x" : "%c", (unsigned char) *t);
    putchar('"');
}

static void case_print(struct suite *s, const char *name, enum outcome o, const char *way, const char *reason)
{
    if (s->json && o == FAILED) {
        printf("%s\n  {\"case\": ", s->printed++ ? "," : "");
        json_text(name);
        printf(", \"reason\": ");
        json_text(reason);
        putchar('}');
    } else if (!s->json && (s->verbose || o == FAILED)) {
        printf("%-60s %-8s %-7s %s\n", name, outcome_text[o], way, reason);
        fflush(stdout);
    }
}

static void case_count(struct suite *s, const char *name, const char *dir)
{
    struct case_result r;
    const struct rule *listed = rule_find(s, name);
    char reason[700];
    case_run(dir, &r);
    enum outcome o = r.passed ? PASSED : listed ? SKIPPED : FAILED;
    snprintf(reason, sizeof reason, "%s", r.passed ? "" : listed ? listed->reason : r.reason);
    if (r.passed && listed) {
        s->listed_passes++;
        o = s->strict ? FAILED : PASSED;
        snprintf(reason, sizeof reason, "listed as unsupported (%.300s), but passes", listed->reason);
        if (!s->json && !s->verbose)
            printf("%-60s %s\n", name, reason);
    }
    s->planned += o == PASSED && !strcmp(r.way, "plan");
    s->count[o]++;
    family_of(s, name)->count[o]++;
    case_print(s, name, o, r.way, reason);
}

static int family_compare(const void *a, const void *b)
{
    return strcmp(((const struct family *) a)->name, ((const struct family *) b)->name);
}

static void families_print(struct suite *s)
{
    qsort(s->families, s->n_families, sizeof *s->families, family_compare);
    printf("\n%-28s %7s %7s %8s\n", "family", "passed", "failed", "skipped");
    for (unsigned i = 0; i < s->n_families; i++) {
        const struct family *f = &s->families[i];
        if (s->verbose || f->count[FAILED] || f->count[SKIPPED])
            printf("%-28s %7u %7u %8u\n", f->name, f->count[PASSED], f->count[FAILED], f->count[SKIPPED]);
    }
}

static void suite_print(struct suite *s)
{
    if (s->json) {
        printf("%s], \"passed\": %u, \"failed\": %u, \"skipped\": %u}\n", s->printed ? "\n " : "", s->count[PASSED],
               s->count[FAILED], s->count[SKIPPED]);
        return;
    }
    families_print(s);
    for (unsigned i = 0; i < s->n_rules && !s->only; i++)
        if (!s->rules[i].used)
            printf("note: pattern '%s' of %s matches no case\n", s->rules[i].pattern, s->unsupported);
    printf("%u cases ran as a plan, the rest in the growable interpreter alone\n", s->planned);
    printf("%u passed, %u failed, %u skipped\n", s->count[PASSED], s->count[FAILED], s->count[SKIPPED]);
}

/* ---- finding cases ---- */

static bool is_case(const char *dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    if (access(path, F_OK) != 0)
        return false;
    snprintf(path, sizeof path, "%s/test_data_set_0", dir);
    return access(path, F_OK) == 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.' && strncmp(e->d_name, "test_data_set_", 14);
}

static void walk(struct suite *s, const char *dir, const char *name, int depth)
{
    struct dirent **list;
    if (is_case(dir)) {
        if (!s->only || !fnmatch(s->only, name, 0))
            case_count(s, name, dir);
        return;
    }
    int n = depth < DEPTH_MAX ? scandir(dir, &list, visible, alphasort) : -1;
    for (int i = 0; i < n; i++) {
        char path[4096], sub[1024];
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        snprintf(sub, sizeof sub, "%s%s%s", name, *name ? "/" : "", list[i]->d_name);
        if (list[i]->d_type == DT_DIR)
            walk(s, path, sub, depth + 1);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static const char help[] =
    "usage: rill conformance [options] DIR\n"
    "Runs every folder below DIR that holds model.onnx and test_data_set_<n>/{input,output}_<k>.pb, and\n"
    "compares the outputs (relative 1e-3, absolute 1e-7; integers exactly). Inputs are run-time values.\n"
    "\n"
    "  -v, --verbose           a line per case, not only for those that fail\n"
    "  -o, --only PATTERN      only cases whose name (path below DIR) matches, e.g. 'node/test_conv*'\n"
    "  -u, --unsupported FILE  lines of 'pattern reason': cases that count as skipped when they do not pass\n"
    "      --strict            a listed case that passes is a failure\n"
    "      --json              {\"failures\": [...], \"passed\": N, \"failed\": N, \"skipped\": N}\n"
    "\n"
    "Exit status: 0 no case failed, 1 one did, 2 wrong command line or no case found,\n4 DIR is no folder.\n";

static bool options(struct suite *s, int argc, char **argv)
{
    static const struct option longs[] = {
        { "verbose", no_argument, NULL, 'v' }, { "only", required_argument, NULL, 'o' },
        { "unsupported", required_argument, NULL, 'u' }, { "strict", no_argument, NULL, 's' },
        { "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { 0 }
    };
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "vo:u:h", longs, NULL)) != -1) {
        s->verbose |= c == 'v';
        s->strict |= c == 's';
        s->json |= c == 'j';
        if (c == 'o')
            s->only = optarg;
        if (c == 'u')
            s->unsupported = optarg;
        if (c == 'h')
            fputs(help, stdout);
        if (c == 'h' || c == '?')
            exit(c == 'h' ? 0 : 2);
    }
    if (optind == argc - 1)
        s->root = argv[optind];
    else
        fputs(help, stderr);
    return s->root != NULL;
}

int conformance_main(int argc, char **argv)
{
    struct suite *s = calloc(1, sizeof *s);
    if (!s || !options(s, argc, argv) || !rules_read(s)) {
        free(s);
        return 2;
    }
    if (!is_folder(s->root)) {
        fprintf(stderr, "rill conformance: '%s' is no folder\n", s->root);
        rules_free(s);
        free(s);
        return 4;
    }
    if (s->json)
        printf("{\"failures\": [");
    walk(s, s->root, "", 0);
    suite_print(s);
    int status = s->count[FAILED] ? 1 : s->count[PASSED] + s->count[SKIPPED] ? 0 : 2;
    rules_free(s);
    free(s);
    return status;
}
