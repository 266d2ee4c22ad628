/* What a program can tell foretrace about itself. Without `foretrace cc` or `foretrace c++` all of
   this does nothing, except that FORETRACE_ASSERT is assert and inputs are 0. */

#ifndef FORETRACE_H
#define FORETRACE_H

#ifdef __FORETRACE__

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void foretrace_atomic_begin(void);
void foretrace_atomic_end(void);
void foretrace_assert(int holds, const char *expression, const char *file, int line);
void foretrace_benign_race(const volatile void *memory, size_t size, const char *why);
void foretrace_name_lock(const void *lock, const char *name);
void foretrace_assume(int holds);
void foretrace_exclusive_begin(void);
void foretrace_exclusive_end(void);
char foretrace_input_char(void);
unsigned char foretrace_input_uchar(void);
short foretrace_input_short(void);
unsigned short foretrace_input_ushort(void);
int foretrace_input_int(void);
unsigned int foretrace_input_uint(void);
long foretrace_input_long(void);
unsigned long foretrace_input_ulong(void);
#ifdef __cplusplus
bool foretrace_input_bool(void);
#else
_Bool foretrace_input_bool(void);
#endif

#ifdef __cplusplus
}
#endif

/* What the thread does from BEGIN to END is meant to look like one step to the others. */
#define FORETRACE_ATOMIC_BEGIN() foretrace_atomic_begin()
#define FORETRACE_ATOMIC_END() foretrace_atomic_end()

/* Must hold in every schedule. */
#define FORETRACE_ASSERT(condition) \
  foretrace_assert((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* Races on these bytes are known and wanted. */
#define FORETRACE_BENIGN_RACE(memory, size, why) foretrace_benign_race((memory), (size), (why))

/* How reports call this lock. */
#define FORETRACE_NAME_LOCK(lock, name) foretrace_name_lock((lock), (name))

/* A run in which this does not hold ends here, and is not of interest. */
#define FORETRACE_ASSUME(condition) foretrace_assume((condition) ? 1 : 0)

/* While a thread is between BEGIN and END, no other thread does anything. `foretrace verify` takes
   that as it stands; in a run, it is one lock that all such sections share. */
#define FORETRACE_EXCLUSIVE_BEGIN() foretrace_exclusive_begin()
#define FORETRACE_EXCLUSIVE_END() foretrace_exclusive_end()

/* The functions foretrace_input_int and the like give values from outside. `foretrace verify` takes
   each of them to be anything; in a run, they are 0. */

#else

#include <assert.h>

#define FORETRACE_ATOMIC_BEGIN() ((void)0)
#define FORETRACE_ATOMIC_END() ((void)0)
#define FORETRACE_ASSERT(condition) assert(condition)
#define FORETRACE_BENIGN_RACE(memory, size, why) ((void)0)
#define FORETRACE_NAME_LOCK(lock, name) ((void)0)
#define FORETRACE_ASSUME(condition) ((void)0)
#define FORETRACE_EXCLUSIVE_BEGIN() ((void)0)
#define FORETRACE_EXCLUSIVE_END() ((void)0)
#define foretrace_input_char() ((char)0)
#define foretrace_input_uchar() ((unsigned char)0)
#define foretrace_input_short() ((short)0)
#define foretrace_input_ushort() ((unsigned short)0)
#define foretrace_input_int() 0
#define foretrace_input_uint() 0u
#define foretrace_input_long() 0l
#define foretrace_input_ulong() 0ul
#define foretrace_input_bool() 0

#endif

#endif
