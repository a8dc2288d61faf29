/* SPDX-License-Identifier: MIT */
/* Any bytes on the daemon's socket, in any pieces, before and after Hello: it answers with frames,
 * and closes. */
#include "tests/fuzz/daemon_inside.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* Preface, and Hello with req 1. */
    static const uint8_t hello[] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0, 4, 0, 0, 0, 8, 1, 0x12, 0 };
    struct bytes_in b = { data, data + n };
    uint8_t how = take_u8(&b);
    size_t piece = take_u8(&b);
    int fd = inside_connect();
    bool open = how % 4 == 0 || inside_send(fd, hello, how % 4 == 1 ? 8 : sizeof hello);
    while (open && b.at < b.end) {
        size_t left = (size_t) (b.end - b.at),
               m = piece ? 1 + (piece * 7 + left) % (piece + 1) : left;
        m = m < left ? m : left;
        open = inside_send(fd, b.at, m);
        b.at += m;
    }
    inside_close(fd);
    return 0;
}
