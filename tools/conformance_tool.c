/* SPDX-License-Identifier: MIT */
#include "tools/conformance.h"

int main(int argc, char **argv)
{
    return conformance_main(argc, argv);
}
