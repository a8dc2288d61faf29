/* SPDX-License-Identifier: MIT */
#include "engine/base/dim.h"
