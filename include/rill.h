/* SPDX-License-Identifier: MIT */
/* rill.h - open a model, cut it into pulses, push audio through it.
 *
 *   rill_model   what the file says, typed and simplified      immutable, any thread
 *   rill_plan    the model cut for one pulse size, scheduled    immutable, refcounted, any thread
 *   rill_stream  one listener's memory                          mutable, one thread at a time
 *   rill_pool    threads that help run() with large steps        used through plans, by any thread
 *   rill_sink    turns the frames of one output into events     mutable, one thread at a time
 *
 * push() and pull() only copy. run() and run_many() are the only calls that compute; they never
 * allocate, lock, log or make a system call, and neither does any other that is called real-time
 * safe. (Of a plan with a pool they wake its threads, and may wait for one: see rill_pool_new.)
 * Everything else may allocate and belongs to set-up time.
 *
 * A frame is the unit of one port's time axis: one audio sample where width is 1, one vector of
 * `width` elements otherwise. Elements are floats, or what rill_port.type says.
 *
 * Structs begin with their size, which the caller sets to that of the header he was compiled with:
 *     rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = 160 };
 *     rill_model_info info = { .struct_bytes = sizeof info };
 * 0, or a size that no version has, is INVALID. That is how programs and libraries of different age
 * understand each other: docs/api.md, where threads, ownership and errors of each function are in a
 * table. rill_error and rill_word have no size: they never change.
 *
 * What is const may be used by any number of threads at once, anything else by one at a time.
 * Arguments are not NULL unless it says so, and reterr always may be. What a function writes
 * through ret is written only where it returns OK. */
#ifndef RILL_H
#define RILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RILL_API __attribute__((visibility("default")))
#else
#define RILL_API
#endif

typedef struct rill_model rill_model;
typedef struct rill_plan rill_plan;
typedef struct rill_stream rill_stream;
typedef struct rill_pool rill_pool;

/* clang-format off */
#define RILL_STATUS_LIST(X)                                                   \
    X(OK,          "ok")                                                      \
    X(AGAIN,       "needs more input, or has no output yet")                  \
    X(END,         "end of stream")                                           \
    X(INVALID,     "bad argument")                                            \
    X(MALFORMED,   "bytes are not a valid model")                             \
    X(UNSUPPORTED, "valid model, but not one this engine can run")            \
    X(LIMIT,       "over a configured limit")                                 \
    X(NOMEM,       "out of memory")                                           \
    X(IO,          "file or socket error")                                    \
    X(INTERNAL,    "a mistake in rill itself")
/* clang-format on */

typedef enum rill_status {
#define X(name, text) RILL_##name,
    RILL_STATUS_LIST(X)
#undef X
} rill_status;

/* Written by the first function that failed; text says what, where, and what would work.
 * Owned by the caller; may be NULL where one is asked for. */
typedef struct rill_error {
    rill_status status;
    char text[508];
} rill_error;

/* What one element of a port is, little endian. Those of 4 and 2 bits have a byte each; a bool is a
 * byte, 0 or 1. Floats of 16 bits are f32 here: what goes in is rounded to them, what comes out is
 * one of their numbers. */
/* clang-format off */
#define RILL_TYPE_LIST(X)                                                     \
    X(F32, "f32", 4) X(F64, "f64", 8)                                         \
    X(I8, "i8", 1) X(I16, "i16", 2) X(I32, "i32", 4) X(I64, "i64", 8)         \
    X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8)         \
    X(BOOL, "bool", 1)                                                        \
    X(I4, "i4", 1) X(U4, "u4", 1) X(I2, "i2", 1) X(U2, "u2", 1)
/* clang-format on */

typedef enum rill_type {
#define X(name, text, bytes) RILL_TYPE_##name,
    RILL_TYPE_LIST(X)
#undef X
} rill_type;

/* What a port carries, from model.conf; decides what a client does with it. */
typedef enum rill_port_kind {
    RILL_PORT_TENSOR,     /* numbers of no declared meaning */
    RILL_PORT_AUDIO,      /* samples, full scale is +-1.0 */
    RILL_PORT_VAD,        /* one speech probability (0..1) a frame */
    RILL_PORT_KEYWORD,    /* one probability (0..1) per word a frame */
    RILL_PORT_CTC,        /* one score per token a frame, one of them for the blank */
    RILL_PORT_TRANSDUCER, /* what the encoder of a transducer gives */
    RILL_PORT_ATTENTION   /* what the encoder of an attention decoder gives */
} rill_port_kind;

typedef struct rill_port {
    uint32_t struct_bytes;
    const char *name; /* owned by the plan */
    rill_port_kind kind;
    uint32_t is_input; /* 1: push to it, 0: pull from it */
    uint32_t rate_num; /* frames per second = rate_num / rate_den; 0 if not declared */
    uint32_t rate_den;
    uint32_t width;        /* elements per frame */
    uint32_t pulse_frames; /* frames per run(), of an input after the first */
    uint32_t delay_frames; /* output frames that end at or before input sample 0: cut_frames of
                              rill_port_align */
    /* What follows is counted in samples of the input's time axis. Frame k, as it is pulled, stands
     * for sample offset_num / offset_den + k * hop_num / hop_den. rill_port_align says what is to
     * be cut or filled for that; nothing else is to be worked out from these. */
    uint32_t hop_num; /* samples per frame = hop_num / hop_den; 0: it does not run along time */
    uint32_t hop_den;
    uint32_t latency_samples; /* so much later than what it stands for a frame comes, rounded up;
                                 not counted is that samples wait for their pulse to fill */
    int32_t offset_num;       /* sample that frame 0 stands for; negative: before the input */
    uint32_t offset_den;
    rill_type type;         /* of its elements; F32 where kind is not TENSOR */
    uint32_t element_bytes; /* a frame has width * element_bytes bytes */
    uint64_t first_frames;  /* inputs: frames of the first run(), pulse_frames unless model.conf
                               wants it short (first_pulse) */
} rill_port;

#define RILL_RANK_MAX 8

/* The tensor that a port's frames are cut from, as the file has it. */
typedef struct rill_shape {
    uint32_t struct_bytes;
    uint32_t rank;                /* axes of the tensor */
    uint32_t time_axis;           /* of them; rank where the port does not run along time */
    uint32_t dims[RILL_RANK_MAX]; /* elements along each axis of one frame: 1 along time */
} rill_shape;

/* How an output's frames are laid beside its input. */
typedef struct rill_alignment {
    uint32_t struct_bytes;
    uint64_t cut_frames;  /* the first so many end at or before sample 0 */
    uint64_t fill_frames; /* so many are missing in front: silence stands there */
    uint64_t frames;      /* in all, then: what is more is cut off the end, what is less filled */
    uint64_t late_frames; /* instead of all that, for who wants it as late as it is: silence in
                             front, after which frame k stands for k hops less the latency */
} rill_alignment;

/* What becomes of a live stream's audio while there is too little compute for it. */
typedef enum rill_overload {
    RILL_OVERLOAD_AUTO,   /* bypass where there is an output of audio, skip otherwise */
    RILL_OVERLOAD_BYPASS, /* goes past the model, equally late */
    RILL_OVERLOAD_SKIP,   /* is dropped; the model starts afresh after it */
    RILL_OVERLOAD_SHED    /* new streams are refused first; then as skip */
} rill_overload;

/* What model.conf says about a model; strings are owned by the model, "" where absent. */
typedef struct rill_model_info {
    uint32_t struct_bytes;
    uint32_t sample_rate; /* Hz of the audio input, 0 if not declared */
    const char *name, *task, *licence, *summary;
    float vad_threshold;      /* more than 0, at most 1 */
    float vad_release;        /* so, too; below it speech may end */
    uint32_t vad_hangover_ms; /* silence before an end event */
    rill_overload overload;   /* what a live stream does when there is too little compute */
    uint8_t sha256[32];       /* over the weights and graph, in the order they were read */
} rill_model_info;

/* What is 0 is chosen. */
typedef struct rill_plan_opts {
    uint32_t struct_bytes;
    uint32_t pulse_frames; /* input frames per run(); 0 = what a pulse transform said, or one chosen
                              by what it costs a frame, from sizes alone, that lasts at most
                              budget_ms: the smallest the model allows if no longer one is much
                              cheaper, and where the input states no rate */
    uint32_t budget_ms;    /* 0 = what model.conf says, or 20 */
    uint64_t max_bytes;    /* weights + one stream's state; 0 = no limit */
    /* instruction sets allowed (RILL_CPU_*); 0 = all detected, RILL_CPU obeyed */
    uint32_t cpu_mask;
    uint32_t profile; /* 1: streams keep the time of each step */
    uint32_t threads; /* that share a step at most, with the one that calls run(); 0 = what
                         model.conf says, or all of the pool; without a pool 0 or 1 */
    rill_pool *pool;  /* helps with large steps; the plan keeps it. NULL: run() computes alone */
} rill_plan_opts;

/* What is 0 is chosen. */
typedef struct rill_pool_opts {
    uint32_t struct_bytes;
    uint32_t threads; /* with the one that calls run(), at most 16; 0 = as many as processors */
    uint32_t spin_us; /* so long a thread looks for more work before it sleeps, at most 100000;
                         0 = 50 */
} rill_pool_opts;

/* What is done to a model between reading it and simplifying it. What is 0: nothing. Lists end with
 * NULL and, as all strings here, are only read during the call. In this order:
 *   asserts     "S >= 1", "T < 2*S": what may be assumed of the symbols that stand for sizes
 *   set         "SYMBOL=EXPRESSION", one after the other: with "FOO=2" and then "T=2*FOO" T is 4. A
 *               symbol that neither the model nor a later expression mentions is refused,
 *               as is one in an expression that neither model, pair, assertion nor `stream` names
 *   transforms  "name" or "name(key: value, ...)", one after the other, the graph being typed anew
 *               after each (docs/transforms.md):
 *                 set_symbols(S: "2*T", N: 4)      as `set`
 *                 select_inputs(a, "b/c")          these wires, by name, are the inputs
 *                 select_outputs(x, y)             these wires are the outputs, the rest is gone
 *                 patch(body: "n = shape_of(x)[1];")   NNEF statements redefine wires
 *                 pulse(symbol: S, pulse: 8)       time, and the pulse of plans that ask for 0;
 *                                                  comes last
 *                 force_scan_external_state        for old files only
 *                 recurrent_weights(i16)           recurrent cells of more than 48 KB keep their
 *                                                  weights in 16 bits: faster, smaller, and not the
 *                                                  bits of f32 (docs/speed.md)
 *   stream      the symbol that counts input frames; NULL: guessed by its name */
typedef struct rill_model_opts {
    uint32_t struct_bytes;
    const char *const *asserts;
    const char *const *set;
    const char *const *transforms;
    const char *stream;
    uint32_t builtin; /* 1: path is the name of a model that is built in */
    uint32_t copy;    /* 1: path is a folder or a compiled plan, and nothing that happens to a file
                         later matters: a plan is read into memory instead of mapped, and sha256 is
                         that of its bytes */
    /* what errors, and the model's name, call it instead of path; NULL: path */
    const char *shown_as;
} rill_model_opts;

#define RILL_CPU_C (1u << 31)     /* plain C only */
#define RILL_CPU_AVX2 (1u << 0)   /* AVX2 and FMA */
#define RILL_CPU_AVX512 (1u << 1) /* F, BW, DQ, VL */
#define RILL_CPU_NEON (1u << 2)
/* Products of 8 bits: */
#define RILL_CPU_AVXVNNI (1u << 3)    /* beside AVX2 */
#define RILL_CPU_AVX512VNNI (1u << 4) /* beside AVX2 and AVX512 */
#define RILL_CPU_DOTPROD (1u << 5)    /* beside NEON */

typedef struct rill_plan_info {
    uint32_t struct_bytes;
    uint32_t steps;         /* those of bodies too, each once */
    uint64_t weights_bytes; /* constants, shared by all streams of the plan */
    uint64_t stream_bytes;  /* rill_plan_stream_size() */
    uint64_t state_bytes;   /* the part of a stream that lives from pulse to pulse */
    uint32_t pulse_samples; /* input frames per run() */
    const char *cpu;        /* instruction set the kernels were chosen for */
    uint32_t threads;       /* that share a step at most; 1: run() computes alone */
    uint32_t shared_steps;  /* that are divided among them */
} rill_plan_info;

typedef struct rill_step_time {
    uint32_t struct_bytes;
    const char *step, *kernel;
    uint64_t total_ns, worst_ns, runs;
} rill_step_time;

/* Of the library, "0.1.0". Real-time safe. */
RILL_API const char *rill_version(void);

/* One of RILL_STATUS_LIST, in words; never NULL. Real-time safe. */
RILL_API const char *rill_status_text(rill_status s);

/* One of RILL_TYPE_LIST, "i64"; "?" for what is none. Real-time safe. */
RILL_API const char *rill_type_name(rill_type t);

/* --- models ------------------------------------------------------------------------------- */

/* Opens a model folder (model.conf + graph.nnef + weights), an ONNX, .tflite or NNEF file or a
 * compiled plan (rill_plan_save). Weights are read into memory: the file may change or vanish
 * afterwards; those of a compiled plan are mapped: it may be replaced or removed, but not written
 * over or cut. *ret is owned by the caller and written only on RILL_OK. UNSUPPORTED: another
 * version or build of rill compiled it; MALFORMED: it is damaged. */
RILL_API rill_status rill_model_open(rill_model **ret, const char *path, rill_error *reterr);

/* As rill_model_open with opts (NULL: nothing to do), after which the model is as constant as any.
 * INVALID: a transform, expression or name is wrong; the text says which, with the column and what
 * there is. */
RILL_API rill_status rill_model_open_with(rill_model **ret, const char *path,
                                          const rill_model_opts *opts, rill_error *reterr);

/* Opens a compiled plan (rill_plan_save) whose n bytes lie in memory at a multiple of 64 and stay
 * there unchanged until the model and its plans are gone: nothing is read and nothing is copied but
 * what is checked. name, which is copied: what errors call it. INVALID: not such a multiple;
 * UNSUPPORTED: another build of rill compiled it, or a sink of it runs a network of its own, which
 * only rill_model_open takes; MALFORMED: it is damaged. */
RILL_API rill_status rill_model_compiled(rill_model **ret, const void *bytes, size_t n,
                                         const char *name, rill_error *reterr);

/* Opens a model that is built into the library (the default denoiser). INVALID: none has that
 * name. */
RILL_API rill_status rill_model_builtin(rill_model **ret, const char *name, rill_error *reterr);

/* Name of the n-th built-in model, NULL past the last. The 0th is the default. Real-time safe. */
RILL_API const char *rill_model_builtin_name(unsigned n);

/* Its strings live as long as the model. INVALID: struct_bytes. Real-time safe. */
RILL_API rill_status rill_model_get_info(const rill_model *m, rill_model_info *ret);

/* What the file says under a key (metadata_props of ONNX), as long as the model lives; NULL: it
 * does not, or it is a compiled plan. Real-time safe. */
RILL_API const char *rill_model_metadata(const rill_model *m, const char *key);

/* Gives the caller's reference back: plans of the model stay valid. Takes and returns NULL. */
RILL_API rill_model *rill_model_free(rill_model *m);

/* --- runtimes ----------------------------------------------------------------------------- */

/* Names of what could compute plans, "cpu" first; NULL from the last on. Plans are computed by the
 * processor: the others say why they are not there. */
RILL_API const char *rill_runtime_name(unsigned n);

/* Whether `name` ("default" is cpu; NULL too) can compute here; *ret, which may be NULL: the name
 * of what would, as of gpu-or-cpu where there is no GPU. UNSUPPORTED: it cannot, with what was
 * looked for; INVALID: there is none of that name. Looks at devices: not real-time safe. */
RILL_API rill_status rill_runtime_check(const char *name, const char **ret, rill_error *reterr);

/* --- pools -------------------------------------------------------------------------------- */

/* Makes threads - 1 threads, which help run() and run_many() of plans that were made with this pool
 * (rill_plan_opts.pool): steps that are large enough for that to pay are divided when the plan is
 * made, and the outputs have the same bits with any number of threads. opts may be NULL; *ret is
 * owned by the caller. The threads have the scheduling policy, priority and processors of the
 * calling one, and block all signals.
 *
 * Any number of plans and streams may use one pool, on any threads; it helps one run at a time, and
 * the others compute alone meanwhile. Of such plans run() and run_many() neither allocate nor lock.
 * They make two system calls: they wake a thread of the pool that sleeps (a post of a semaphore),
 * and wait for a share of a step that a thread has not given back after some thousand looks, as
 * when it was taken off its processor. In a child of fork, where the threads are not, they compute
 * alone, with the same bits.
 *
 * INVALID: opts; NOMEM: memory, or the system has no threads left. */
RILL_API rill_status rill_pool_new(rill_pool **ret, const rill_pool_opts *opts, rill_error *reterr);

/* How many threads share a step at most, with the one that calls run(). Real-time safe. */
RILL_API unsigned rill_pool_threads(const rill_pool *p);

/* Gives the caller's reference back; its threads end with the last plan that uses it. Takes and
 * returns NULL. */
RILL_API rill_pool *rill_pool_free(rill_pool *p);

/* --- plans -------------------------------------------------------------------------------- */

/* opts may be NULL. The plan keeps what it needs of the model, and *ret is owned by the caller.
 * Threads that plan one model wait for each other. INVALID: opts; UNSUPPORTED: no pulse of that
 * size, with node, axis and what would do; LIMIT: over max_bytes. */
RILL_API rill_status rill_plan_new(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                                   rill_error *reterr);

/* One more owner; returns p. Any thread at any time. Real-time safe. */
RILL_API rill_plan *rill_plan_ref(rill_plan *p);

/* One owner less: the last one frees it. Takes and returns NULL. Any thread at any time. */
RILL_API rill_plan *rill_plan_unref(rill_plan *p);

/* Writes the plan to a file that rill_model_open opens in a few milliseconds and rill_plan_new
 * makes this very plan of: for this instruction set, this pulse and this build of rill only; plans
 * of another kind are refused (UNSUPPORTED, the text says what to do). Takes the place of path in
 * one step: who has the old file open keeps it. IO: it cannot be written. */
RILL_API rill_status rill_plan_save(const rill_plan *p, const char *path, rill_error *reterr);

/* Fills at most cap ports, inputs first; returns how many there are. The index is the port number.
 * ports[0].struct_bytes is that of all of them, and 0 is returned where it is none, or one without
 * a type and there is a port of another than f32; ports may be NULL where cap is 0. Real-time
 * safe. */
RILL_API unsigned rill_plan_ports(const rill_plan *p, rill_port *ports, unsigned cap);

/* The axes of a port's frames: their elements are those of dims, the last axis first to change.
 * INVALID: there is no such port, or struct_bytes. Real-time safe. */
RILL_API rill_status rill_plan_port_shape(const rill_plan *p, unsigned port, rill_shape *ret);

/* Its strings live as long as the library. INVALID: struct_bytes. Real-time safe. */
RILL_API rill_status rill_plan_get_info(const rill_plan *p, rill_plan_info *ret);

/* Lays the frames of a port beside input_samples of input, the first frame beside sample 0: the one
 * place where latency and offset become numbers of frames. INVALID: it does not run along time, or
 * struct_bytes. Real-time safe. */
RILL_API rill_status rill_port_align(const rill_port *p, uint64_t input_samples,
                                     rill_alignment *ret);

/* Whether a whole sequence of so many frames of an input is one that the model takes. INVALID names
 * what is asserted of its length, what an op needs of it (more frames than a pad mirrors), or the
 * sizes that there are, and what does not fit. A stream does not ask: of other lengths it gives
 * what it has, and once it is finished nothing more where an op needs another. Real-time safe. */
RILL_API rill_status rill_plan_check_length(const rill_plan *p, unsigned port, uint64_t frames,
                                            rill_error *reterr);

/* Whether so many frames of one input and so many of another are of one sequence: neither goes on
 * by a whole step where the other ends. OK where one of them does not run along time. INVALID names
 * the one that goes on. A stream does not ask: it ends with the shortest. Real-time safe. */
RILL_API rill_status rill_plan_check_even(const rill_plan *p, unsigned port, uint64_t frames,
                                          unsigned other, uint64_t other_frames,
                                          rill_error *reterr);

/* The model it was made of; lives as long as the plan. Real-time safe. */
RILL_API const rill_model *rill_plan_model(const rill_plan *p);

/* --- streams ------------------------------------------------------------------------------ */

/* Bytes of one stream; the block must be aligned to 64 bytes. Real-time safe. */
RILL_API size_t rill_plan_stream_size(const rill_plan *p);

/* Makes a stream in the caller's memory. The stream is this one flat block and holds no other
 * resource: copying it is a snapshot, dropping it is free(mem). The plan must outlive it. Returns
 * mem as a stream. Real-time safe. */
RILL_API rill_stream *rill_stream_init(void *mem, const rill_plan *p);

/* As rill_stream_init, for who wants these n outputs alone: the others give nothing and hold
 * nothing up. NULL: one of the ports is no output. Real-time safe. */
RILL_API rill_stream *rill_stream_init_for(void *mem, const rill_plan *p, const unsigned *outputs,
                                           unsigned n);

/* alone != 0: from now on the plan's pool does not help this stream, which computes on the calling
 * thread, to the same bits: work that may wait does not keep the pool from what may not. 0, as a
 * stream begins: it helps. A reset changes nothing about it. Real-time safe. */
RILL_API void rill_stream_alone(rill_stream *s, int alone);

/* Back to the state after rill_stream_init. Real-time safe. */
RILL_API void rill_stream_reset(rill_stream *s);

/* Takes up to n frames (n * width elements of the port's type) into the stream's input carry-over;
 * *ret_taken may be less when a pulse is waiting for run(), and is 0 while an output that was not
 * pulled yet lies where they would go. An input that does not run along time, beside others that
 * do, takes one frame, which holds for every run() until another one is pushed or the stream is
 * reset; it takes one after finish, too. In a graph without time every input is wanted anew for
 * every run(). INVALID after finish otherwise, on a wrong port, or after a run() that was. Samples
 * that are not finite, or of 2^32 and more, are taken as 0 on audio ports; a bool that is not 0 as
 * 1, and a number that 4 or 2 bits cannot hold as the nearest that they can. Real-time safe. */
RILL_API rill_status rill_stream_push(rill_stream *s, unsigned port, const void *x, size_t n_frames,
                                      size_t *ret_taken);

/* Computes one pulse. AGAIN if the input is short of a pulse or a wanted output of the last one was
 * not pulled; END when a finished stream has given everything. INVALID: the model asks for what is
 * not there (a position past the end of a table, an index that data made); this pulse gives
 * nothing, and so it stays until the stream is reset. rill_stream_fault says what it was. Real-time
 * safe. */
RILL_API rill_status rill_stream_run(rill_stream *s);

/* OK, or why run() says INVALID: the text names node, op, number and the input frames of that
 * pulse. Writes text: not for the real-time path. */
RILL_API rill_status rill_stream_fault(const rill_stream *s, rill_error *reterr);

/* One pulse of each of n streams of one plan, step by step together: in products of a vector with a
 * matrix the weights are read once for all of them. ret: n places for what rill_stream_run would
 * have said of each, called in this order; streams that answer AGAIN or END stay as they are, one
 * that answers INVALID spoils no other; the others run all the same. Each gives the bits it would
 * give alone, whatever its neighbours are. Any n, also 0; a stream may be there twice. With a plan
 * made with profile they run one after the other. INVALID: not all of one plan; nothing ran and ret
 * is not written. Real-time safe; the calling thread uses all n streams at once. */
RILL_API rill_status rill_run_many(rill_stream *const *streams, unsigned n, rill_status *ret);

/* Gives up to cap frames (cap * width elements of the port's type) of a port. OK with *ret_given 0
 * when there is none now. Real-time safe. */
RILL_API rill_status rill_stream_pull(rill_stream *s, unsigned port, void *y, size_t cap_frames,
                                      size_t *ret_given);

/* No more input: from now on run() gives what was held back, and every output ends exactly where
 * the whole-sequence run would end. Real-time safe. */
RILL_API void rill_stream_finish(rill_stream *s);

/* Sets the calling thread to flush denormals to zero (FTZ and DAZ). run() and run_many() do so
 * themselves, and set it back: what they give does not depend on it. Once per compute thread it
 * spares them that, and keeps what is done with the frames outside of them as fast. Real-time
 * safe. */
RILL_API void rill_thread_prepare(void);

/* Step times since init, in plan order, if the plan was made with profile; returns how many, 0
 * without profile. Their strings are the plan's. ret[0].struct_bytes is that of all of them, as in
 * rill_plan_ports; ret may be NULL where cap is 0. Real-time safe. */
RILL_API unsigned rill_stream_profile(const rill_stream *s, rill_step_time *ret, unsigned cap);

/* n samples as whole numbers of `bits` (2 to 32): +-1 is full scale, what is beyond it is limited,
 * NaN is 0, and halves go to the even neighbour. As rilld and the tools do it. Real-time safe. */
RILL_API void rill_samples_round(const float *x, size_t n, unsigned bits, int32_t *ret);

/* --- sinks -------------------------------------------------------------------------------- */

/* A sink reads the frames of one output port, in order and without gaps, and says what they mean:
 * speech began, a word was heard, a text. Positions are samples of the model's input: frame k of a
 * port, as rill_stream_pull gives them, stands for the hop that begins at its offset plus k hops,
 * as far as that lies behind sample 0. What comes out depends on the frames alone, never on how
 * they were cut into pushes. */
typedef struct rill_sink rill_sink;

/* What the numbers of a CTC or keyword output are. */
typedef enum rill_scores {
    RILL_SCORES_AUTO, /* ctc: logarithms; keyword: probabilities; transducer: before the softmax */
    RILL_SCORES_LOG,  /* logarithms of probabilities */
    RILL_SCORES_LOGITS, /* before the softmax; a keyword of one column: before the sigmoid */
    RILL_SCORES_PROBS   /* probabilities */
} rill_scores;

/* How tokens become words. */
typedef enum rill_units {
    RILL_UNITS_AUTO,  /* marks where there is any, words otherwise */
    RILL_UNITS_MARKS, /* U+2581 begins a word; "|", "<space>" and a blank stand between two */
    RILL_UNITS_WORDS, /* every token is a word */
    RILL_UNITS_CHARS  /* every token is a word, written without a space between them */
} rill_units;

struct rill_attention; /* the networks of an attention decoder */

/* How a port is read: what model.conf says, or what it would say. Strings are only read while a
 * sink is made. 0 and NULL mean what the comment says; rill_sink_defaults fills all of it. */
typedef struct rill_sink_opts {
    uint32_t struct_bytes;
    rill_port_kind kind;
    /* names of the columns */
    /* text of a tokens file: "TOKEN ID" a line, or a label a line; NULL: see words */
    const char *tokens;
    const char *words;  /* "a,b,c": names of the columns, where there is no file */
    const char *ignore; /* "a,b": tokens that are not written, words that do not count */
    rill_scores scores;
    rill_units units;
    /* endpoints; 0: that rule is off */
    uint32_t rule1_ms; /* so much silence, said something or not */
    uint32_t rule2_ms; /* so much silence after something was said */
    uint32_t rule3_ms; /* the utterance is as long as that */
    /* ctc, transducer */
    int32_t blank;   /* token of the blank; -1: the one called <blk> or <blank>, or 0 */
    uint32_t beam;   /* hypotheses kept, at most RILL_BEAM_MAX; 1: greedy; 0: 8, transducer: 4 */
    float stability; /* partials less stable than that (0..1) are held back */
    uint32_t max_tokens; /* of one text; more force a final. 0: 192 */
    float confidence;    /* texts less probable than that a word (0..1) are not told; 0: all are */
    /* transducer: the other two networks; rill_sink_defaults has them, from the model's files. The
     * sink keeps them */
    const rill_plan *decoder; /* the last tokens -> what goes into the joiner */
    const rill_plan *joiner;  /* a frame and the decoder's answer -> a score per token */
    uint32_t max_symbols;     /* tokens that one frame may make, at most 16; 0: 1 */
    /* keyword, vad */
    float threshold;          /* 0..1; 0: 0.5 */
    uint32_t smooth_frames;   /* keyword: the mean over so many frames counts; 0: 1 */
    uint32_t patience_frames; /* keyword: so many frames in a row over the threshold make an event;
                                 0: 1 */
    uint32_t debounce_ms;     /* keyword: after an event none that begins for so long */
    float release;            /* vad: below it speech may end, 0..1; 0: threshold */
    uint32_t hangover_ms;     /* vad: silence before the end of speech */
    uint32_t preroll_ms;      /* vad: what goes to a recogniser of what was before speech */
    /* ctc, transducer: endpoints are looked for at every so many frames, such as those that come
     * together; 0: 1 */
    uint32_t endpoint_frames;
    /* transducer */
    float blank_penalty;  /* taken off the blank's score */
    float hotwords_score; /* worth of each token of a hotword that does not say it; 0: 1.5 */
    float lm_scale;       /* of the language model's logarithms; 0: 0.3 */
    /* with a beam of 2 or more; NULL: none */
    const char *hotwords; /* a phrase a line, at the end " :2.5", its worth */
    const char *pieces;   /* "PIECE SCORE" a line, of a vocabulary: how words are cut into tokens;
                             NULL: into as few as possible */
    const char *lm;       /* an ARPA file of n-grams of tokens */
    /* attention: rill_sink_defaults has them. The nets are the model's, which the sink keeps */
    const struct rill_attention *nets;
    uint32_t bos, eos;       /* tokens before the first one and behind the last one */
    uint32_t update_frames;  /* the text is found anew every so many frames; 0: 24 */
    float tokens_per_second; /* the most, of what was heard; 0: 6.5 */
} rill_sink_opts;

#define RILL_BEAM_MAX 64

typedef enum rill_event_kind {
    RILL_EVENT_SPEECH_START, /* pos, end_pos: the frame that says so */
    RILL_EVENT_SPEECH_END, /* pos: where the silence after it began; end_pos: what was heard to say
                              so */
    RILL_EVENT_KEYWORD,    /* text, score; pos, end_pos: the frames that counted */
    RILL_EVENT_PARTIAL,    /* text, words: as it stands now; each replaces the one before */
    RILL_EVENT_FINAL,      /* text, words: will not change; the next text has nothing of it */
    RILL_EVENT_ENDPOINT /* rule; pos: end of the utterance. After the final of it, if it has one */
} rill_event_kind;

typedef enum rill_rule {
    RILL_RULE_NONE,
    RILL_RULE_SILENCE,  /* rule1 */
    RILL_RULE_TRAILING, /* rule2 */
    RILL_RULE_LENGTH    /* rule3 */
} rill_rule;

typedef struct rill_word {
    const char *text;      /* UTF-8 */
    uint64_t pos, end_pos; /* samples: frame of its first token to the end of that of its last */
    float confidence;      /* 0..1 */
} rill_word;

/* Fields that a kind does not have are 0, NULL for words and "" for text. */
typedef struct rill_event {
    uint32_t struct_bytes;
    rill_event_kind kind;
    rill_rule rule;
    uint64_t pos, end_pos;
    /* keyword: smoothed probability; edges of speech: probability; texts: confidence */
    float score;
    float stability; /* texts: share of what may still be meant that begins so; 1 in finals */
    /* texts: counts finals; partials have the number of the final that will come */
    uint32_t segment;
    uint32_t n_words;
    const char *text;
    const rill_word *words;
} rill_event;

/* What model.conf says about how to read an output; strings and plans in it live as long as p.
 * INVALID: not an output that a sink reads, or struct_bytes. */
RILL_API rill_status rill_sink_defaults(rill_sink_opts *ret, const rill_plan *p, unsigned port,
                                        rill_error *reterr);

/* opts NULL: the defaults. All memory is allocated here. The sink keeps the plan, and *ret is owned
 * by the caller. MALFORMED: bad tokens; INVALID: an option is out of range, the words are not as
 * many as the port is wide, or it takes milliseconds and the model states no sample rate. */
RILL_API rill_status rill_sink_new(rill_sink **ret, const rill_plan *p, unsigned port,
                                   const rill_sink_opts *opts, rill_error *reterr);

/* Takes and returns NULL. */
RILL_API rill_sink *rill_sink_free(rill_sink *s);

/* All that it will ever take. Real-time safe. */
RILL_API size_t rill_sink_bytes(const rill_sink *s);

/* Puts a recogniser behind a sink of kind vad, before its first frame: `plan` has one input, of
 * audio of the same rate, and one output, `port`, that a sink reads; opts as in rill_sink_new, its
 * endpoint rules do not count. The recogniser runs in utterances only, each afresh, from preroll_ms
 * before speech to the endpoint; what it says comes out of this sink, finals before their endpoint.
 * A rule of length cuts the text and not the recogniser. Where its stream stops (rill_stream_run:
 * INVALID) the utterance has no more words; where a network of its sink fails, so does this one.
 * Set-up time: allocates. */
RILL_API rill_status rill_sink_listen(rill_sink *s, const rill_plan *plan, unsigned port,
                                      const rill_sink_opts *opts, rill_error *reterr);

/* For a sink that listens: the samples that went into the detector's stream, in order, before the
 * frames that they lead to. LIMIT: further ahead of the frames than the detector's pulse and
 * latency. INVALID: it does not listen. Real-time safe. */
RILL_API rill_status rill_sink_audio(rill_sink *s, const float *x, size_t n_samples);

/* rill_stream_alone, of the networks that run in a sink: a transducer's decoder and joiner, and the
 * recogniser that it listens with. Real-time safe. */
RILL_API void rill_sink_alone(rill_sink *s, int alone);

/* Reads frames (n * width floats), up to and including the first that makes an event; none while
 * events wait. INVALID after finish, and from the frame on at which a network that runs in the sink
 * failed: what was heard before becomes final, and so it stays until reset. rill_sink_fault says
 * what it was. A sink that listens works here and in rill_sink_next. Real-time safe. */
RILL_API rill_status rill_sink_push(rill_sink *s, const float *x, size_t n_frames,
                                    size_t *ret_taken);

/* The next event; its text and words are the sink's, until the next call with the sink. AGAIN: push
 * more; END: finished and all given; INVALID: struct_bytes, and the event waits, or all was given
 * and a network failed (rill_sink_fault). Real-time safe. */
RILL_API rill_status rill_sink_next(rill_sink *s, rill_event *ret);

/* OK, or INVALID and which network failed, by its file, and why. Real-time safe. */
RILL_API rill_status rill_sink_fault(const rill_sink *s, rill_error *reterr);

/* The utterance ends here: what was heard becomes final, but for a word that may go on. Only while
 * no events wait. Real-time safe. */
RILL_API void rill_sink_cut(rill_sink *s);

/* The input ends before sample `pos`; called once the stream was finished (rill_stream_finish), or
 * at any time before, and counts until reset. Where a graph pads, frames stand for samples behind
 * that: they are read as ever, but no event and no word ends behind pos, and what lies behind it
 * altogether is put into the last frame that begins before it, or behind what was told there.
 * Without this call positions may lie behind the input. Real-time safe. */
RILL_API void rill_sink_end(rill_sink *s, uint64_t pos);

/* No more frames: what was heard becomes final. Only while no events wait. Real-time safe. */
RILL_API void rill_sink_finish(rill_sink *s);

/* As after rill_sink_new, but that the next frame stands for samples from pos on and segments count
 * on. Real-time safe. */
RILL_API void rill_sink_reset(rill_sink *s, uint64_t pos);

#ifdef __cplusplus
}
#endif
#endif
