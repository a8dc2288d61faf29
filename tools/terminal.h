/* SPDX-License-Identifier: MIT */
/* terminal.h - how large the terminal is, and what of a text fits into one line of it. */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

/* Of standard output; what it does not say is $COLUMNS and $LINES, else 80 and 24. NULL: not
 * wanted. */
void terminal_size(unsigned *ret_columns, unsigned *ret_lines);

/* The newest end of UTF-8 that takes at most so many columns, cut between characters. */
const char *terminal_tail(const char *text, unsigned columns);
#endif
