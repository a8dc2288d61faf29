/* SPDX-License-Identifier: MIT */
/* Whom the loop works for, at costs of our own: no user has more than a slice of a turn, nor all
 * together; while live streams run nobody has more than a share of a tick. */
#include "daemon/base/slices.h"
#include "daemon/net/wire.h"
#include "rilld.pb-c.h"
#include "tests/daemon/harness.h"

/* Pieces of work of 10 us each for users 1 to n, as long as they are let, until none is. */
static unsigned turn(struct slices *t, unsigned n, unsigned done[])
{
    unsigned all = 0, idle = 0;
    slices_next_iteration(t);
    for (unsigned u = 0; idle < n; u = (u + 1) % n) {
        if (slices_when(t, u + 1) != SLICE_NOW) {
            idle++;
            continue;
        }
        idle = 0;
        slices_charge(t, u + 1, 10);
        done[u]++;
        all++;
    }
    return all;
}

static void test_turn(void)
{
    static struct slices t;
    unsigned one[1] = { 0 }, ten[10] = { 0 };
    slices_tick(&t, false);
    CHECK(turn(&t, 1, one) * 10 == SLICE_US);
    CHECK(slices_when(&t, 1) == SLICE_NEXT_ITERATION && slices_when(&t, 2) == SLICE_NOW);
    CHECK(turn(&t, 10, ten) * 10 == SLICE_ALL_US && ten[0] == ten[9]);
    for (unsigned k = 0; k < 1000; k++)
        turn(&t, 1, one);
    CHECK(one[0] == 1001 * SLICE_US / 10, "no live stream: all that there is");
}

static void test_tick(void)
{
    static struct slices t;
    unsigned one[1] = { 0 }, ten[10] = { 0 };
    for (unsigned tick = 1; tick <= 3; tick++) {
        slices_tick(&t, true);
        for (unsigned k = 0; k < 1000; k++)
            turn(&t, 1, one);
        CHECK(one[0] * 10 == tick * TICK_USER_US && slices_when(&t, 1) == SLICE_NEXT_TICK);
        CHECK(slices_when(&t, 2) != SLICE_NEXT_TICK, "another user's is his own");
    }
    slices_tick(&t, true);
    for (unsigned k = 0; k < 1000; k++)
        turn(&t, 10, ten);
    unsigned sum = 0;
    for (unsigned u = 0; u < 10; u++)
        sum += ten[u];
    CHECK(sum * 10 == TICK_ALL_US && ten[0] == ten[9], "%u of the first, %u of the last", ten[0],
          ten[9]);
}

/* More users than are told apart share the last place. */
static void test_users(void)
{
    static struct slices t;
    slices_tick(&t, true);
    slices_next_iteration(&t);
    for (uint32_t u = 0; u < 10000; u++)
        slices_charge(&t, u, 1);
    CHECK(slices_when(&t, 5) == SLICE_NEXT_ITERATION &&
          slices_when(&t, 99999) == SLICE_NEXT_ITERATION);
    slices_next_iteration(&t);
    CHECK(slices_when(&t, 5) == SLICE_NOW);
}

static uint32_t stream_of(uint32_t req, uint32_t stream, bool audio)
{
    static uint8_t bytes[256];
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;
    Rill__Audio a = RILL__AUDIO__INIT;
    Rill__Reset x = RILL__RESET__INIT;
    a.stream = x.stream = stream;
    a.seq = 7;
    f.req = req;
    f.m_case = audio ? RILL__CLIENT_FRAME__M_AUDIO : RILL__CLIENT_FRAME__M_RESET;
    if (audio)
        f.audio = &a;
    else
        f.reset = &x;
    size_t n = rill__client_frame__pack(&f, bytes);
    for (size_t k = 0; k < n; k++)
        wire_audio_stream(bytes, k); /* cut anywhere */
    return wire_audio_stream(bytes, n);
}

static void test_wire(void)
{
    CHECK(stream_of(0, 5, true) == 5 && stream_of(300, 70000, true) == 70000);
    CHECK(stream_of(0, 5, false) == 0 && stream_of(1, 5, false) == 0);
    CHECK(wire_audio_stream((const uint8_t *) "", 0) == 0);
}

int main(void)
{
    test_turn();
    test_tick();
    test_users();
    test_wire();
    return check_end();
}
