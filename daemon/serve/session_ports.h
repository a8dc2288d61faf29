/* SPDX-License-Identifier: MIT */
/* session_ports.h - what a session of ports has, and the parts of opening, feeding and serving it
 * that differ from a session of audio. */
#ifndef RILL_DAEMON_SERVE_SESSION_PORTS_H
#define RILL_DAEMON_SERVE_SESSION_PORTS_H

#include "daemon/serve/session.h"

#define PORT_PART_BYTES 65024 /* of frames in a message, at most; less where max_frame is less */
#define PORTS_WANT_MAX 4096
#define PORT_MESSAGE_EXTRA 512 /* for the rest of that message */

struct session_port {
    uint64_t frames;   /* that came or went, whole ones */
    size_t part_bytes; /* of the frame behind them */
    uint64_t granted;  /* inputs: frames that may come */
    bool is_set;       /* inputs beside the stream: it was, since the stream began afresh */
};

struct session_ports {
    char **want; /* names of outputs, until the model is there; n_want 0: all */
    size_t n_want;
    struct session_port *list; /* of the lane's ports */
    struct lane_command *command;
    unsigned char *part; /* frames of a message that is made */
    size_t bytes;        /* of memory, beside the lane's */
    uint64_t reset_at;   /* sum of all frames that had come at the last reset */
    uint32_t resets;     /* of which all output before them was sent */
};

/* What session_ports_new takes, to be claimed first. */
size_t session_ports_new_bytes(const Rill__OpenPorts *m);
/* False without memory. */
bool session_ports_new(struct session *s, const Rill__OpenPorts *m);
void session_ports_want_free(struct session_ports *p);
void session_ports_free(struct session *s);
/* Why the model cannot be streamed so; NULL: it can, and *ret_code is not written. */
const char *session_ports_refuse(struct session *s, Rill__Code *ret_code, char text[512]);
/* No less than its lane takes beside the model's state. */
size_t session_ports_most(const struct session *s);
/* NULL without memory. */
struct lane *session_ports_lane(struct session *s);
void session_ports_opened(struct session *s); /* sends it */

/* What is wrong with the end of its input here; NULL: nothing. */
const char *session_ports_end_check(const struct session *s, char text[512]);
void session_ports_reset(struct session *s, uint32_t req);

/* Sends what the lane's rings hold; false: the client has so much to read that some stays. */
bool session_ports_send(struct session *s, const struct lane_rec *r,
                        bool (*is_full)(const struct session *s));
void session_ports_credit(struct session *s);
/* Sends Finished with the frames of each port, as far as max_frame has room for them. */
void session_ports_finished(struct session *s, Rill__ServerFrame *f);
uint64_t session_ports_bytes_per_s(const struct session *s);
/* Bytes of what a run of the model sends, in messages that take so many beside their frames. */
uint64_t session_ports_pulse_bytes(const struct session *s, uint64_t message_bytes);

/* ports_message.c */

/* A port as its message; dims: room for its shape. */
void port_fill(Rill__Port *to, const rill_plan *plan, unsigned i, const rill_port *p,
               uint32_t dims[RILL_RANK_MAX]);

#endif
