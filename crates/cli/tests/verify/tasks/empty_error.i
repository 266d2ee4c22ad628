// -DGOOD: bug
// --property ../tasks/unreach-call.prp -DGOOD: bug
typedef unsigned long int pthread_t;
union pthread_attr_t {
  char __size[56];
  long int __align;
};
typedef union pthread_attr_t pthread_attr_t;
extern int pthread_create(pthread_t *__restrict __newthread, const pthread_attr_t *__restrict __attr, void *(*__start_routine)(void *), void *__restrict __arg) __attribute__((__nothrow__)) __attribute__((__nonnull__(1, 3)));
extern void abort(void) __attribute__((__nothrow__, __leaf__)) __attribute__((__noreturn__));
void reach_error() {}
# 12 "empty_error.c"
int x;
void *f(void *arg) {
  x = 1;
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  if (x == 1) {
  ERROR: {
    reach_error();
    abort();
  }
  }
  return 0;
}
