/* SPDX-License-Identifier: MIT */
/* openmetrics.h - reads a text of OpenMetrics 1.0 as its grammar stands, and refuses everything
 * else. */
#ifndef TEST_DAEMON_OPENMETRICS_H
#define TEST_DAEMON_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

#define OM_SAMPLES 8192
#define OM_FAMILIES 256

struct om_sample {
    char name[96], labels[400]; /* labels: between the braces, as they stood; "" if none */
    double value, le;           /* le: of a bucket */
    char rest[400];             /* labels less le */
};

struct om_family {
    char name[96], type[16], unit[32];
    bool typed, unit_said, helped, sampled;
};

struct om {
    struct om_sample samples[OM_SAMPLES];
    struct om_family families[OM_FAMILIES];
    size_t n_samples, n_families;
    char error[256];
};

bool om_parse(struct om *m, const char *text); /* false: error says line and reason */
/* NAN if there is none */
double om_value(const struct om *m, const char *name, const char *labels);
double om_sum(const struct om *m, const char *name); /* over all labels */
size_t om_count(const struct om *m, const char *name);

#endif
