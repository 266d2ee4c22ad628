// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stddef.h>
typedef unsigned long size_tt;
struct list {
  struct list *next, *prev;
};
struct device {
  int id;
};
struct my_data {
  pthread_mutex_t lock;
  struct device dev;
  int shared;
  struct {
    int a, b;
  } sh;
};
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
pthread_t t1, t2;
void *cb(void *arg) {
  struct device *dev = (struct device *)arg;
  struct my_data *data = container_of(dev, struct my_data, dev);
  pthread_mutex_lock(&data->lock);
  data->sh.a = 1;
  data->sh.b = data->sh.b + 1;
  pthread_mutex_unlock(&data->lock);
  return 0;
}
int probe(struct my_data *data) {
  pthread_mutex_init(&data->lock, 0);
  data->sh.a = 0;
  data->sh.b = 0;
  int res = __VERIFIER_nondet_int();
  if (res) return -1;
  struct device *d = &data->dev;
  pthread_create(&t1, 0, cb, (void *)d);
  pthread_create(&t2, 0, cb, (void *)d);
  return 0;
}
void disconnect(struct my_data *data) {
  pthread_join(t1, 0);
  pthread_join(t2, 0);
}
int main() {
  struct my_data data;
  int probe_ret = probe(&data);
  if (probe_ret == 0) {
    disconnect(&data);
#ifdef BUG
    __VERIFIER_assert(data.sh.b == 1);
#else
    __VERIFIER_assert(data.sh.a == 1 && data.sh.b == 2);
#endif
  }
  return 0;
}
