/* Calls the hooks of control flow as instrumented code does; compiled without the plugin. The argument chooses. */

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

uint64_t __ft_load8(const void *site, const uint64_t *address);
void __ft_enter(const void *function);
void __ft_path(uint32_t taken);
void __ft_land(const void *site, const void *function, uint64_t block);

/* As `foretrace_recording::site` has them. */
struct constant {
  const void *address;
  uint64_t size;
};
struct module {
  uint32_t abi, flags;
  const void *sites;
  uint64_t site_count;
  const char *strings;
  uint64_t strings_size;
  const void *globals;
  uint64_t global_count;
  const void *functions;
  uint64_t function_count;
  const char *image;
  uint64_t image_size;
  const uint64_t *symbols;
  uint64_t symbol_count;
  const struct constant *constants;
  uint64_t constant_count;
  const char *names;
  uint64_t names_size;
};
void __ft_module(const struct module *module);

static char huge[(1 << 20) + 1];
static const uint64_t symbols[2] = {17, 18};
static const struct constant constants[3] = {{"text", 5}, {huge, sizeof huge}, {0, 8}};
static const struct module module = {.abi = ABI,
                                     .strings = "",
                                     .strings_size = 1,
                                     .image = "image",
                                     .image_size = 5,
                                     .symbols = symbols,
                                     .symbol_count = 2,
                                     .constants = constants,
                                     .constant_count = 3};

static uint64_t own[2];
static sigjmp_buf back;

/* So many outcomes, in a pattern of the thread's own, with an operation now and then. */
static void *goes(void *argument) {
  uint64_t number = (uint64_t)argument, state = number + 1;
  __ft_enter((const void *)goes);
  for (int step = 0; step < 300000; step++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    __ft_path(state >> 63);
    if ((state >> 40) % 7 == 0) {
      __ft_load8(0, &own[number]);
    }
  }
  __ft_land(0, (const void *)goes, 7);
  return 0;
}

static void handles(int signal) {
  __ft_enter((const void *)handles);
  __ft_path(1);
  if (signal == SIGSEGV) {
    siglongjmp(back, 1);
  }
}

int main(int count, char **arguments) {
  pthread_t thread;
  switch (count > 1 ? arguments[1][0] : 0) {
  case 'b': /* between two branches a handler */
    signal(SIGUSR1, handles);
    __ft_path(0);
    raise(SIGUSR1);
    __ft_path(0);
    return 0;
  case 'i': /* a handler inside the runtime */
    signal(SIGSEGV, handles);
    if (!sigsetjmp(back, 1)) {
      __ft_load8(0, (const uint64_t *)8);
    }
    return 0;
  case 'm': /* a module introduces itself */
    __ft_module(&module);
    return 0;
  default:
    pthread_create(&thread, 0, goes, (void *)1);
    goes(0);
    pthread_join(thread, 0);
    return 0;
  }
}
