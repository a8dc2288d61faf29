/* SPDX-License-Identifier: MIT */
/* isa_name.h - names of the functions of a set: FN(name) is name_<ISA>. */
#ifndef KERN_ISA_NAME_H
#define KERN_ISA_NAME_H
#define FN3(name, isa) name##_##isa
#define FN2(name, isa) FN3(name, isa)
#define FN(name) FN2(name, ISA)
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#endif
