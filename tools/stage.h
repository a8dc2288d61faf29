/* SPDX-License-Identifier: MIT */
/* stage.h - a folder beside others in which one of them is put together. */
#ifndef TOOLS_STAGE_H
#define TOOLS_STAGE_H

#define STAGE_PATH_BYTES 8192

struct stage {
    char path[STAGE_PATH_BYTES];
    int lock; /* held as long as it is in use */
};

/* Makes an empty one in the folder root for what is called name, and takes away those that runs
 * left which were killed. Returns 0, or errno, and then there is nothing to drop. */
int stage_make(struct stage *ret, const char *root, const char *name);
/* With the files in it. */
void stage_drop(struct stage *s);

/* Calls act for each file of a folder, until it returns something else than 0, and returns that. */
int files_each(const char *folder, int (*act)(const char *path, const char *file, void *arg),
               void *arg);
#endif
