/* SPDX-License-Identifier: MIT */
/* wire.h - what is only seen in a message's bytes. */
#ifndef RILL_DAEMON_NET_WIRE_H
#define RILL_DAEMON_NET_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* No string of the message or of those in it holds a zero byte: unpacked it would end there, and
 * its rest be unseen. Recurses as deep as the messages of d are nested. */
bool wire_strings_whole(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t n);

/* The stream of a ClientFrame that holds Audio, where its number comes first, as encoders write it;
 * 0: it is something else. */
uint32_t wire_audio_stream(const uint8_t *bytes, size_t n);

#endif
