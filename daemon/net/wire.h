/* SPDX-License-Identifier: MIT */
/* wire.h - what must be read from a message's bytes before it is unpacked. */
#ifndef RILL_DAEMON_NET_WIRE_H
#define RILL_DAEMON_NET_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#define WIRE_WHERE_BYTES 120

/* No string in the message holds a zero byte, at which it would be cut when it is unpacked; else
 * ret_where names the field, of a map its entry. Recurses as deep as the messages of d are nested.
 */
bool wire_strings_whole(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t n,
                        char ret_where[WIRE_WHERE_BYTES]);

/* The stream of a message with Audio or Frames, if its number comes first, as encoders write it;
 * else 0. */
uint32_t wire_audio_stream(const uint8_t *bytes, size_t n);

bool wire_enum_has(const ProtobufCEnumDescriptor *d, int value); /* the contract names it */

#endif
