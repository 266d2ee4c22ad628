// A read through an index: what is found there depends on how far others have come. TWIN: they cannot come so far.
#include <assert.h>
#include <pthread.h>

static int price[4] = {10, 20, 30, 40};
static int turn;

static void *advance(void *unused)
{
    __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
#ifndef TWIN
    __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
#endif
    return unused;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, advance, NULL);
    int now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
    assert(price[now & 3] != 30);
    pthread_join(a, NULL);
    return 0;
}
