/* SPDX-License-Identifier: MIT */
/* recogniser.h - folders of streaming recognisers as sherpa-onnx has them: networks and tokens.txt,
 * and no graph.nnef. Names, shapes and metadata of the files say the rest; what is made of them are
 * the two texts of a model's folder. */
#ifndef RILL_MODELS_RECOGNISER_H
#define RILL_MODELS_RECOGNISER_H
#include "models/conf.h"
#include "models/folder.h"

/* Puts graph.nnef and model.conf among the files of f, as strings in a, where f is such a folder;
 * leaves any other one as it is. What the folder's own model.conf says goes before what is made.
 * An error names the file and what was expected. */
rill_status recogniser_folder(struct folder *f, struct arena *a, rill_error *reterr);
#endif
