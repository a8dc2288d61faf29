/* SPDX-License-Identifier: MIT */
#include "models/onnx/internal.h"

#include <string.h>

static uint32_t key_hash(const char *key)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *key; key++)
        h = (h ^ (unsigned char) *key) * 0x100000001b3u;
    return (uint32_t) (h ^ h >> 32);
}

static struct map_slot *slot_of(struct map_slot *slots, uint32_t cap, const char *key)
{
    uint32_t i = key_hash(key) & (cap - 1);
    while (slots[i].key && strcmp(slots[i].key, key))
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static bool map_grow(struct map *m)
{
    uint32_t cap = m->cap ? m->cap * 2 : 32;
    struct map_slot *slots = cap > m->cap ? arena_array(m->arena, struct map_slot, cap) : NULL;
    if (!slots)
        return false;
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->slots[i].key)
            *slot_of(slots, cap, m->slots[i].key) = m->slots[i];
    m->slots = slots;
    m->cap = cap;
    return true;
}

bool map_set(struct map *m, const char *key, uint32_t value)
{
    if (m->n >= m->cap / 2 && !map_grow(m))
        return false;
    struct map_slot *s = slot_of(m->slots, m->cap, key);
    m->n += !s->key;
    *s = (struct map_slot) { key, value };
    return true;
}

uint32_t *map_get(const struct map *m, const char *key)
{
    if (!m->cap)
        return NULL;
    struct map_slot *s = slot_of(m->slots, m->cap, key);
    return s->key ? &s->value : NULL;
}
