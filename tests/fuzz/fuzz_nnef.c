/* SPDX-License-Identifier: MIT */
/* Any bytes as NNEF text: read, then typed. One entry point for libFuzzer and for the regression
 * below, which mutates good texts in a fixed order. Tensor files take the same way when the bytes
 * begin like one. */
#include "engine/typing/typed.h"
#include "models/nnef/dat.h"
#include "models/nnef/nnef.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True where a text is read and typed. */
static bool take(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct nnef_limits limits = nnef_limits_default;
    struct nnef_source source = { .file = "fuzz", .text = (const char *) data, .n = n };
    struct mgraph m;
    struct tgraph t;
    struct tensor *dat;
    rill_error err;
    bool good = false;
    limits.nodes = 2000;
    limits.data_bytes = limits.literal_bytes = 1 << 20;
    if (n > 2 && data[0] == 0x4e && data[1] == 0xef)
        tensor_from_dat(&dat, &a, data, n, "fuzz.dat", &err);
    else if (ds && mgraph_from_nnef(&m, &a, ds, &source, &limits, &err) == RILL_OK)
        good = tgraph_from_mgraph(&t, &m, &(struct typed_opts) { .fold_bytes_max = 1 << 20 },
                                  &err) == RILL_OK;
    arena_drop(&a);
    dims_free(ds);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    take(data, n);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char *const seeds[] = {
    "version 1.0;\nextension rill_symbol T;\nextension rill_assert T >= 1;\n"
    "fragment f(x: tensor<scalar>, s: tensor<scalar>, k: scalar = 2.0) -> (y: tensor<scalar>, t: "
    "tensor<scalar>)\n{ t = s * 0.5 + x; y = select(t > k, t, -x) if k >= 1.0 && true else x; }\n"
    "graph g(x, z) -> (y, w)\n{\n x = external<scalar>(shape = [2 * T - 1]); z = "
    "external<integer>(shape = "
    "[T, 3]);\n y = rill_scan(x, body = f, state = [(s, t, rill_fill([], 1.0))]);\n (a, b) = "
    "(sqr(y), z[0] "
    "if false else z);\n w = clamp(a, 0.0, 1.0) ^ 2.0; # comment\n}\n",
    "graph g(x) -> (y) { x = external(shape = [S]); f = rill_frame(x, size = 8, hop = 4, before = "
    "4, end = "
    "'cover');\nw = rill_window(\"hann\", 8); m = sum_reduce(f * w, axes = [1], normalize = true); "
    "y = "
    "squeeze(m, [1]); }",
    "graph g(x) -> (y) { x = external(shape = [2, 6]); [a, b, c] = split(x, axis = 1, ratios = [1, "
    "1, "
    "1]);\nd = concat([c, b, a], axis = 1); e = pad(reshape(d, [3, -1]), [(1, 0), (0, 2)], border "
    "= "
    "'reflect');\ny = transpose(slice(e, axes = [0, 1], begin = [1, -2], end = [0, 0]), [1, 0]) + "
    "stack([1.0, 2], 0) * 0.0; }",
    "graph g(x) -> (y) { x = external(shape = [1, 4, 9]); k = constant(shape = [2, 4, 3], value = "
    "[0.5]);\nc "
    "= conv(x, k, 0.0, stride = [2], padding = [(1, 1)]); p = max_pool(c, size = [1, 1, 2]);\ny = "
    "softmax(matmul(p, p, transposeB = true), axes = [2]); }",
};

/* Changes, drops or copies a few characters. */
static size_t mutate(char *text, size_t n, uint32_t *seed)
{
    static const char marks[] = "()[]{}<>,;:=+-*/^!&|\"'#0912.eExyS_ \n";
    size_t at = next_random(seed) % n, to = next_random(seed) % n, k = 1 + next_random(seed) % 24;
    k = at + k > n || to + k > n ? 1 : k;
    switch (next_random(seed) % 4) {
    case 0: text[at] = marks[next_random(seed) % (sizeof marks - 1)]; return n;
    case 1: memmove(text + to, text + at, k); return n;
    case 2: memmove(text + at, text + at + k, n - at - k); return n > k + 1 ? n - k : n;
    default: text[at] = (char) (text[at] ^ 1 << next_random(seed) % 8); return n;
    }
}

static void tensor_seed(uint32_t *seed)
{
    unsigned char dat[144] = { 0x4e, 0xef, 1, 0, 16, 0, 0, 0, 1, 0, 0, 0, 4 };
    dat[44] = 32;
    for (unsigned k = next_random(seed) % 4; k-- > 0;)
        dat[2 + next_random(seed) % 50] = (unsigned char) next_random(seed);
    fuzz_exact(dat, next_random(seed) % 8 ? sizeof dat : next_random(seed) % sizeof dat);
}

int main(int argc, char **argv)
{
    unsigned runs = 0, failed = 0, rounds = argc > 1 ? (unsigned) atoi(argv[1]) : 2500;
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        bool good = take((const uint8_t *) seeds[i], strlen(seeds[i]));
        failed += !good;
        if (!good)
            printf("seed %zu is refused\n", i);
        for (unsigned round = 0; round < rounds; round++, runs++) {
            char text[2048];
            size_t n = strlen(seeds[i]);
            memcpy(text, seeds[i], n);
            for (unsigned k = 0; k < round % 8; k++)
                n = mutate(text, n, &seed);
            fuzz_exact(text, n);
        }
    }
    for (unsigned round = 0; round < 2 * rounds; round++, runs++)
        tensor_seed(&seed);
    printf("%u passed, %u failed\n", runs, failed);
    return failed != 0;
}
#endif
