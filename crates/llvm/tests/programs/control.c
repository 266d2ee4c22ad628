// Control flow that is easy to break: jumps, tail calls, variable arguments, assembly.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

jmp_buf target;
int offset = 1;

static int labels(int start) {
  static void *table[] = {&&one, &&ten, &&hundred};
  int sum = 0;
  goto *table[start % 3];
one:
  sum += 1;
  goto *table[1];
ten:
  sum += 10;
  goto *table[2];
hundred:
  return sum + 100;
}

static int choose(long value) {
  switch (value) {
  case 1: return 5;
  case 2 ... 9: return 6;
  case -7: return 9;
  case 1000000000000: return 3;
  default: return 7;
  }
}

static void dive(int depth) {
  if (depth == 0)
    longjmp(target, 7);
  dive(depth - 1);
}

static int jumps(void) {
  volatile int count = 0;
  int result = setjmp(target);
  count++;
  if (result == 0)
    dive(3);
  return count * 10 + result;
}

static int sum(int count, ...) {
  va_list list, copy;
  va_start(list, count);
  va_copy(copy, list);
  int sum = va_arg(copy, int);
  for (int i = 0; i < count; i++)
    sum += va_arg(list, int);
  va_end(list);
  va_end(copy);
  return sum;
}

static int print(const char *format, ...) {
  va_list list;
  va_start(list, format);
  int size = vprintf(format, list);
  va_end(list);
  return size;
}

static int variable_length(int count) {
  int numbers[count];
  for (int i = 0; i < count; i++)
    numbers[i] = i;
  char *bytes = __builtin_alloca(count);
  __builtin_memset(bytes, 1, count);
  int sum = bytes[count - 1];
  for (int *number = numbers; number < numbers + count; number++)
    sum += *number;
  return sum;
}

static int twice(int n) { return n * 2 + offset; }
int (*indirect)(int) = twice;
static int tail(int n) { __attribute__((musttail)) return twice(n); }
static int indirect_tail(int n) { __attribute__((musttail)) return indirect(n); }

static int assembly(int n) {
  __asm__ goto("cmp $3, %0; je %l1" : : "r"(n) : "cc" : three);
  return 1;
three:
  return 2;
}

__attribute__((naked)) int bare(void) { __asm__("mov $42, %eax; ret"); }
__attribute__((pure)) int pure(const int *number) { return *number + 1; }
extern int missing(void) __attribute__((weak));

static int merge(int which, int *other) {
  int a = 1, b = 2;
  int *one = which == 0 ? &a : which == 1 ? &b : other;
  *one += 5;
  return a * 10 + b;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
  printf("%d %d %d\n", labels(0), labels(1), labels(2));
  printf("%d %d %d %d\n", choose(1), choose(5), choose(-7), choose(1000000000000));
  printf("%d %d %d\n", jumps(), sum(3, 1, 2, 3), sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  printf("%d\n", print("%d %s %g\n", 5, "text", 2.5));
  printf("%d %d %d\n", variable_length(10), tail(4), indirect_tail(5));
  printf("%d %d %d\n", assembly(3), assembly(4), bare());
  printf("%d %d\n", pure(&offset) + pure(&offset), missing ? missing() : 0);
  printf("%d %d %d %d\n", merge(0, &offset), merge(1, &offset), merge(2, &offset), offset);
  int numbers[5] = {5, 3, 1, 4, 2};
  qsort(numbers, 5, sizeof *numbers, compare);
  printf("%d %d\n", numbers[0], numbers[4]);
  return 0;
}
