/* SPDX-License-Identifier: MIT */
/* Build tool: embed OUT NAME CONF GRAPH [NAME CONF GRAPH]... writes the list of built-in models as C. */
#include <stdio.h>

static int text_write(FILE *out, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return 0;
    int n = 0;
    for (int c; (c = getc(in)) != EOF;)
        fprintf(out, "%d,%s", c > 127 ? c - 256 : c, ++n % 24 ? "" : "\n");
    fprintf(out, "0");
    return !fclose(in);
}

static int model_write(FILE *out, int i, char **arg)
{
    for (int k = 1; k <= 2; k++) {
        fprintf(out, "static const char text_%d_%d[] = {\n", i, k);
        if (!text_write(out, arg[k])) {
            perror(arg[k]);
            return 0;
        }
        fprintf(out, "};\n");
    }
    return 1;
}

int main(int argc, char **argv)
{
    FILE *out = argc >= 5 && argc % 3 == 2 ? fopen(argv[1], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "usage: embed OUT NAME CONF GRAPH...\n");
        return 1;
    }
    fprintf(out, "#include \"models/builtin.h\"\n\n#include <stddef.h>\n\n");
    for (int i = 2; i < argc; i += 3)
        if (!model_write(out, i, argv + i))
            return 1;
    fprintf(out, "const struct builtin builtins[] = {\n");
    for (int i = 2; i < argc; i += 3)
        fprintf(out, "    { \"%s\", text_%d_1, text_%d_2 },\n", argv[i], i, i);
    fprintf(out, "    { NULL, NULL, NULL },\n};\n");
    return fclose(out) ? 1 : 0;
}
