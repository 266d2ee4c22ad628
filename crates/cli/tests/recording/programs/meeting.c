// Two threads tell each other through blocks of memory where they are. With TWIN each tells before it looks, so one of them sees the other.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct place { pthread_mutex_t m; int told, seen; };
static struct place *places[2];

static int get(int *of, struct place *in) {
  pthread_mutex_lock(&in->m);
  int value = *of;
  pthread_mutex_unlock(&in->m);
  return value;
}

static void set(int *of, struct place *in) {
  pthread_mutex_lock(&in->m);
  *of = 1;
  pthread_mutex_unlock(&in->m);
}

static void *meet(void *own) {
  struct place *mine = own == places ? places[0] : places[1];
  struct place *other = own == places ? places[1] : places[0];
#ifdef TWIN
  set(&mine->told, mine);
  int sees = get(&other->told, other);
#else
  int sees = get(&other->told, other);
  set(&mine->told, mine);
#endif
  if (sees)
    set(&mine->seen, mine);
  return 0;
}

int main(void) {
  for (int i = 0; i < 2; i++) {
    places[i] = calloc(1, sizeof(struct place));
    pthread_mutex_init(&places[i]->m, 0);
    places[i]->told = 0;
    places[i]->seen = 0;
  }
  pthread_t one, two;
  pthread_create(&one, 0, meet, places);
  pthread_create(&two, 0, meet, places + 1);
  pthread_join(one, 0);
  pthread_join(two, 0);
  int seen = get(&places[0]->seen, places[0]) + get(&places[1]->seen, places[1]);
  assert(seen > 0);
  return 0;
}
