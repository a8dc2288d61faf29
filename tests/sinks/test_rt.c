/* SPDX-License-Identifier: MIT */
/* push, next, cut, finish and reset of every kind of sink allocate nothing, lock nothing and write nothing. */
#include "tests/rt/guard.h"
#include "tests/sinks/sinks_test.h"

static const rill_sink_opts sinks[] = {
    { .kind = RILL_PORT_CTC, .words = "<blk>,a,b,c", .beam = 1, .rule2_ms = 300, .max_tokens = 8 },
    { .kind = RILL_PORT_CTC, .words = "<blk>,\xe2\x96\x81" "a,b,c", .beam = 8, .rule1_ms = 200, .rule3_ms = 900, .max_tokens = 8 },
    { .kind = RILL_PORT_CTC, .words = "<blk>,a,b,c", .beam = 64, .scores = RILL_SCORES_LOGITS, .stability = 0.5f },
    { .kind = RILL_PORT_KEYWORD, .words = "no,a,b,c", .smooth_frames = 5, .patience_frames = 2, .debounce_ms = 100 },
    { .kind = RILL_PORT_VAD, .hangover_ms = 50, .rule1_ms = 200, .rule2_ms = 100, .rule3_ms = 500 },
};

int main(void)
{
    static float x[1000 * 4];
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        uint32_t width = sinks[i].kind == RILL_PORT_VAD ? 1 : 4;
        rill_sink *s = test_sink(&sinks[i], width, 160);
        unsigned n_events = 0;
        rill_event v;
        for (size_t k = 0; k < 1000 * width; k++)
            x[k] = sinks[i].kind == RILL_PORT_CTC ? -6 * test_unit() : test_unit();
        guard_enter();
        for (int round = 0; round < 2; round++) {
            for (size_t at = 0, took; at < 1000; at += took) {
                rill_sink_push(s, x + at * width, 1000 - at, &took);
                while (rill_sink_next(s, &v) == RILL_OK)
                    n_events++;
                if (at % 7 == 0)
                    rill_sink_cut(s);
            }
            rill_sink_finish(s);
            rill_sink_reset(s, 5);
        }
        unsigned hits = guard_leave();
        CHECK(!hits && n_events > 3, "sink %zu: %u calls, %u events", i, hits, n_events);
        rill_sink_free(s);
    }
    return check_done();
}
