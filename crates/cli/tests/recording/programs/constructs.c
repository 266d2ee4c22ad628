// Constructs of C whose values the walk must follow, or guard.

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

struct pair {
  int a, b;
};

struct bits {
  unsigned x : 3, y : 11, z : 1;
};

struct flexible {
  int count;
  int items[];
};

typedef int vector __attribute__((vector_size(16)));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int number = 5, label, variable, returned, sorted;
static struct pair both;
static struct bits fields;
static struct flexible *flexible;
static struct {
  long words[5];
} array;
static union {
  float real;
  uint32_t bits;
} either;
static vector lanes;
static __int128 wide;
static long double extended = 1.5L;
static double real = 2.5;
static _Thread_local jmp_buf jump;

static struct pair swap(struct pair from) {
  struct pair to = {from.b, from.a + number};
  return to;
}

static int sum(int count, ...) {
  va_list list;
  va_start(list, count);
  int total = 0;
  for (int i = 0; i < count; i++) total += va_arg(list, int);
  va_end(list);
  return total;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int interpret(const unsigned char *code, int value) {
  static void *const labels[] = {&&add, &&twice, &&stop};
  goto *labels[*code++];
add:
  value += number;
  goto *labels[*code++];
twice:
  value *= 2;
  goto *labels[*code++];
stop:
  return value;
}

static int of_any_length(int count) {
  int first[count];
  for (int i = 0; i < count; i++) first[i] = number + i;
  int *second = alloca(count * sizeof *second);
  memcpy(second, first, count * sizeof *second);
  return second[count - 1];
}

static void descend(int depth) {
  if (depth == 3) longjmp(jump, depth);
  descend(depth + 1);
}

static void *work(void *argument) {
  static const unsigned char code[] = {0, 1, 0, 2};
  int me = (int)(long)argument;
  pthread_mutex_lock(&lock);
  both = swap(both);
  for (int i = 0; i < 5; i++) array.words[i] += number;
  fields.x += number;
  fields.y = fields.x * 3;
  fields.z ^= 1;
  either.real = number;
  flexible->items[either.bits & 3] += sum(3, number, me, 1);
  int list[4] = {4, number, 2, 1};
  qsort(list, 4, sizeof *list, compare);
  sorted += list[0];
  label = interpret(code, number);
  variable = of_any_length(5);
  lanes += (vector){number, 1, 2, 3};
  wide = wide * 3 + number;
  extended *= number;
  real = real * 1.5 + number;
  int next;
  __asm__("leal 1(%1), %0" : "=r"(next) : "r"(number));
  number = (next + __builtin_popcount(next) + (int)__builtin_bswap32(next)) & 0xff;
  pthread_mutex_unlock(&lock);
  return NULL;
}

static int jumps(void *argument) {
  (void)argument;
  int depth = setjmp(jump);
  if (depth == 0) descend(0);
  pthread_mutex_lock(&lock);
  returned = number + depth;
  pthread_mutex_unlock(&lock);
  return depth;
}

int main(void) {
  flexible = calloc(1, sizeof *flexible + 4 * sizeof(int));
  pthread_t first, second;
  thrd_t third;
  pthread_create(&first, NULL, work, (void *)1);
  pthread_create(&second, NULL, work, (void *)2);
  thrd_create(&third, jumps, NULL);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  int depth;
  thrd_join(third, &depth);
  // What only one thread touches is left out of the trace.
  int all = label + variable + returned + sorted + both.a + fields.x + (int)array.words[1];
  all += lanes[0] + (int)wide + (int)extended + (int)real + flexible->items[0];
  return depth == 3 && all != 0 ? 0 : 99;
}
