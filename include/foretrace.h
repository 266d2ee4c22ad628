/* What a program can tell foretrace about itself. Without `foretrace cc` or `foretrace c++` all of
   this does nothing, except that FORETRACE_ASSERT is assert. */

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

#else

#include <assert.h>

#define FORETRACE_ATOMIC_BEGIN() ((void)0)
#define FORETRACE_ATOMIC_END() ((void)0)
#define FORETRACE_ASSERT(condition) assert(condition)
#define FORETRACE_BENIGN_RACE(memory, size, why) ((void)0)
#define FORETRACE_NAME_LOCK(lock, name) ((void)0)

#endif

#endif
