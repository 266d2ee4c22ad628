// A runtime that only does what the program asked for. It checks that each hook gets a site of a known module.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint32_t file, function, line, column;
} Site;

typedef struct {
  uint32_t abi, flags;
  const Site *sites;
  uint64_t site_count;
  const char *strings;
  uint64_t strings_size;
} Module;

static const Module *modules[16];
static int module_count;

static void fail(const char *why) {
  fprintf(stderr, "runtime: %s\n", why);
  abort();
}

void __ft_module(const Module *module) {
  if (module->abi != ABI)
    fail("another ABI");
  if (module_count == 16)
    fail("too many modules");
  modules[module_count++] = module;
}

static void check(const Site *site) {
  for (int i = 0; i < module_count; i++) {
    const Module *module = modules[i];
    if (site >= module->sites && site < module->sites + module->site_count) {
      if (site->file >= module->strings_size || site->function >= module->strings_size)
        fail("a name is outside of the strings");
      return;
    }
  }
  fail("unknown site");
}

#define WIDTH(size, Word, Signed)                                                              \
  Word __ft_load##size(const Site *site, const Word *address) {                                \
    Word value;                                                                                \
    check(site);                                                                               \
    memcpy(&value, address, size);                                                             \
    return value;                                                                              \
  }                                                                                            \
  void __ft_store##size(const Site *site, Word *address, Word value) {                         \
    check(site);                                                                               \
    memcpy(address, &value, size);                                                             \
  }                                                                                            \
  Word __ft_atomic_load##size(const Site *site, const Word *address, uint32_t order) {         \
    check(site);                                                                               \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                         \
  }                                                                                            \
  void __ft_atomic_store##size(const Site *site, Word *address, Word value, uint32_t order) {  \
    check(site);                                                                               \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                            \
  Word __ft_atomic_cas##size(const Site *site, Word *address, Word expected, Word desired,     \
                             uint32_t success, uint32_t failure) {                             \
    check(site);                                                                               \
    __atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_SEQ_CST,              \
                                __ATOMIC_SEQ_CST);                                             \
    return expected;                                                                           \
  }                                                                                            \
  static Word apply##size(uint32_t operation, Word old, Word operand) {                        \
    switch (operation) {                                                                       \
    case 0: return operand;                                                                    \
    case 1: return old + operand;                                                              \
    case 2: return old - operand;                                                              \
    case 3: return old & operand;                                                              \
    case 4: return ~(old & operand);                                                           \
    case 5: return old | operand;                                                              \
    case 6: return old ^ operand;                                                              \
    case 7: return (Signed)old > (Signed)operand ? old : operand;                              \
    case 8: return (Signed)old < (Signed)operand ? old : operand;                              \
    case 9: return old > operand ? old : operand;                                              \
    case 10: return old < operand ? old : operand;                                             \
    }                                                                                          \
    fail("unknown operation");                                                                 \
    return 0;                                                                                  \
  }                                                                                            \
  Word __ft_atomic_rmw##size(const Site *site, Word *address, Word operand,                    \
                             uint32_t operation, uint32_t order) {                             \
    check(site);                                                                               \
    Word old = __atomic_load_n(address, __ATOMIC_SEQ_CST);                                     \
    while (!__atomic_compare_exchange_n(address, &old, apply##size(operation, old, operand),   \
                                        0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {              \
    }                                                                                          \
    return old;                                                                                \
  }

WIDTH(1, uint8_t, int8_t)
WIDTH(2, uint16_t, int16_t)
WIDTH(4, uint32_t, int32_t)
WIDTH(8, uint64_t, int64_t)

void __ft_load_n(const Site *site, const void *address, uint64_t size, void *out) {
  check(site);
  memcpy(out, address, size);
}

void __ft_store_n(const Site *site, void *address, uint64_t size, const void *in) {
  check(site);
  memcpy(address, in, size);
}

void __ft_fence(const Site *site, uint32_t order) { check(site); }
void __ft_unseen(const Site *site, uint32_t what) { check(site); }
void __ft_pause(void) {}
void __ft_path(uint32_t taken) {}
void __ft_enter(const void *function) {}
void __ft_land(const Site *site, const void *function, uint64_t block) { check(site); }
void __ft_switch(const Site *site, uint64_t value) { check(site); }
void __ft_call(const Site *site, const void *target) { check(site); }
void __ft_call_on(const Site *site, const void *target, uint32_t code, uint64_t stream) { check(site); }
void __ft_looks(const Site *site, const void *start, uint32_t amount, uint64_t first, uint64_t second) { check(site); }
void __ft_wrote(const Site *site, void *start, uint32_t amount, uint64_t first, uint64_t second, int64_t result) { check(site); }
void __ft_handed(const Site *site, uint32_t what, const void *first, const void *second) { check(site); }
void __ft_format(const Site *site, const char *format, const uint64_t *values, uint64_t count, uint32_t flags) { check(site); }
void __ft_return(const Site *site, uint64_t value) { check(site); }
void __ft_at(const Site *site) { check(site); }

#define LIBRARY(Result, name, parameters, arguments)                                           \
  Result __ft_##name parameters {                                                              \
    check(site);                                                                               \
    return name arguments;                                                                     \
  }

LIBRARY(void *, memchr, (const Site *site, const void *a, int b, size_t n), (a, b, n))
LIBRARY(int, memcmp, (const Site *site, const void *a, const void *b, size_t n), (a, b, n))
LIBRARY(void *, memcpy, (const Site *site, void *a, const void *b, size_t n), (a, b, n))
LIBRARY(void *, memmove, (const Site *site, void *a, const void *b, size_t n), (a, b, n))
LIBRARY(void *, memset, (const Site *site, void *a, int b, size_t n), (a, b, n))
LIBRARY(char *, strcat, (const Site *site, char *a, const char *b), (a, b))
LIBRARY(char *, strchr, (const Site *site, const char *a, int b), (a, b))
LIBRARY(int, strcmp, (const Site *site, const char *a, const char *b), (a, b))
LIBRARY(char *, strcpy, (const Site *site, char *a, const char *b), (a, b))
LIBRARY(char *, strdup, (const Site *site, const char *a), (a))
LIBRARY(size_t, strlen, (const Site *site, const char *a), (a))
LIBRARY(int, strncmp, (const Site *site, const char *a, const char *b, size_t n), (a, b, n))
LIBRARY(char *, strncpy, (const Site *site, char *a, const char *b, size_t n), (a, b, n))
LIBRARY(size_t, strnlen, (const Site *site, const char *a, size_t n), (a, n))
LIBRARY(char *, strrchr, (const Site *site, const char *a, int b), (a, b))
