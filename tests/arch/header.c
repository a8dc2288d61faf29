/* SPDX-License-Identifier: MIT */
/* The public header alone, as the strictest compiler of a user would see it: C99 and C++11 both
 * take this file. */
#include "rill.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    int passed = 0, failed = 0;
    rill_error err;
    memset(&err, 0, sizeof err);
    err.status = RILL_OK;
    *(err.status == 0 && sizeof err == 512 ? &passed : &failed) += 1;
    *(RILL_INTERNAL > RILL_IO && RILL_AGAIN == 1 ? &passed : &failed) += 1;
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
