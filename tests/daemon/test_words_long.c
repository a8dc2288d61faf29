/* SPDX-License-Identifier: MIT */
/* Texts over the socket that are longer than what goes at once, of a model that reads what it is
 * told (tests/sinks/tones.h). */
#include "tests/daemon/meter.h"
#include "tests/sinks/tones.h"

#include <unistd.h>

static struct rig rig;

static const struct rill_client_open plain = OPEN(FILE, 8000, 1, F32, .align = true);

/* What a long utterance came to: a word every 160 samples. */
struct long_text {
    char text[262144], bare[65536];
    uint64_t words;
    unsigned n_finals, n_bad, n_bare;
};

struct long_case {
    const char *model;
    unsigned said;
    int digits;
    unsigned n_finals_min;
};

/* Words beside the text that they make, each in its place. */
static void long_words(struct long_text *h, const struct rill_client_text *t)
{
    const char *at = t->text;
    for (size_t i = 0; i < t->n_words; i++, h->words++) {
        size_t n = strlen(t->words[i].text);
        h->n_bad += strncmp(at, t->words[i].text, n) || (at[n] && at[n] != ' ') ||
            t->words[i].pos != h->words * 160 || t->words[i].end_pos != h->words * 160 + 80;
        at += n + (at[n] == ' ');
    }
    h->n_bad += t->n_words && (*at || t->pos != t->words[0].pos);
}

static void on_long_text(void *arg, const struct rill_client_text *t)
{
    struct long_text *h = arg;
    size_t n = strlen(t->text), at = strlen(h->text);
    h->n_bad += t->segment != 0;
    if (t->final) {
        h->n_finals++;
        h->n_bad += !t->n_words;
        long_words(h, t);
        if (at + n + 2 < sizeof h->text)
            snprintf(h->text + at, sizeof h->text - at, "%s%s", at ? " " : "", t->text);
    } else if (t->n_words) {
        h->words = 0;
        long_words(h, t);
        h->words = 0;
    } else { /* the end of it, which changes */
        h->n_bare++;
        h->n_bad += n < 2 || !strcmp(h->bare, t->text);
        snprintf(h->bare, sizeof h->bare, "%s", t->text);
    }
}

/* Of a final nothing is left out, however long it is or however many words it has. */
static void test_long_final(const struct long_case *k)
{
    static float x[3000 * TONES_HOP];
    static char said[3001], want[262144];
    static struct long_text h;
    const struct rill_client_events ev = { .arg = &h, .text = on_long_text };
    struct rill_client_open o = plain;
    struct rill_client_finished fin;
    size_t at = 0;
    memset(&h, 0, sizeof h);
    for (unsigned i = 0; i < k->said; i++) {
        memcpy(said + 2 * i, (char[]) { (char) ('1' + i % 7), '.', 0 }, 3);
        at += (size_t) snprintf(want + at, sizeof want - at, "%s%0*d", i ? " " : "", k->digits,
                                i % 7 + 1);
    }
    size_t n = tones_audio(x, said);
    o.model = k->model;
    struct rill_client *c = client_of(rig.sock, "test");
    rill_client_set_events(c, &ev);
    CHECK_OF(c,
             rill_client_open(c, 7, &o, NULL) == 0 &&
                 rill_client_send(c, 7, x, n * sizeof *x) == 0 &&
                 rill_client_finish(c, 7, &fin) == 0);
    CHECK(!strcmp(h.text, want), "%s: %zu bytes of %zu", k->model, strlen(h.text), strlen(want));
    CHECK(h.words == k->said, "%s: %llu words of %u", k->model, (unsigned long long) h.words,
          k->said);
    CHECK(h.n_finals >= k->n_finals_min && !h.n_bad && (!h.n_bare || k->n_finals_min > 1),
          "%s: %u finals, %u bare partials, %u bad", k->model, h.n_finals, h.n_bare, h.n_bad);
    rill_client_free(c);
}

static void long_models_make(const struct long_case *list, size_t n)
{
    static char tokens[65536];
    char path[256];
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t) snprintf(tokens, sizeof tokens, "<blk> 0\n");
        for (int k = 1; k < TONES_WIDTH; k++)
            at += (size_t) snprintf(tokens + at, sizeof tokens - at, "%0*d %d\n", list[i].digits, k,
                                    k);
        snprintf(path, sizeof path, "%s/models/%s", rig.dir, list[i].model);
        CHECK(tones_write(path,
                          "[model]\ntask = asr\nsample_rate = 8000\n[input.pcm]\nkind = audio\n"
                          "[output.logp]\nkind = ctc\ntokens = tokens.txt\nscores = logits\n"
                          "units = words\nbeam = 1\nmax_tokens = 4096\nrule1_ms = 0\nrule2_ms = 0\n"
                          "rule3_ms = 0\n",
                          tokens),
              "%s", path);
    }
}

static void test_long_finals(void)
{
    static const struct long_case cases[] = {
        { "short-short", 400, 1, 1 }, /* few words */
        { "short-many", 1100, 1, 2 }, /* many words of a short text */
        { "long-many", 1400, 60, 2 }, /* more text than goes at once */
    };
    long_models_make(cases, sizeof cases / sizeof *cases);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_long_final(&cases[i]);
}

/* Who takes small frames only gets a long text in pieces, and all of it. */
static void test_small_frames(void)
{
    enum { SAID = 120, MAX_FRAME = 4096 };
    static float x[4 * SAID * TONES_HOP];
    static char said[4 * SAID + 1], want[SAID * 110], got[sizeof want + MAX_FRAME];
    Rill__Hello hello = RILL__HELLO__INIT;
    Rill__ServerFrame *a;
    unsigned pieces = 0, n_words = 0;
    for (int i = 0; i < SAID; i++) {
        memcpy(said + 2 * i, (char[]) { (char) ('1' + i % 7), '.' }, 2);
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s%0100d", i ? " " : "",
                 i % 7 + 1);
    }
    size_t n = tones_audio(x, said);
    struct meter meter;
    meter_start(&meter, rig.sock, "long");
    int fd = raw_connect(rig.sock);
    hello.max_frame = MAX_FRAME;
    CHECK(raw_preface(fd) && raw_say(fd, RILL__CLIENT_FRAME__M_HELLO, &hello, 0), "hello");
    OPEN_FRAME(f, m, 1, "long", 8000, F32LE);
    raw_frame(fd, &f);
    while ((a = raw_answer(fd, 10000)) && a->m_case != RILL__SERVER_FRAME__M_OPENED)
        rill__server_frame__free_unpacked(a, NULL);
    if (!CHECK(a != NULL, "opened"))
        return;
    rill__server_frame__free_unpacked(a, NULL);
    for (size_t at = 0; at < n; at += 800)
        if (!meter_wait(&meter, at + 800) ||
            !raw_audio(fd, 1, (uint32_t) at / 800, at, false, x + at, n - at < 800 ? n - at : 800))
            break;
    raw_finish(fd, 1);
    for (bool end = false; !end && (a = raw_answer(fd, 10000));) {
        end = a->m_case == RILL__SERVER_FRAME__M_FINISHED;
        CHECK(a->m_case != RILL__SERVER_FRAME__M_ERROR, "%s",
              a->m_case == RILL__SERVER_FRAME__M_ERROR ? a->error->text : "");
        for (size_t i = 0, at = 0;
             a->m_case == RILL__SERVER_FRAME__M_TEXT && a->text->final && i < a->text->n_words;
             i++, n_words++, at += 101)
            CHECK(a->text->words[i]->pos == n_words * 160 && strlen(a->text->text) >= at + 100 &&
                      !strncmp(a->text->text + at, a->text->words[i]->text, 101 - 1),
                  "word %u", n_words);
        if (a->m_case == RILL__SERVER_FRAME__M_TEXT && a->text->final)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", pieces++ ? " " : "",
                     a->text->text);
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(pieces >= 3 && !strcmp(got, want) && n_words == SAID,
          "%u pieces, %zu bytes of %zu, %u words", pieces, strlen(got), strlen(want), n_words);
    rill_client_free(meter.c);
    close(fd);
}

/* The model of that: tokens of a hundred digits, and nothing but them. */
static void long_model_make(const char *path)
{
    char tokens[2048] = "<blk> 0\n";
    for (int i = 1; i < TONES_WIDTH; i++)
        snprintf(tokens + strlen(tokens), sizeof tokens - strlen(tokens), "%0100d %d\n", i, i);
    CHECK(tones_write(
              path,
              "[model]\ntask = asr\nsample_rate = 8000\nlicence = MIT\nsummary = "
              "long\n[input.pcm]\nkind = audio\n"
              "[output.logp]\nkind = ctc\ntokens = tokens.txt\nscores = logits\nunits = words\n",
              tokens),
          "the long model");
}

int main(void)
{
    char more[256], path[256];
    if (is_fake())
        return check_end();
    rig_dir(&rig);
    snprintf(path, sizeof path, "%s/models", rig.dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/models/long", rig.dir);
    long_model_make(path);
    snprintf(more, sizeof more, "[models]\nmodel_path = %s/models\n", rig.dir);
    rig_conf(&rig, more);
    char *argv[] = { getenv("RILLD"), (char *) (uintptr_t) "--config", rig.conf, NULL };
    if (!CHECK(rig_spawn(&rig, argv) && rig_wait_ready(&rig), "%s", rig_log(&rig)))
        return check_end();
    test_small_frames();
    test_long_finals();
    CHECK(rig_stop(&rig) == 0, "the daemon ends well");
    return check_end();
}
