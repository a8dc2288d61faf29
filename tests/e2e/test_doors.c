/* SPDX-License-Identifier: MIT */
/* Random chains whose every sample is known, through every door: the tool in its own process, the
 * daemon's stream aligned and as late as it is, rill stream, rill pipe and the Python client. Each
 * gives exactly the expected samples and exactly so many.
 *   test_doors [--seed=N] [--chains=N]
 * RILLD and RILL_TOOL name the programs, RILL_PYTHON the folder of the Python client. */
#include "tests/daemon/harness.h"
#include "tests/e2e/align_chain.h"

#include <sys/stat.h>
#include <unistd.h>

#define RATE 16000
#define SAMPLES_MAX 4096
#define STEP 256 /* of samples, so that what is scaled stays whole */

static struct rig rig;
static struct chain chain;
static char model[32]; /* its name in the daemon */
static int16_t x[SAMPLES_MAX];
static size_t n_x;
static struct wave wave; /* what the chain makes of it */
static uint32_t latency_samples;

/* ---- files ---- */

static const char *path_of(const char *name)
{
    static char path[4][256];
    static unsigned k;
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/%s", rig.dir, name);
    return path[k];
}

static void file_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        give_up("%s could not be written", path);
}

static size_t file_read(const char *path, void *bytes, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, cap, f) : 0;
    if (f)
        fclose(f);
    return n;
}

static void put(uint8_t *to, uint32_t v, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t) (v >> 8 * i);
}

static void wav_write(const char *path, const int16_t *v, size_t n)
{
    static uint8_t b[44 + 2 * SAMPLES_MAX];
    memcpy(b, "RIFF    WAVEfmt                     data", 40);
    put(b + 4, (uint32_t) (36 + 2 * n), 4);
    put(b + 16, 16, 4);
    put(b + 20, 1, 2);
    put(b + 22, 1, 2);
    put(b + 24, RATE, 4);
    put(b + 28, 2 * RATE, 4);
    put(b + 32, 2, 2);
    put(b + 34, 16, 2);
    put(b + 40, (uint32_t) (2 * n), 4);
    for (size_t i = 0; i < n; i++)
        put(b + 44 + 2 * i, (uint16_t) v[i], 2);
    file_write(path, b, 44 + 2 * n);
}

/* Samples of the WAV file; those of this program and of the library lie behind 44 bytes. */
static size_t wav_read(const char *path, int16_t *v, size_t cap)
{
    static uint8_t b[44 + 4 * SAMPLES_MAX];
    size_t n = file_read(path, b, sizeof b);
    n = n < 44 || memcmp(b + 36, "data", 4) != 0 ? 0 : (n - 44) / 2;
    for (size_t i = 0; i < n && i < cap; i++)
        v[i] = (int16_t) (b[44 + 2 * i] | b[45 + 2 * i] << 8);
    return n;
}

static void model_write(const char *folder)
{
    static const char conf[] = "[model]\ntask = denoise\nsample_rate = 16000\nlicence = MIT\n"
                               "[input.pcm]\nkind = audio\n[output.out]\nkind = audio\n";
    char path[512];
    mkdir(folder, 0755);
    snprintf(path, sizeof path, "%s/model.conf", folder);
    file_write(path, conf, sizeof conf - 1);
    snprintf(path, sizeof path, "%s/graph.nnef", folder);
    FILE *f = fopen(path, "w");
    if (!f)
        give_up("%s could not be written", path);
    chain_text(&chain, false, f);
    fclose(f);
}

/* ---- what must be so ---- */

/* Sample k stands for k - late_samples. */
static bool is_expected(const char *door, const int16_t *v, size_t n, size_t late_samples)
{
    bool good =
        CHECK(n == n_x + late_samples, "%s: %zu samples, %zu wanted", door, n, n_x + late_samples);
    for (size_t k = 0; good && k < n; k++) {
        float want = wave_aligned(&wave, (int64_t) k - (int64_t) late_samples) * 32768;
        good = CHECK((float) v[k] == want, "%s: sample %zu is %d, %g wanted", door, k, v[k],
                     (double) want);
    }
    if (!good) {
        printf("  %zu samples, late by %zu, through ", n_x, late_samples);
        chain_print(&chain, stdout);
    }
    return good;
}

/* ---- doors ---- */

static const char *run_tool(const char *arguments)
{
    int code;
    const char *said = program_says(getenv("RILL_TOOL"), arguments, &code);
    CHECK(code == 0, "rill %s: %s", arguments, said);
    return said;
}

/* What it said is in static memory. */
static const char *through_wav(const char *arguments, size_t late_samples)
{
    static int16_t v[2 * SAMPLES_MAX];
    char line[1024];
    unlink(path_of("out.wav"));
    snprintf(line, sizeof line, "%s %s %s", arguments, path_of("in.wav"), path_of("out.wav"));
    const char *said = run_tool(line);
    is_expected(line, v, wav_read(path_of("out.wav"), v, 2 * SAMPLES_MAX), late_samples);
    return said;
}

static void through_denoise(void)
{
    const char *set = chain.of_symbol ? "--set S=4*N --stream N" : "", *said;
    char line[512];
    snprintf(line, sizeof line, "denoise --json %s -m %s/%s", set, path_of("models"), model);
    said = strstr(through_wav(line, 0), "\"latency_ms\": ");
    uint32_t late = said ? (uint32_t) (strtod(said + 14, NULL) * RATE / 1000 + 0.5) : 0;
    CHECK(said && (chain.of_symbol || late == latency_samples), "latency %u and %u", late,
          latency_samples);
    snprintf(line, sizeof line, "denoise --keep-delay %s -m %s/%s", set, path_of("models"), model);
    through_wav(line, late);
}

static void through_daemon(bool align)
{
    char err[512];
    struct result r;
    const struct rill_client_open o = OPEN(FILE, RATE, 1, S16, .model = model, .align = align);
    if (!CHECK(stream_whole(rig.sock, &o, x, n_x, 2, 1 + chain_random(700), &r, err), "%s", err))
        return;
    const struct rill_client_opened *got = &r.opened;
    latency_samples = got->latency_samples;
    CHECK(align ? got->offset_samples == 0 : got->offset_samples == -(int32_t) latency_samples,
          "offset %d, latency %u", got->offset_samples, latency_samples);
    is_expected(align ? "stream" : "late stream", (const int16_t *) (const void *) r.pcm,
                r.bytes / 2, align ? 0 : latency_samples);
    result_free(&r);
}

static void through_raw(const char *door, const char *command)
{
    static int16_t v[2 * SAMPLES_MAX];
    unlink(path_of("out.raw"));
    CHECK(system(command) == 0, "%s", command);
    is_expected(door, v, file_read(path_of("out.raw"), v, sizeof v) / 2, 0);
}

static void through_others(void)
{
    static const char python[] =
        "import sys\n"
        "from rill_client import Audio, Client\n"
        "path, model, source, to = sys.argv[1:]\n"
        "with Client(path) as c, c.open(model, rate=16000, encoding='s16') as s:\n"
        "    out = b''.join(e.pcm for e in s.process([open(source, 'rb').read()]) "
        "if isinstance(e, Audio))\n"
        "open(to, 'wb').write(out)\n";
    char line[2048];
    snprintf(line, sizeof line, "stream -s %s -m %s", rig.sock, model);
    through_wav(line, 0);
    snprintf(line, sizeof line, "stream -s %s -m %s --keep-delay", rig.sock, model);
    through_wav(line, latency_samples);
    file_write(path_of("in.raw"), x, 2 * n_x);
    snprintf(line, sizeof line, "%s pipe -s %s -m %s --pace file <%s >%s", getenv("RILL_TOOL"),
             rig.sock, model, path_of("in.raw"), path_of("out.raw"));
    through_raw("rill pipe", line);
    file_write(path_of("client.py"), python, sizeof python - 1);
    snprintf(line, sizeof line, "PYTHONPATH=%s python3 %s %s %s %s %s", getenv("RILL_PYTHON"),
             path_of("client.py"), rig.sock, model, path_of("in.raw"), path_of("out.raw"));
    through_raw("Python client", line);
}

/* ---- chains ---- */

static void input_make(size_t n)
{
    static float samples[SAMPLES_MAX];
    n_x = n;
    for (size_t i = 0; i < n; i++) {
        x[i] = (int16_t) (STEP * ((int) chain_random(255) - 127));
        samples[i] = (float) x[i] / 32768;
    }
    wave = chain_run(&chain, samples, (int64_t) n);
    wav_write(path_of("in.wav"), x, n_x);
}

static void test_chain(long number)
{
    size_t n = (size_t) chain.least_samples + chain_random(300);
    n -= chain.of_symbol ? n % SYMBOL_SAMPLES : 0;
    snprintf(model, sizeof model, "c%ld", number);
    char folder[256];
    snprintf(folder, sizeof folder, "%s/%s", path_of("models"), model);
    model_write(folder);
    input_make(n);
    if (!chain.of_symbol) {
        through_daemon(false);
        through_daemon(true);
        if (number % 4 == 0)
            through_others();
    }
    through_denoise();
    wave_free(&wave);
}

int main(int argc, char **argv)
{
    long seed = 2, chains = 24;
    for (int i = 1; i < argc; i++) {
        seed = strncmp(argv[i], "--seed=", 7) ? seed : atol(argv[i] + 7);
        chains = strncmp(argv[i], "--chains=", 9) ? chains : atol(argv[i] + 9);
    }
    printf("seed %ld\n", seed);
    rig_start(&rig, "");
    mkdir(path_of("models"), 0755);
    for (long k = 0; k < chains; k++) {
        chain_seed((uint32_t) (seed * 1000003 + k));
        chain_make(&chain, false);
        if (chain.least_samples + 300 <= SAMPLES_MAX)
            test_chain(k);
    }
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
