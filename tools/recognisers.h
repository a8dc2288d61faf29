/* SPDX-License-Identifier: MIT */
/* recognisers.h - says which recognisers there are, to who named none. */
#ifndef TOOLS_RECOGNISERS_H
#define TOOLS_RECOGNISERS_H
#include "tools/hear.h"

#include <stdio.h>

/* The recogniser that is taken, with the words that it knows if they are few, and all that are at
 * hand. */
void recognisers_name(FILE *to, const struct hear *taken);
#endif
