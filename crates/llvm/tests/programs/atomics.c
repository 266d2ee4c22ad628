// Atomic operations with and without a hook of their own.
#include <stdatomic.h>
#include <stdio.h>

_Atomic int number;
_Atomic signed char small;
_Atomic double real;
_Atomic float fraction = 1;
_Atomic _Bool flag;
_Atomic(char *) pointer;
atomic_flag taken;
char text[16];

int main(void) {
  number = 3;
  number += 4;
  atomic_fetch_sub_explicit(&number, 1, memory_order_relaxed);
  atomic_fetch_or(&number, 8);
  atomic_fetch_xor(&number, 1);
  atomic_fetch_and(&number, 0xff);
  int expected = 15;
  int succeeded = atomic_compare_exchange_strong(&number, &expected, 99);
  printf("%d %d %d\n", number, succeeded, expected);
  expected = 1;
  succeeded = atomic_compare_exchange_weak_explicit(&number, &expected, 5, memory_order_acq_rel,
                                                    memory_order_relaxed);
  printf("%d %d %d\n", number, succeeded, expected);

  small = -5;
  printf("%d %d\n", __atomic_fetch_min((signed char *)&small, -7, __ATOMIC_SEQ_CST), small);
  printf("%d %d\n", __atomic_fetch_max((signed char *)&small, 3, __ATOMIC_SEQ_CST), small);
  printf("%d\n", __atomic_nand_fetch((signed char *)&small, 1, __ATOMIC_SEQ_CST));

  real = 1.5;
  real += 2.25;
  __c11_atomic_fetch_add(&fraction, 2.5f, __ATOMIC_SEQ_CST);
  __c11_atomic_fetch_sub(&fraction, 1.0f, __ATOMIC_RELAXED);
  printf("%g %g\n", real, fraction);

  flag = 1;
  int old = atomic_exchange(&flag, 0);
  pointer = text;
  char *before = atomic_exchange(&pointer, text + 3);
  printf("%d %d %d %d\n", old, flag, before == text, (int)(pointer - text));
  int first = atomic_flag_test_and_set(&taken), second = atomic_flag_test_and_set(&taken);
  printf("%d %d\n", first, second);

  atomic_thread_fence(memory_order_seq_cst);
  atomic_signal_fence(memory_order_seq_cst);
  return 0;
}
