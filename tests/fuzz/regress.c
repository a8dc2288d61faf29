/* SPDX-License-Identifier: MIT */
/* A fuzz target without a fuzzer: the files of a folder, then mutations of them, the same in every
 * run. Usage: TARGET FOLDER [MUTATIONS] */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 512
#define FILE_BYTES_MAX 65536

struct seed {
    uint8_t *data;
    size_t n;
};

static struct seed seeds[FILES_MAX];
static unsigned n_seeds;

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void seeds_read(const char *dir)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        FILE *f = list[i]->d_name[0] != '.' && n_seeds < FILES_MAX ? fopen(path, "rb") : NULL;
        struct seed s = { .data = f ? malloc(FILE_BYTES_MAX) : NULL };
        if (s.data) {
            s.n = fread(s.data, 1, FILE_BYTES_MAX, f);
            seeds[n_seeds++] = s;
        }
        if (f)
            fclose(f);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static void mutate_one(uint8_t *b, size_t *n, size_t cap, uint32_t *seed)
{
    static const char nasty[] = "\1\x7f\x80\xff\n\r\t []{}()=,;:.#\"'&|!^*/+-_<>0129eExaS";
    size_t at = next_random(seed) % *n, m = 1 + next_random(seed) % 16;
    m = m > *n - at ? *n - at : m;
    switch (next_random(seed) % 5) {
    case 0: b[at] ^= (uint8_t) (1u << next_random(seed) % 8); break;
    case 1: b[at] = (uint8_t) nasty[next_random(seed) % sizeof nasty]; break;
    case 2: b[at] = (uint8_t) next_random(seed); break;
    case 3:
        memmove(b + at, b + at + m, *n - at - m);
        *n -= *n > m ? m : 0;
        break;
    default:
        if (*n + m <= cap) {
            memmove(b + at + m, b + at, *n - at);
            *n += m;
        }
    }
}

int main(int argc, char **argv)
{
    static uint8_t b[2 * FILE_BYTES_MAX];
    unsigned rounds = argc > 2 ? (unsigned) atoi(argv[2]) : 0, played = 0;
    uint32_t seed = 77;
    if (argc > 1)
        seeds_read(argv[1]);
    for (unsigned i = 0; i < n_seeds; i++, played++)
        fuzz_exact(seeds[i].data, seeds[i].n);
    for (unsigned i = 0; i < rounds && n_seeds; i++, played++) {
        const struct seed *s = &seeds[next_random(&seed) % n_seeds];
        size_t n = s->n;
        memcpy(b, s->data, n);
        for (unsigned k = 0; n && k <= i % 5; k++)
            mutate_one(b, &n, sizeof b, &seed);
        fuzz_exact(b, n);
    }
    for (unsigned i = 0; i < n_seeds; i++)
        free(seeds[i].data);
    printf("%u passed, %u failed\n", played, n_seeds ? 0 : 1);
    return n_seeds ? 0 : 1;
}
