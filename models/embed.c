/* SPDX-License-Identifier: MIT */
/* Build tool: embed OUT FILE... writes the list of built-in models as C. Files of one folder are
 * one model, which is called like the folder; the first folder is the default. What several models
 * have, like weights, is there once. */
#include <stdio.h>
#include <string.h>

static const char *last_slash(const char *path)
{
    const char *s = strrchr(path, '/');
    return s ? s : path;
}

static const char *file_name(const char *path)
{
    const char *s = last_slash(path);
    return *s == '/' ? s + 1 : s;
}

static int folder_same(const char *a, const char *b)
{
    size_t n = (size_t) (last_slash(a) - a);
    return n == (size_t) (last_slash(b) - b) && !strncmp(a, b, n);
}

/* Length of the last part of a path's folder, which starts at *ret. */
static int folder_name(const char *path, const char **ret)
{
    const char *end = last_slash(path), *at = end;
    while (at > path && at[-1] != '/')
        at--;
    *ret = at;
    return (int) (end - at);
}

static int same_bytes(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    int c = 0, d = x && y ? 0 : EOF - 1;
    while (c == d && c != EOF) {
        c = getc(x);
        d = getc(y);
    }
    if (x)
        fclose(x);
    if (y)
        fclose(y);
    return c == d;
}

/* Number of the first file that has the bytes of this one. */
static int data_of(int i, char **path)
{
    int first = 0;
    while (
        first < i &&
        (strcmp(file_name(path[first]), file_name(path[i])) || !same_bytes(path[first], path[i])))
        first++;
    return first;
}

static int data_write(FILE *out, int i, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return 0;
    }
    fprintf(out, "static const uint8_t data_%d[] = {\n", i);
    int n = 0;
    for (int c; (c = getc(in)) != EOF;)
        fprintf(out, "%d,%s", c, ++n % 24 ? "" : "\n");
    fprintf(out, "0};\n");
    return !fclose(in);
}

static void lists_write(FILE *out, int n, char **path)
{
    for (int i = 0; i < n; i++) {
        if (i == 0 || !folder_same(path[i - 1], path[i]))
            fprintf(out, "static const struct folder_file files_%d[] = {\n", i);
        int data = data_of(i, path);
        fprintf(out, "    { \"%s\", data_%d, sizeof data_%d - 1 },\n", file_name(path[i]), data,
                data);
        if (i + 1 == n || !folder_same(path[i], path[i + 1]))
            fprintf(out, "    { NULL, NULL, 0 },\n};\n");
    }
    fprintf(out, "const struct builtin builtins[] = {\n");
    for (int i = 0; i < n; i++) {
        const char *name;
        int length = folder_name(path[i], &name);
        if (i == 0 || !folder_same(path[i - 1], path[i]))
            fprintf(out, "    { \"%.*s\", files_%d },\n", length, name, i);
    }
    fprintf(out, "    { NULL, NULL },\n};\n");
}

int main(int argc, char **argv)
{
    FILE *out = argc >= 3 ? fopen(argv[1], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "usage: embed OUT FILE...\n");
        return 1;
    }
    fprintf(out, "#include \"models/builtin.h\"\n\n#include <stddef.h>\n\n");
    for (int i = 2; i < argc; i++)
        if (data_of(i - 2, argv + 2) == i - 2 && !data_write(out, i - 2, argv[i]))
            return 1;
    lists_write(out, argc - 2, argv + 2);
    return fclose(out) ? 1 : 0;
}
