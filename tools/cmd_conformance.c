/* SPDX-License-Identifier: MIT */
/* rill conformance: folders of backend test cases: models, inputs and the outputs to expect. */
#include "tools/conformance_case.h"
#include "tools/library_paths.h"
#include "tools/tool.h"

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 8
#define FAMILIES_MAX 400
#define RULES_MAX 600

/* SKIPPED: by the list. REFUSED: not on it, and of an opset or op that the reader does not know. */
enum outcome { PASSED, FAILED, SKIPPED, REFUSED, OUTCOMES };
static const char *const outcome_text[] = { "ok", "FAILED", "skipped", "refused" };

struct family {
    char name[40];
    unsigned count[OUTCOMES];
};

struct rule {
    char *pattern, *reason;
    bool used;
};

struct rules {
    const char *path; /* NULL: no such file */
    struct rule rule[RULES_MAX];
    unsigned n;
};

struct suite {
    const char *root, *only;
    bool verbose, json, strict, list_given; /* list_given: unsupported is not the default */
    struct rules unsupported, must;
    struct family families[FAMILIES_MAX];
    unsigned n_families;
    unsigned count[OUTCOMES], planned, printed;
    unsigned unknown[ONNX_UNKNOWN_OP + 1]; /* of those refused */
};

/* ---- lists: "pattern reason" of what is not supported, "pattern" of what must pass ---- */

static bool rule_add(struct rules *r, char *line, bool need_reason)
{
    line += strspn(line, " \t");
    line[strcspn(line, "\n")] = 0;
    if (!*line || *line == '#')
        return true;
    size_t n = strcspn(line, " \t");
    const char *reason = line + n + strspn(line + n, " \t");
    if ((need_reason && !*reason) || r->n == RULES_MAX) {
        fprintf(stderr, "%s: '%s' %s\n", r->path, line,
                r->n == RULES_MAX ? "is one pattern too many" : "gives no reason");
        return false;
    }
    r->rule[r->n++] = (struct rule) { .pattern = strndup(line, n), .reason = strdup(reason) };
    return true;
}

static bool rules_read(struct rules *r, bool need_reason)
{
    char line[512];
    bool ok = true;
    FILE *f = r->path ? fopen(r->path, "r") : NULL;
    if (r->path && !f)
        perror(r->path);
    while (f && ok && fgets(line, sizeof line, f))
        ok = rule_add(r, line, need_reason);
    if (f)
        fclose(f);
    return ok && (f || !r->path);
}

/* A pattern fits a path or what follows one of its slashes, so that DIR may be any folder of
 * cases. */
static bool pattern_fits(const char *pattern, const char *name)
{
    for (; name; name = strchr(name, '/') ? strchr(name, '/') + 1 : NULL)
        if (!fnmatch(pattern, name, 0))
            return true;
    return false;
}

static struct rule *rule_find(struct rules *r, const char *name)
{
    for (unsigned i = 0; i < r->n; i++)
        if (pattern_fits(r->rule[i].pattern, name)) {
            r->rule[i].used = true;
            return &r->rule[i];
        }
    return NULL;
}

static void rules_free(struct rules *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        free(r->rule[i].pattern);
        free(r->rule[i].reason);
    }
}

static void suite_free(struct suite *s)
{
    if (s) {
        rules_free(&s->unsupported);
        rules_free(&s->must);
    }
    free(s);
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
        if ((int) strlen(s->families[i].name) == n &&
            !strncmp(s->families[i].name, base, (size_t) n))
            return &s->families[i];
    struct family *f =
        &s->families[s->n_families < FAMILIES_MAX - 1 ? s->n_families++ : FAMILIES_MAX - 1];
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

static void case_print(struct suite *s, const char *name, enum outcome o, const char *way,
                       const char *reason)
{
    if (s->json && o == FAILED) {
        printf("%s\n  {\"case\": ", s->printed++ ? "," : "");
        json_text(name);
        printf(", \"reason\": ");
        json_text(reason);
        putchar('}');
    } else if (!s->json && (s->verbose || o == FAILED || (o == PASSED && *reason))) {
        printf("%-60s %-8s %-7s %s\n", name, outcome_text[o], way, reason);
        fflush(stdout);
    }
}

/* What a result counts as; the reason is replaced where another one says more. */
static enum outcome case_judge(const struct suite *s, struct case_result *r,
                               const struct rule *listed, bool must)
{
    if (r->passed && listed) {
        snprintf(r->reason, sizeof r->reason, "listed as unsupported (%.300s), but passes",
                 listed->reason);
        return s->strict ? FAILED : PASSED;
    }
    if (!r->passed && listed && !must) {
        snprintf(r->reason, sizeof r->reason, "%s", listed->reason);
        return SKIPPED;
    }
    if (r->unknown && !must && !s->strict)
        return REFUSED;
    if (r->refused && !must && !s->unsupported.path) /* by name, at load: not a wrong result */
        return SKIPPED;
    return r->passed ? PASSED : FAILED;
}

static void case_count(struct suite *s, const char *name, const char *dir)
{
    struct case_result r;
    const struct rule *listed = rule_find(&s->unsupported, dir);
    bool must = rule_find(&s->must, dir) != NULL;
    case_run(dir, &r);
    enum outcome o = case_judge(s, &r, listed, must);
    s->planned += o == PASSED && (!strcmp(r.way, "plan") || !strcmp(r.way, "late"));
    s->count[o]++;
    s->unknown[r.unknown] += o == REFUSED;
    family_of(s, name)->count[o]++;
    case_print(s, name, o, r.way, r.reason);
}

/* A pattern of what must pass that matches nothing proves nothing. */
static void must_check(struct suite *s)
{
    for (unsigned i = 0; i < s->must.n && !s->only; i++)
        if (!s->must.rule[i].used) {
            s->count[FAILED]++;
            case_print(s, s->must.rule[i].pattern, FAILED, "",
                       "must pass, but there is no such case");
        }
}

static int family_compare(const void *a, const void *b)
{
    return strcmp(((const struct family *) a)->name, ((const struct family *) b)->name);
}

static void families_print(struct suite *s)
{
    bool head = false;
    qsort(s->families, s->n_families, sizeof *s->families, family_compare);
    for (unsigned i = 0; i < s->n_families; i++) {
        const struct family *f = &s->families[i];
        if (!s->verbose && !f->count[FAILED] && !f->count[SKIPPED] && !f->count[REFUSED])
            continue;
        if (!head)
            printf("\n%-28s %7s %7s %8s %8s\n", "family", "passed", "failed", "skipped", "refused");
        head = true;
        printf("%-28s %7u %7u %8u %8u\n", f->name, f->count[PASSED], f->count[FAILED],
               f->count[SKIPPED], f->count[REFUSED]);
    }
}

/* Of the list that comes with rill nothing is said where nothing of it is here: DIR holds cases of
 * its own. */
static void unused_print(const struct suite *s)
{
    const struct rules *r = &s->unsupported;
    unsigned unused = 0;
    for (unsigned i = 0; i < r->n; i++)
        unused += !r->rule[i].used;
    if (s->only || !unused || (unused == r->n && !s->list_given))
        return;
    printf("note: %u of the %u patterns of %s match no case%s\n", unused, r->n, r->path,
           s->verbose ? ":" : " (--verbose names them)");
    for (unsigned i = 0; i < r->n && s->verbose; i++)
        if (!r->rule[i].used)
            printf("  %s\n", r->rule[i].pattern);
}

static void suite_print(struct suite *s)
{
    if (s->json) {
        printf("%s], \"passed\": %u, \"failed\": %u, \"skipped\": %u, \"refused\": %u, "
               "\"refused_opset\": %u, \"refused_op\": %u}\n",
               s->printed ? "\n " : "", s->count[PASSED], s->count[FAILED], s->count[SKIPPED],
               s->count[REFUSED], s->unknown[ONNX_UNKNOWN_OPSET], s->unknown[ONNX_UNKNOWN_OP]);
        return;
    }
    families_print(s);
    unused_print(s);
    printf("%u cases ran as a plan, the rest in the growable interpreter alone\n", s->planned);
    if (s->count[REFUSED])
        printf("refused: %u of an opset newer than %d, %u with an op that is not known in its "
               "opset\n",
               s->unknown[ONNX_UNKNOWN_OPSET], ONNX_OPSET_MAX, s->unknown[ONNX_UNKNOWN_OP]);
    printf("%u passed, %u failed, %u skipped, %u refused\n", s->count[PASSED], s->count[FAILED],
           s->count[SKIPPED], s->count[REFUSED]);
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

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.' && strncmp(e->d_name, "test_data_set_", 14);
}

static void walk(struct suite *s, const char *dir, const char *name, int depth)
{
    struct dirent **list;
    if (is_case(dir)) {
        if (!s->only || pattern_fits(s->only, name))
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

/* The list that comes with rill: installed, or that of the source tree around a build folder. NULL:
 * neither. */
static const char *list_default(void)
{
    static char path[4096];
    const char *source = library_source_path("tests/conformance/unsupported.txt");
    if (source && access(source, R_OK) == 0)
        return source;
    snprintf(path, sizeof path, "%s/conformance/unsupported.txt", RILL_DATA_DIR);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* False after a message; *code says what to exit with then. */
static bool options(struct suite *s, const struct command *cmd, int argc, char **argv, int *code)
{
    const struct opt table[] = {
        { "json", 0, OPT_FLAG, &s->json, NULL,
          "print {failures, passed, failed, skipped, refused}" },
        { "must-pass", 'm', OPT_TEXT, &s->must.path, "FILE",
          "patterns, one a line: cases that must be there and pass, listed or not" },
        { "only", 'o', OPT_TEXT, &s->only, "PATTERN",
          "only cases whose name (path below DIR) matches, e.g. 'node/test_conv*'" },
        { "strict", 0, OPT_FLAG, &s->strict, NULL,
          "a listed case that passes is a failure, and one that is refused but not listed" },
        { "unsupported", 'u', OPT_TEXT, &s->unsupported.path, "FILE",
          "lines of 'pattern reason': cases that may fail (default: the list that comes with "
          "rill)" },
        { "verbose", 'v', OPT_FLAG, &s->verbose, NULL,
          "a line per case, not only for those that fail" },
        { 0 }
    };
    static char root[PATH_MAX];
    const char *shipped = list_default();
    s->unsupported.path = shipped;
    int n = opts_parse(cmd, table, argc, argv, 1, 1);
    if (n < 0) {
        *code = -n;
        return false;
    }
    s->list_given = s->unsupported.path != shipped;
    s->root = realpath(argv[0], root) ? root : argv[0];
    return true;
}

/* 0 when no case failed, 1 when one did, 2 for a wrong command line or no case, 4 where DIR is no
 * folder. */
static int run(const struct command *cmd, int argc, char **argv)
{
    struct suite *s = calloc(1, sizeof *s);
    int status = 2;
    if (!s || !options(s, cmd, argc, argv, &status) || !rules_read(&s->unsupported, true) ||
        !rules_read(&s->must, false)) {
        suite_free(s);
        return status;
    }
    if (!tool_is_folder(s->root)) {
        fprintf(stderr, "rill conformance: '%s' is no folder\n", s->root);
        suite_free(s);
        return 4;
    }
    if (s->json)
        printf("{\"failures\": [");
    walk(s, s->root, "", 0);
    must_check(s);
    suite_print(s);
    unsigned good = s->count[PASSED] + s->count[SKIPPED] + s->count[REFUSED];
    if (!good && !s->count[FAILED])
        fprintf(stderr,
                "rill conformance: no folder below '%s'%s%s holds model.onnx and test_data_set_0\n",
                s->root, s->only ? " of a name like " : "", s->only ? s->only : "");
    status = s->count[FAILED] ? 1 : good ? 0 : 2;
    suite_free(s);
    return status;
}

const struct command cmd_conformance = {
    .name = "conformance",
    .usage = "[OPTIONS] DIR",
    .summary = "run folders of backend test cases",
    .details =
        "Runs every folder below DIR that holds model.onnx and "
        "test_data_set_<n>/{input,output}_<k>.pb, and compares the\n"
        "outputs (relative 1e-3, absolute 1e-7; integers exactly). Inputs are run-time values. A "
        "case of the list of what\n"
        "is not supported counts as skipped when it does not pass; one that is not listed, of an "
        "opset "
        "or op that rill does\n"
        "not know, counts as refused; any other refusal is a failure.",
    .run = run,
};
