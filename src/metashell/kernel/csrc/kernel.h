/*
 * The kernel: inner loops of metashell in C11, without Python's API.
 *
 * Python calls these functions by ctypes. Arrays are contiguous and belong to the caller.
 */
#ifndef METASHELL_KERNEL_H
#define METASHELL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* The digest of the sources that this library was built from, as hexadecimal digits. */
const char *metashell_kernel_digest(void);

#endif
