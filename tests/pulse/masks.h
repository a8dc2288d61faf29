/* SPDX-License-Identifier: MIT */
/* masks.h - attention as people write it: masks of positions in their idioms, biases of positions,
 * spellings of the products, masks of data beside them. */
#ifndef TESTS_PULSE_MASKS_H
#define TESTS_PULSE_MASKS_H
#include "tests/pulse/graph_build.h"

struct written {
    const char *name;
    enum {
        BAND,
        FLOOR,
        FAR_NEGATIVE,
        INT32,
        SLICED,
        EVERY_SECOND,
        DESCENDING,
        CLIPPED,
        PICKED,
        TRIANGLES,
        DIFFERENCE, /* of two triangles */
        CUT,        /* chunks by quotients cut as exporters write it */
        ENDED,      /* chunks that end where the sequence does */
        CHUNKS,
        CHUNKS_LONG,   /* of 17, and the two before */
        CHUNKS_BEHIND, /* that, up to the query's own frame */
        BEFORE,
        EVEN,
        ODD,
        ONCE_FAR, /* also 5000 frames before */
        EVERY_3000,
        TWO_REMAINDERS, /* of 50 and of 49 */
        WIDE,
        ROUNDED,
        FAR_PRODUCTS,
        BYTES, /* positions in i8, groups of 4 in u8, positions in i16 */
        BYTES_OF_CHUNKS,
        SHORTS,
        BYTES_CLIPPED,
        BYTES_OF_TRUTH, /* 1 - mask in u8 */
        REMAINDERS_I8,
        PRODUCTS_I32,
        LENGTHS_OF_128,
        LENGTHS_EVEN,
        SINKS,            /* the first frames beside those of a window */
        SINK_CHUNK,       /* the first frame, and chunks */
        SINKS_AHEAD,      /* the first frames, also those behind the query */
        SINKS_FAR,        /* the first frames, whose queries also see a frame 2100 behind */
        SINKS_SLOPE,      /* and those that see the frame of 5000 times their place */
        SINKS_WHILE,      /* the first frames, up to 20 before the query */
        SINK_CHUNK_WHILE, /* the first frame and chunks, up to 4 before the query */
        SINKS_EARLY,      /* a band, of which the first queries alone see more */
        SELF_EARLY,       /* the first eight queries see themselves alone */
        SINKS_ROUND,      /* and one that sees each 100th frame from 683 times its place on */
        ROOT_3000,        /* (j - i)^2 is 3000 (j - i) */
        SQUARES,          /* (i - j)^2 is at most 9 */
        SQUARES_F32,      /* the same in f32 */
        SQUARES_BETWEEN,  /* they are below 9.5 */
        SQUARES_APART,    /* i^2 - 2ij + j^2, in f32 */
        HALF_BOUND,       /* i - j is from -0.5 to 3.3, in f32 */
        HALVES,           /* i / 2 - j / 2 is from 0 to 1.6, in f32 */
        PRODUCTS,         /* i * 1.5 / -0.75 - j * -2 is from -6 to 0, in f32 */
        TENTHS,           /* a band, and i * 0.1 - j * 0.1 is up to 0.3, in f32 */
        QUOTIENTS,        /* a band, and i / 1.5 is at least j / 1.5, in f32 */
        SECONDS,          /* i * 0.01 - j * 0.01 is from -0.015 to 0.045, in f32 */
        THIRDS,           /* i / 3 - j / 3 is from -0.5 to 1.2, in f32 */
        ROUNDS,           /* i / 4 and j / 4, rounded, are the same or one apart, in f32 */
        ROOTS,            /* the root of (i - j)^2 is up to 3, in f32 */
        RECTIFIED,        /* neither is 4 frames or more before the other, by Relu, in f32 */
        INFINITE,         /* what -inf above and below two diagonals leaves */
        SHIFTED,          /* i and j shifted by 2 bits are the same, where i is not below 0 */
        ONES_SUMMED,      /* sums of ones in f32 are up to 3 apart */
        OUTER,            /* outer products of frames and ones are up to 3 apart, in f32 */
        TWICE,            /* two bands summed as f32 are more than 1.5 */
        DIAGONAL,         /* 3 to 6 frames before, and the frame itself by EyeLike */
        HELD,             /* i - j is what it is when it is clipped to 0..3 */
        HELD_BETWEEN,     /* j is what it is between i - 3 and i */
        TABLE_BAND,       /* cut out of a constant */
        TABLE_CHUNKS,     /* of 3, and the chunk before, cut out of one */
        TABLE_ALMOST,     /* that, but for one element */
        NUMBERS,          /* of chunks, in a constant */
        NUMBERS_WRAPPED,  /* the same from the largest of 64 bits on, which is followed by the least
                           */
        REPEATED,         /* numbers of chunks, each repeated, cut to the length */
        ALL
    } mask;
    enum {
        WHERE,
        ADD,
        LOGGED, /* the logarithm of the mask, added */
        INVERTED,
        SELECT,
        ZEROED,
        LEAST,
        INVERTED_LEAST, /* (1 - mask) * the least f32 */
        NAN_BEHIND,
        AFTER_SOFTMAX,
        BY_HAND,
        LINEAR,
        LINEAR_COUNTED,
        LOW_AGAIN,
        MEANS,
        TIMES,         /* times the mask, and 1e4 taken away where it hides */
        DIVIDED,       /* -1000, then over 8 and again over 8 */
        DIVIDED_ONCE,  /* -1e4 over 8 */
        UNDONE,        /* 1e9 where hidden is taken away, and added again */
        NUMBERED,      /* + (1 - a number of data) * -1e9 */
        LOGARITHM,     /* + log of a number of data */
        HALVED,        /* truth of what is hidden, as an integer over 2 */
        OVER_KEYS,     /* weights over a number of each key */
        EXP_OVERFLOWS, /* exp(60 * scores) times the mask */
        LONG           /* behind 30000 nodes */
    } laid;
    enum {
        PLAIN,
        SLOPES,
        TABLE,
        TABLE_SHORT,  /* of distances up to 32, not clipped */
        TABLE_TIGHT,  /* up to 4, turned */
        TABLE_PICKED, /* the same, a table for each query */
        TABLE_SINGLE, /* of distance 0 alone */
        TABLE_BEHIND, /* of distances from 6 to 14 alone */
        LOGS,
        ALONG_KEYS,
        ALONG_QUERIES,
        CONTENT,
        THROUGH_MANY,
        KEYS_UP,
        /* by the place of the key */ KEYS_DOWN,
        /* by the square of the distance */ SQUARE,
        SQUARE_FAR, /* of that to 100 keys before */
        RISING,     /* by how far behind the query the key is */
        RISING_FAST
    } bias;
    enum { MATMUL, EINSUM, EINSUM_KEYS_FIRST, EINSUM_TURNED, HEADS } product;
    /* FIRST: and, behind that, the first two queries see themselves alone; HIDING: of what is
     * hidden */
    enum {
        NO_PAD,
        PAD_KEYS,
        PAD_BOTH,
        PAD_SPREAD,
        PAD_TILED,
        PAD_ALL,
        PAD_FIRST,
        PAD_FIRST_ENDED, /* all but the last two queries, for frames of data */
        PAD_FIRST_LONG,  /* behind 30000 Ands of what each has twice */
        PAD_FIRST_HIDING
    } pad;
    /* queries by a table of distances: sinusoids computed, rows of a constant, heads, scaled before
     * the shift, shifted as by Transformer-XL's first form, where the table has as many rows as
     * frames, from a column on that is another behind 400 frames, gathered by distances, by those
     * clipped to 20, and by those behind 60000 nodes, and the last rows of a constant */
    enum {
        NO_SHIFT,
        SINUSOIDS,
        ROWS,
        SCALED,
        SHORT,
        CONCATENATED,
        TURNS_LATE,
        GATHERED,
        NEAREST,
        GATHERED_LONG,
        LAST_ROWS
    } shift;
    const char *refused; /* words; NULL: it streams */
};

/* Of x, [1, T, width]; so is what comes out. */
uint32_t masked_attention(struct gb *b, uint32_t x, int width, const struct written *t);
#endif
