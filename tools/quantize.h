/* SPDX-License-Identifier: MIT */
/* quantize.h - what `rill quantize` reads (quantize_in.c) and writes (quantize_out.c). */
#ifndef TOOLS_QUANTIZE_H
#define TOOLS_QUANTIZE_H
#include "models/conf.h"
#include "models/folder.h"
#include "tools/quantize/watch.h"
#include "tools/tool.h"

#define QUANTIZE_NETS_MAX 32

/* A model as it is read: a bare net, or a folder with nets in it. */
struct quantize_in {
    struct arena arena;
    const char *path; /* of the file or folder, or the name of a built-in */
    bool is_folder;
    struct folder folder; /* where is_folder */
    struct model_conf conf;
    struct bytes file[QUANTIZE_NETS_MAX]; /* as they are; data in the arena but for a bare net's */
    const char *name[QUANTIZE_NETS_MAX];  /* in the folder; a bare net's path */
    unsigned n_nets;
    struct npz given;        /* arrays for a bare net */
    struct recording *piece; /* of the recordings, or noise */
    size_t n_pieces;
    unsigned n_recordings;
    double seconds;
};

/* Finds the model and reads its nets. Drop it with quantize_in_drop, also where it fails. */
rill_status quantize_in_open(struct quantize_in *in, const char *model, rill_error *reterr);
void quantize_in_drop(struct quantize_in *in);

/* Recordings, or folders of them, of any rate: they are resampled to the model's; for a bare net
 * .npz files. */
rill_status quantize_in_listen(struct quantize_in *in, const struct opt_list *paths,
                               rill_error *reterr);
/* Noise of this root mean square instead. */
void quantize_in_noise(struct quantize_in *in, float rms);

/* Refuses a place that there is already, or that cannot be one of such a model; before the work is
 * done. force: what is there is replaced. */
rill_status quantize_out_check(const struct quantize_in *in, const char *out, bool force,
                               rill_error *reterr);

/* The model with these nets in the place of those that it has. A file or folder comes to be in one
 * step, once all of it is on the disk; in a folder that is there every file does. data NULL: that
 * net stays. */
rill_status quantize_out_write(struct quantize_in *in, const char *out, const struct bytes *nets,
                               rill_error *reterr);
#endif
