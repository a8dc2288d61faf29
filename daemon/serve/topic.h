/* SPDX-License-Identifier: MIT */
/* topic.h - published streams and their subscribers. */
#ifndef RILL_DAEMON_SERVE_TOPIC_H
#define RILL_DAEMON_SERVE_TOPIC_H

#include "daemon/compute/pcm.h"
#include "daemon/serve/messages.h"
#include "rilld.pb-c.h"

struct conn;
struct daemon;
struct lane_rec;
struct owner;
struct session;
struct topic;

void topic_publish(struct conn *c, uint32_t req, const Rill__Publish *m);
void topic_subscribe(struct conn *c, uint32_t req, const Rill__Subscribe *m);
/* false: there is no such subscription */
bool sub_cancel(struct conn *c, uint32_t req, uint32_t id);
void topic_audio(struct topic *t, const struct lane_rec *r, uint64_t pos, const float *x, size_t n);
void topic_rec(struct topic *t, const struct lane_rec *r, const unsigned char *event);
void topic_deliver(struct topic *t);
/* Once the topic has ended, subscribers get this error instead of Finished. Takes NULL. */
void topic_fail(struct topic *t, Rill__Code code, const char *text);
/* takes NULL; subscribers still get what they have not read */
void topic_end(struct topic *t, bool cancelled);
void topics_sweep(struct daemon *d); /* frees what ended and has no subscribers */
void subs_deliver(struct conn *c);
void subs_drop(struct conn *c);
uint32_t subs_lag_ms(const struct conn *c); /* of live sources, the longest */
/* a source ended so long ago that a client that reads would have read the rest */
bool subs_overdue(const struct conn *c, uint64_t now_us);
void topics_shift_times(
    struct daemon *d, uint64_t us); /* after the loop was stalled for so long: nobody could read */
/* in order of names, those past `after`; *ret_more: there are more than cap */
size_t topics_list(const struct conn *c, const char *after, Rill__TopicInfo *infos, Rill__Pcm *pcms,
                   Rill__Output (*outputs)[OUTPUTS], size_t cap, bool *ret_more);
const char *topic_name(const struct topic *t); /* "" for NULL */
struct sub_info {
    struct conn *conn;
    uint32_t id, in_rate, lag_ms;
    const char *topic, *model;
    struct pcm out;
    bool live;
    uint64_t given, sent, lost, opened_us; /* given and lost: at in_rate */
    size_t bytes;
};
/* the first subscription in (conn, stream) order after those numbers; false: there is none */
bool sub_info_after(const struct daemon *d, uint32_t conn, uint32_t stream, struct sub_info *ret);
/* struct memory's reclaim; arg: the daemon */
size_t topics_reclaim(void *daemon, const struct owner *o, size_t longer_bytes);

#endif
