/* What the files of the fuzzer share; fuzz.c says more. Not part of the library. */
#ifndef METASHELL_FUZZ_H
#define METASHELL_FUZZ_H

#include "kernel.h"

uint64_t next_random(void);
int64_t below(int64_t n);
bool one_in(int64_t n);

/* Memory of exactly this size; one byte more would be noticed. */
void *exactly(int64_t size);

/* End the run where something does not hold. */
void require(bool holds, const char *what);

/* Bytes as lengths, counts and tags are, with a few that end varints late or make them large. */
uint8_t drawn_byte(void);

/* Lines of made-up columns, and numbers of made-up ids. */
void fuzz_lines(void);

/* Numbers of made-up keys; headers of made-up batches, and the records behind them. */
void fuzz_keys(void);
void fuzz_headers(void);

#endif
