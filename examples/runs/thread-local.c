// Variables of which each thread has its own, zero at first.
// -DWRONG: a thread takes its own one for that of `main`.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static _Thread_local int mine;
static int *of_main;

static void *work(void *unused) {
    mine += 2;
#ifdef WRONG
    assert(*of_main == 2);
#else
    assert(*of_main == 1 && mine == 2);
#endif
    return unused;
}

int main(void) {
    of_main = &mine;
    mine = 1;
    pthread_t threads[2];
    for (int number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, work, NULL);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    assert(mine == 1);
    return 0;
}
