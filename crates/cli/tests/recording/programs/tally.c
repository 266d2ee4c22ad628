// Counts in a block that is zero at first, some of which nobody touches in the recorded run. TWIN: each thread counts what is its own.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static long *tally;
static int last;

static void *count(void *unused)
{
#ifdef TWIN
    int mine = __atomic_add_fetch(&last, 1, __ATOMIC_SEQ_CST);
#else
    int mine = __atomic_load_n(&last, __ATOMIC_SEQ_CST) + 1;
    __atomic_store_n(&last, mine, __ATOMIC_SEQ_CST);
#endif
    tally[mine & 7]++;
    return unused;
}

int main(void)
{
    pthread_t a, b;
    tally = calloc(8, sizeof *tally);
    pthread_create(&a, NULL, count, NULL);
    pthread_create(&b, NULL, count, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(tally[2] == 1);
    free(tally);
    return 0;
}
