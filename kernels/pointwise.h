/* SPDX-License-Identifier: MIT */
/* pointwise.h - the element-wise functions, one list for all who name them.
 *
 * X(NUMBER, name, operands): v_name (map_tmpl.h) computes 16 lanes, name_f32 of struct kern whole
 * tensors, KERN_NUMBER as an instruction of a program (program.h) what the ones before it made, to
 * the same bits. An op of the engine with that number is that function of f32. */
#ifndef KERN_POINTWISE_H
#define KERN_POINTWISE_H

/* clang-format off */
#define KERN_POINTWISE_OPS(X)                                                                      \
    X(ADD, add, 2)                                                                                 \
    X(SUB, sub, 2)                                                                                 \
    X(MUL, mul, 2)                                                                                 \
    X(DIV, div, 2)                                                                                 \
    X(PRELU, prelu, 2) /* a < 0 ? a * b : a */                                                     \
    X(RELU, relu, 1)                                                                               \
    X(SIGMOID, sigmoid, 1)                                                                         \
    X(TANH, tanh, 1)                                                                               \
    X(EXP, exp, 1)                                                                                 \
    X(LOG, log, 1)                                                                                 \
    X(SQRT, sqrt, 1)                                                                               \
    X(ERF, erf, 1)                                                                                 \
    X(ROUND_F16, round_f16, 1) /* to the nearest number of 16 bits, halves to even */              \
    X(ROUND_BF16, round_bf16, 1)                                                                   \
    X(ROUND_S8, round_s8, 2) /* to the nearest whole number of -128 - b .. 127 - b, b in -256..256, \
                                halves to even; NaN to the least; no -0 */ \
    X(ROUND_S16, round_s16, 2) /* the same of -32768 - b .. 32767 - b, b in -65536..65536 */
/* clang-format on */

/* And those that no op is alone. */
#define KERN_POINTWISE(X)                                                                          \
    KERN_POINTWISE_OPS(X)                                                                          \
    X(GATE, gate, 2) /* tanh(a) * sigmoid(b) */
#endif
