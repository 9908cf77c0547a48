/* The digest of the sources. Python does not use a library that was built from other sources. */
#include "kernel.h"

#ifndef METASHELL_KERNEL_DIGEST
#error "build with scripts/build_kernel.py, which defines the digest of the sources"
#endif

const char *metashell_kernel_digest(void) { return METASHELL_KERNEL_DIGEST; }
