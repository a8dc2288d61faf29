/* SPDX-License-Identifier: MIT */
/* attr.h - attributes of a node as they are initialised: struct attr a = ONE_INT("axis", -1); */
#ifndef TESTS_ATTR_H
#define TESTS_ATTR_H
/* clang-format off */
#define ONE_INT(what, value) { .name = (what), .kind = ATTR_INT, .i = (value) }
#define ONE_FLOAT(what, value) { .name = (what), .kind = ATTR_FLOAT, .f = (value) }
#define ONE_TEXT(what, value) { .name = (what), .kind = ATTR_STRINGS, .strings = { 1, (const char *const[]) { value } } }
#define INTS_OF(what, count, values) { .name = (what), .kind = ATTR_INTS, .ints = { (count), (values) } }
/* clang-format on */
#endif
