/* SPDX-License-Identifier: MIT */
/* Model folders with mistakes in them: files, tensors, state pairs, model.conf. */
#include "tests/models/models_test.h"

static void text_write(const char *folder, const char *file, const char *text)
{
    mkdir(test_path(folder, ""), 0700);
    file_write(test_path(folder, file), text, strlen(text));
}

static void refused(const char *what, const char *path, rill_status want, const char *words)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    rill_status got = rill_model_open(&m, path, &err);
    CHECK(got == want && strstr(err.text, words), "%s: status %d, '%s'; expected %d, '%s'", what,
          got, err.text, want, words);
    rill_model_free(m);
}

/* ---- files ---- */

#define HEAD "version 1.0;\ngraph g(x) -> (y) {\n    x = external<scalar>(shape = [S]);\n    y = "

static void test_paths(void)
{
    static const struct {
        const char *file, *words;
        rill_status status;
    } files[] = {
        { "../secret.onnx", "not a file beneath the model's folder", RILL_INVALID },
        { "sub/../../secret.onnx", "not a file beneath the model's folder", RILL_INVALID },
        { "/etc/passwd", "not a file beneath the model's folder", RILL_INVALID },
        { "link.onnx", "folder but a symbolic link, which is not followed; 'cp -rL'",
          RILL_INVALID },
        { "linked/secret.onnx", "beneath", RILL_INVALID },
        { "", "not a file beneath the model's folder", RILL_INVALID },
        { "absent.onnx", "absent.onnx: No such file", RILL_IO },
        { "sub", "is not a regular file", RILL_IO },
        { "pipe", "is not a regular file", RILL_IO },
        { "empty.onnx", "", RILL_MALFORMED },
    };
    char text[512];
    mkdir(test_path("paths", ""), 0700);
    mkdir(test_path("paths", "sub"), 0700);
    file_write(test_path("secret.onnx", ""), "x", 1);
    file_write(test_path("paths", "empty.onnx"), "", 0);
    CHECK(!symlink(test_path("secret.onnx", ""), test_path("paths", "link.onnx")), "symlink");
    CHECK(!symlink(test_root, test_path("paths", "linked")), "symlink");
    CHECK(!mkfifo(test_path("paths", "pipe"), 0600), "mkfifo");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(text, sizeof text, HEAD "rill_onnx_scan(rill_frame(x, 4, 4), file = \"%s\");\n}",
                 files[i].file);
        text_write("paths", "graph.nnef", text);
        if (strcmp(files[i].file, "linked/secret.onnx") != 0) {
            refused(files[i].file, test_path("paths", ""), files[i].status, files[i].words);
            continue;
        }
        rill_error err = { .text = "" };
        rill_model *m =
            NULL; /* a link to a folder is "not a directory" or "too many links", by system */
        CHECK(rill_model_open(&m, test_path("paths", ""), &err) != RILL_OK &&
                  !strstr(err.text, "protobuf"),
              "%s", err.text);
    }
}

/* A model.conf that is there but is no file is not taken for a folder without one. */
static void test_conf_no_file(void)
{
    text_write("conf", "graph.nnef", HEAD "rill_frame(x, 4, 4);\n}");
    CHECK(!symlink(test_path("secret.onnx", ""), test_path("conf", "model.conf")), "symlink");
    refused("link", test_path("conf", ""), RILL_INVALID, "model.conf");
    unlink(test_path("conf", "model.conf"));
    CHECK(!mkfifo(test_path("conf", "model.conf"), 0600), "mkfifo");
    refused("pipe", test_path("conf", ""), RILL_IO, "model.conf");
    unlink(test_path("conf", "model.conf"));
}

/* ---- tensor files ---- */

struct dat {
    uint32_t bytes, rank, dim[8], bits, item;
};

static void dat_write(const char *file, const struct dat *d, const void *data, size_t n)
{
    unsigned char all[1024] = { 0x4e, 0xef, 1, 0 };
    memcpy(all + 4, &d->bytes, 4);
    memcpy(all + 8, &d->rank, 4);
    memcpy(all + 12, d->dim, 32);
    memcpy(all + 44, &d->bits, 4);
    memcpy(all + 48, &d->item, 4);
    memcpy(all + 128, data, n);
    file_write(test_path("dat", file), all, 128 + n);
}

static void test_dat_bad(void)
{
    static const struct {
        struct dat d;
        size_t n;
        rill_status status;
        const char *words;
    } cases[] = {
        { { 16, 1, { 4 }, 32, 0 }, 12, RILL_MALFORMED, "12 bytes of data, the header says 16" },
        { { 16, 1, { 5 }, 32, 0 }, 16, RILL_MALFORMED, "does not fit 16 bytes" },
        { { 16, 9, { 4 }, 32, 0 }, 16, RILL_LIMIT, "rank 9, at most 8" },
        { { 16, 8, { 4294967295u, 4294967295u, 4294967295u, 4, 4, 4, 4, 4 }, 32, 0 },
          16,
          RILL_MALFORMED,
          "does not fit" },
        { { 16, 1, { 4 }, 24, 0 }, 16, RILL_UNSUPPORTED, "supported: float 16" },
        { { 16, 1, { 4 }, 32, 2 }, 16, RILL_MALFORMED, "holds i64, expected f32" },
        { { 16, 1, { 4 }, 32, 6 }, 16, RILL_UNSUPPORTED, "elements of kind 6" },
        { { 16, 1, { 4 }, 32, 0x10000 }, 16, RILL_UNSUPPORTED, "vendor 1" },
        { { 16, 2, { 2, 2 }, 32, 0 }, 16, RILL_MALFORMED, "shape is not the declared one" },
        { { 16, 1, { 4 }, 32, 4 }, 16, RILL_MALFORMED, "holds i64, expected f32" },
    };
    static const float data[4] = { 1, 2, 3, 4 };
    text_write("dat", "graph.nnef", HEAD "x * variable<scalar>(shape = [4], label = \"w\")[0];\n}");
    refused("index of a tensor", test_path("dat", ""), RILL_IO, "w.dat: No such file");
    text_write("dat", "graph.nnef",
               HEAD "rill_frame(x, 4, 4) + unsqueeze(variable<scalar>(shape = [4], label = \"w\"), "
                    "axes = [0]);\n}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dat_write("w.dat", &cases[i].d, data, cases[i].n);
        refused(cases[i].words, test_path("dat", ""), cases[i].status, cases[i].words);
    }
    file_write(test_path("dat", "w.dat"), "NNEF", 4);
    refused("no header", test_path("dat", ""), RILL_MALFORMED, "no NNEF header");
}

static void dat_good(const char *what, const struct dat *d, const void *data, size_t n)
{
    static const float want[8] = { 2, 3, 4, 5, 2, 3, 4, 5 };
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    dat_write("w.dat", d, data, n);
    rill_status s = rill_model_open(&m, test_path("dat", ""), &err);
    CHECK(s == RILL_OK, "%s: %s", what, err.text);
    if (s != RILL_OK)
        return;
    struct floats y = model_run_whole(m, (struct floats) { ones, 8 }, &err);
    CHECK(y.n == 8 && !memcmp(y.v, want, sizeof want), "%s: %zu values: %s", what, y.n, err.text);
    free(y.v);
    rill_model_free(m);
}

static void test_dat_good(void)
{
    static const float f32[4] = { 1, 2, 3, 4 };
    static const double f64[4] = { 1, 2, 3, 4 };
    static const uint16_t f16[4] = { 0x3c00, 0x4000, 0x4200, 0x4400 };
    dat_good("f32", &(struct dat) { 16, 1, { 4 }, 32, 0 }, f32, 16);
    dat_good("f64", &(struct dat) { 32, 1, { 4 }, 64, 0 }, f64, 32);
    dat_good("f16", &(struct dat) { 8, 1, { 4 }, 16, 0 }, f16, 8);
}

/* ---- model.conf ---- */

static void test_conf(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "[model]\ntask = vad\ncolour = red\n",
          "model.conf:3: unknown key 'colour' in section [model]" },
        { "[model]\noverload = sometimes\n",
          "[model] overload: 'sometimes' is not a value for it, which is one of auto, bypass, "
          "skip" },
        { "[model]\nfirst_pulse = 0\n",
          "'0' is not a value for it, which is whole, short or a number of frames, 1 or more" },
        { "[model]\nsample_rate = fast\n", "model.conf:2: [model] sample_rate: 'fast'" },
        { "[model]\nsample_rate = 4294967296\n", "'4294967296' is not a value" },
        { "[vad]\nthreshold = 1.5\n", "[vad] threshold: '1.5'" },
        { "[vad]\nthreshold = 0\n",
          "[vad] threshold: '0' is not a value for it, which is more than 0" },
        { "[vad]\nrelease = 0.0\n",
          "[vad] release: '0.0' is not a value for it, which is more than 0" },
        { "[output.y]\nkind = video\n", "[output.y] kind: 'video'" },
        { "[output.y]\nkind = ctc\nbeam = 65\n",
          "model.conf:3: [output.y] beam: '65' is not a value for it, which is 1 to 64" },
        { "[output.y]\nbeam = 0\n", "beam: '0'" },
        { "[output.y]\nmax_tokens = 3\n", "4 to 4096" },
        { "[output.y]\nmax_symbols = 17\n", "1 to 16" },
        { "[output.y]\nsmooth_frames = 0\n", "1 to 4096" },
        { "[output.y]\npatience_frames = 4097\n", "1 to 4096" },
        { "[output.y]\nrule2_ms = 86400001\n", "0 to 86400000" },
        { "[output.y]\nthreshold = 0\n", "more than 0 and at most 1" },
        { "[output.y]\nrelease = 0.0\n", "more than 0 and at most 1" },
        { "[output.y]\nstability = 1.01\n", "0 to 1" },
        { "[output.y]\nconfidence = -0.01\n", "0 to 1" },
        { "[weights.a.onnx]\nsha256 = 12\n", "[weights.a.onnx] sha256: '12'" },
        { "[weights.a.onnx]\narchive = a.tar\n",
          "[weights.a.onnx] archive: there is no section [archive.a.tar]" },
        { "[archive.a.tar]\nbytes = 1\n[weights.a.onnx]\narchive = a.tar\nurl = https://a\n",
          "[weights.a.onnx] has both a url and an archive" },
        { "[archive.b/a.tar]\nbytes = 1\n",
          "[archive.b/a.tar]: the name of a file beside graph.nnef, without slashes" },
        { "[archive...]\nbytes = 1\n", "[archive...]: the name of a file" },
        { "[weights.../evil]\nbytes = 1\n", "[weights.../evil]: the name of a file" },
        { "[weights.graph.nnef]\nbytes = 1\n", "[weights.graph.nnef]: the name of a file" },
        { "[weights./etc/evil]\nurl = https://a\n", "[weights./etc/evil]: the name of a file" },
        { "[weights...]\nbytes = 1\n", "[weights...]: the name of a file" },
        { "[weights..]\nbytes = 1\n", "[weights..]: the name of a file" },
        { "[output.y]\nlate_frames = -1\n", "late_frames: '-1'" },
        { "[options]\ngain = loud\n", "[options] gain: 'loud' is no number and not true or false" },
        { "[options]\ngain = 1.0\n", "[options] gain: the graph has no such option" },
        { "[options]\ngain = 0x10\n", "[options] gain: '0x10' is no number and not true or false" },
        { "[options]\ngain = inf\n", "[options] gain: 'inf' is no number" },
        { "[vad]\nthreshold = 0x1p-1\n", "[vad] threshold: '0x1p-1' is not a value" },
        { "[output.y]\nblank_penalty = 0x10\n", "blank_penalty: '0x10' is not a value" },
        { "[output.y]\nlm_scale = nan\n", "lm_scale: 'nan' is not a value" },
        { "[output.z]\nkind = audio\n", "the graph has no output 'z'" },
        { "[input.]\nkind = audio\n", "unknown key 'kind' in section [input.]" },
        { "nonsense\n", "model.conf:1: expected [section] or key = value" },
    };
    text_write("conf", "graph.nnef", HEAD "copy(x);\n}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_write("conf", "model.conf", cases[i].text);
        refused(cases[i].text, test_path("conf", ""), RILL_MALFORMED, cases[i].words);
    }
    text_write(
        "conf", "model.conf",
        "[model]\nlicence = MIT\nsample_rate = 8000\noverload = shed\n[vad]\nrelease = 0.25\n");
    rill_model *m = NULL;
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_error err = { .text = "" };
    CHECK(rill_model_open(&m, test_path("conf", ""), &err) == RILL_OK, "%s", err.text);
    if (!m)
        return;
    rill_model_get_info(m, &info);
    CHECK(!strcmp(info.licence, "MIT") && !strcmp(info.summary, "") && info.sample_rate == 8000,
          "values of model.conf");
    CHECK(info.vad_release == 0.25f && info.vad_threshold == 0.5f && info.vad_hangover_ms == 100 &&
              info.overload == RILL_OVERLOAD_SHED,
          "defaults of the rest");
    CHECK(info.sha256[0] | info.sha256[1] | info.sha256[31], "digest");
    rill_model_free(m);
}

/* The later value would be taken silently. */
static void test_conf_twice(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "[options]\ngain = 1\ngain = 2\n", "model.conf:3: [options] gain: given twice" },
        { "[options]\ngain = 1\n[vad]\nrelease = 0.2\n[options]\ngain = 1\n",
          "model.conf:6: [options] gain: given twice" },
        { "[vad]\nrelease = 0.2\nrelease = 0.3\n", "model.conf:3: [vad] release: given twice" },
        { "[output.y]\nbeam = 2\n[output.y]\nbeam = 3\n", "[output.y] beam: given twice" },
        { "[weights.a]\nbytes = 2\n[weights.b]\nbytes = 2\nbytes = 3\n",
          "model.conf:5: [weights.b] bytes: given twice" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_write("conf", "model.conf", rows[i].text);
        refused(rows[i].text, test_path("conf", ""), RILL_MALFORMED, rows[i].words);
    }
}

/* Bytes that would make lines, or what follows them, vanish or change the line before them. */
static void test_conf_hidden(void)
{
    static const struct {
        const char *text;
        size_t n;
        const char *words;
    } rows[] = {
/* clang-format off */
#define ROW(text, words) { text, sizeof text - 1, words }
        /* clang-format on */
        ROW("[model]\n\0colour = red\n", "model.conf:2: the line holds a byte of value 0"),
        ROW("[model]\nlicence = MIT\0 garbage", "model.conf:2: the line holds a byte of value 0"),
        ROW("[model]\n# \0\n[vad]\nthreshold = 2\n", "model.conf:2: the line holds a byte"),
        ROW("[model]\nsummary = a\033[2Jb\n", "model.conf:2: the line holds a control byte"),
        ROW("[model]\nsummary = a\177\n", "model.conf:2: the line holds a control byte"),
        ROW("[model] colour = red\n", "model.conf:1: after ]"),
        ROW("[model]\rcolour = red\r", "model.conf:1: a carriage return"),
        ROW("# comment\r[model]\rcolour = red\r", "model.conf:1: a carriage return"),
        ROW("[model]\nlicence = MIT\n  colour = red\n", "model.conf:3: unknown key 'colour'"),
        ROW("[model]\nlicence = MIT\n  ISC\n", "model.conf:3: expected [section]"),
        ROW("[output.a234567890123456789012345678901234567890123]\nkind = audio\n",
            "model.conf:1: the name of a section is longer than 49 bytes"),
#undef ROW
    };
    char text[512];
    text_write("conf", "graph.nnef", HEAD "copy(x);\n}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        file_write(test_path("conf", "model.conf"), rows[i].text, rows[i].n);
        refused(rows[i].text, test_path("conf", ""), RILL_MALFORMED, rows[i].words);
    }
    snprintf(text, sizeof text, "[model]\n# %0197d\n", 1); /* 199 */
    text_write("conf", "model.conf", text);
    refused(text, test_path("conf", ""), RILL_MALFORMED,
            "model.conf:2: the line is longer than 198 bytes");
    snprintf(text, sizeof text, "[model] ; one\r\n  # %0194d\r\n  licence = MIT\r\n[vad] # two", 1);
    text_write("conf", "model.conf", text);
    rill_model *m = NULL;
    rill_model_info info = { .struct_bytes = sizeof info, .licence = "" };
    rill_error err = { .text = "" };
    CHECK(rill_model_open(&m, test_path("conf", ""), &err) == RILL_OK, "%s", err.text);
    if (m)
        rill_model_get_info(m, &info);
    CHECK(!strcmp(info.licence, "MIT"), "licence '%s'", info.licence);
    rill_model_free(m);
}

/* Numbers of [options] that the text does not take. */
static void test_options(void)
{
    static const struct {
        const char *value, *words; /* words: NULL where it is taken */
    } rows[] = {
        { "0", NULL },
        { "12.5", NULL },
        { "-0.5", "model.conf: [options] gain_db: -0.5, expected at least 0" },
        { "-1e9", "model.conf: [options] gain_db: -1e+09, expected at least 0" },
        { "true", "model.conf: [options] gain_db: expected a number" },
    };
    char text[128];
    text_write("conf", "graph.nnef", HEAD "x * rill_option(\"gain_db\", 1.0, least = 0.0);\n}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rill_error err = { .text = "" };
        rill_model *m = NULL;
        snprintf(text, sizeof text, "[options]\ngain_db = %s\n", rows[i].value);
        text_write("conf", "model.conf", text);
        if (rows[i].words)
            refused(rows[i].value, test_path("conf", ""), RILL_MALFORMED, rows[i].words);
        else
            CHECK(rill_model_open(&m, test_path("conf", ""), &err) == RILL_OK, "%s: %s",
                  rows[i].value, err.text);
        rill_model_free(m);
    }
    text_write("conf", "graph.nnef", HEAD "x * rill_option(\"gain_db\", -1.0, least = 0.0);\n}");
    text_write("conf", "model.conf", "[model]\ntask = denoise\n");
    refused("default", test_path("conf", ""), RILL_MALFORMED,
            "'rill_option': gain_db: -1, expected at least 0");
}

/* ---- state pairs of networks ---- */

#define GTCRN                                                                                      \
    "version 1.0;\ngraph g(x) -> (y) {\n    x = external<scalar>(shape = [S]);\n"                  \
    "    y = rill_onnx_scan(rill_frame(x, 514, 257), file = \"gtcrn_simple.onnx\", "

static void test_pairs(void)
{
    static const struct {
        const char *args, *words;
    } cases[] = {
        { "input = [mix], output = [enh], state = [(conv_cache, tra_cache_out), (tra_cache, "
          "conv_cache_out), "
          "(inter_cache, inter_cache_out)]);}",
          "state ('conv_cache', 'tra_cache_out'): 'conv_cache' is f32[2,1,16,16,33] but "
          "'tra_cache_out' is "
          "f32[2,3,1,1,16]" },
        { "input = [mix], output = [enh], state = [(nothing, tra_cache_out)]);}",
          "there is no input 'nothing', wanted by state ('nothing', 'tra_cache_out'); there is: "
          "mix, "
          "conv_cache" },
        { "input = [mix], output = [enh], state = [(conv_cache, nothing)]);}",
          "there is no output 'nothing', wanted by state ('conv_cache', 'nothing'); there is: "
          "enh" },
        { "input = [mix], output = [enh], state = [(conv_cache, conv_cache_out)]);}",
          "input 'tra_cache' is left over: name it in input, state or const" },
        { "input = [mix], output = [enh], state = [(mix, enh)]);}", "input 'mix' is given twice" },
        { "input = [conv_cache], output = [enh]);}",
          "do not fit input 'conv_cache', which is f32[2,1,16,16,33]" },
        { "input = [mix], output = [loud]);}", "there is no output 'loud'; there is: enh" },
        { "input = [mix, conv_cache], output = [enh]);}", "1 tensors for 2 inputs" },
        { "input = [mix], output = [enh], state = [(conv_cache, conv_cache_out, 1.0)]);}",
          "'conv_cache' is f32[2,1,16,16,33] but its first value is f32[]" },
        { "input = [mix], output = [enh], state = [conv_cache]);}", "expected a tuple of 2 or 3" },
    };
    const char *weights = shared_path("models/gtcrn/gtcrn_simple.onnx");
    if (!weights) {
        check_skipped++;
        return;
    }
    mkdir(test_path("pairs", ""), 0700);
    copy_into("pairs", "gtcrn_simple.onnx", weights);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, GTCRN "%s", cases[i].args);
        text_write("pairs", "graph.nnef", text);
        refused(cases[i].args, test_path("pairs", ""), RILL_MALFORMED, cases[i].words);
    }
}

/* ---- bare files ---- */

static void test_bare(void)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    file_write(test_path("noise.onnx", ""), "\xff\x00 not a network", 16);
    refused("noise", test_path("noise.onnx", ""), RILL_MALFORMED, "noise.onnx");
    text_write("bare", "mine.nnef", HEAD "rill_frame(x, 4, 4);\n}");
    CHECK(rill_model_open(&m, test_path("bare", "mine.nnef"), &err) == RILL_OK, "%s", err.text);
    CHECK(m && m->stream && !strcmp(m->info.name, "mine.nnef") &&
              m->outputs[0].kind == RILL_PORT_TENSOR,
          "a bare text");
    rill_model_free(m);
    m = NULL;
    const char *net = shared_path("models/gtcrn/gtcrn_simple.onnx");
    if (!net) {
        check_skipped++;
        return;
    }
    CHECK(rill_model_open(&m, net, &err) == RILL_OK, "%s", err.text);
    CHECK(m && !m->stream && m->decluttered.g.n_inputs == 4 && m->info.sample_rate == 0,
          "a bare network of fixed shapes");
    rill_model_free(m);
}

/* ---- who is named ---- */

static unsigned times_in(const char *text, const char *what)
{
    unsigned n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

/* Whatever is wrong with it: the file comes first, once, under the name it is shown as. A text that
 * is a model by itself is not named again in front of the line. */
static void named(const char *path, bool is_builtin, bool copies, const char *words)
{
    const char *own = strrchr(path, '/');
    const char *const names[] = { NULL, "/the/model" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const rill_model_opts opts = {
            .struct_bytes = sizeof opts, .builtin = is_builtin, .copy = copies, .shown_as = names[i]
        };
        rill_error err = { .text = "" };
        rill_model *m = NULL;
        char begin[4200];
        rill_status s = rill_model_open_with(&m, path, &opts, &err);
        snprintf(begin, sizeof begin, "%s%s%s", is_builtin ? "built-in " : "",
                 names[i] ? names[i] : path, strchr(": ", *words) ? words : ": ");
        CHECK(s != RILL_OK && !strncmp(err.text, begin, strlen(begin)) &&
                  times_in(err.text, path) == !names[i] && strstr(err.text, words) &&
                  times_in(err.text, own ? own + 1 : path) == !names[i],
              "%s shown as %s: '%s', without '%s'", path, names[i] ? names[i] : "it is", err.text,
              words);
        rill_model_free(m);
    }
}

static void test_named(void)
{
    text_write("n.conf", "graph.nnef", HEAD "rill_frame(x, 4, 4);\n}");
    text_write("n.conf", "model.conf", "nonsense\n");
    text_write("n.port", "graph.nnef", HEAD "rill_frame(x, 4, 4);\n}");
    text_write("n.port", "model.conf", "[output.loud]\nkind = audio\n");
    text_write("n.net", "graph.nnef", HEAD "rill_onnx(x, file = \"net.onnx\");\n}");
    text_write("n.net", "net.onnx", "no network");
    text_write("n.lacks", "graph.nnef", HEAD "rill_onnx(x, file = \"net.onnx\");\n}");
    text_write("n.bare", "mine.nnef", HEAD "nothing(x);\n}");
    text_write("n.bare", "far.nnef", HEAD "rill_onnx(x, file = \"gone.onnx\");\n}");
    text_write("n.bare", "long.nnef", "");
    CHECK(!truncate(test_path("n.bare", "long.nnef"), (4 << 20) + 1), "truncate");
    text_write("n.bare", "net.onnx", "no network");
    text_write("n.bare", "cut.rill", "RILL");
    named(test_path("n.none", ""), false, false, "No such file");
    named(test_path("n.conf", ""), false, false, "model.conf:1: expected [section]");
    named(test_path("n.port", ""), false, false, "model.conf: the graph has no output 'loud'");
    named(test_path("n.net", ""), false, false, "graph.nnef:4:9: net.onnx: byte 1: ");
    named(test_path("n.lacks", ""), false, true, "graph.nnef:4:9: net.onnx: No such file");
    named(test_path("n.bare", "mine.nnef"), false, false, ":4:9: unknown operator 'nothing'");
    named(test_path("n.bare", "far.nnef"), false, false, ":4:9: gone.onnx: No such file");
    named(test_path("n.bare", "long.nnef"), false, false, " has 4194305 bytes, the limit is");
    named(test_path("n.bare", "net.onnx"), false, false, "no ONNX file");
    named(test_path("n.bare", "cut.rill"), false, false, "it is too short");
    named(test_path("n.bare", "cut.rill"), false, true, "it is too short");
    named("nobody", true, false, "there is none of that name; there are ");
}

/* What people have of other programs is told by its format. */
static void test_others(void)
{
    static const struct {
        const char *file, *begins, *words;
        size_t n;
    } files[] = {
        { "ggml-base.en.bin", "lmgg\x87\x51", "a model of ggml, as of whisper.cpp; networks", 6 },
        { "small.gguf", "GGUF\3\0", "a model of ggml (GGUF); networks are read as ONNX", 6 },
        { "encoder.ort", "\x18\0\0\0ORTM", "a model of ONNX Runtime's own form (.ort)", 8 },
        { "final.mdl", "\0B<TransitionModel> ", "a file of Kaldi, as of vosk", 20 },
        { "jit.pt", "PK\3\4\0\0", "a zip archive, as PyTorch's .pt", 6 },
        { "old.pt", "\x80\2\x8a\n", "a pickle of Python's", 4 },
        { "keras.h5", "\x89HDF\r\n", "an HDF5 file, as Keras' .h5 is", 6 },
        { "model.safetensors", "\x40\0\0\0\0\0\0\0{\"__", "a .safetensors file, which has no", 12 },
        { "cut.onnx", "lmg", "the file is damaged or no ONNX file", 3 },
    };
    mkdir(test_path("others", ""), 0700);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        file_write(test_path("others", files[i].file), files[i].begins, files[i].n);
        refused(files[i].file, test_path("others", files[i].file),
                i + 1 < sizeof files / sizeof *files ? RILL_UNSUPPORTED : RILL_MALFORMED,
                files[i].words);
    }
}

int main(void)
{
    test_root_make();
    test_others();
    test_named();
    refused("no folder", test_path("nowhere", ""), RILL_IO, "No such file");
    mkdir(test_path("hollow", ""), 0700);
    refused(
        "no graph", test_path("hollow", ""), RILL_IO,
        "graph.nnef: No such file or directory; a model's folder has one, or is a recogniser's");
    test_paths();
    test_conf_no_file();
    test_dat_bad();
    test_dat_good();
    test_conf();
    test_conf_twice();
    test_conf_hidden();
    test_options();
    test_pairs();
    test_bare();
    test_root_drop();
    return check_done();
}
