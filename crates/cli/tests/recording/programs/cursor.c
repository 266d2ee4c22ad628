// A pointer that threads move on. TWIN: in one step.
#include <assert.h>
#include <pthread.h>

static int buffer[6];
static int *cursor = buffer;

static void *append(void *unused)
{
#ifdef TWIN
    int *at = __atomic_fetch_add(&cursor, sizeof *cursor, __ATOMIC_SEQ_CST);
#else
    int *at = __atomic_load_n(&cursor, __ATOMIC_SEQ_CST);
    __atomic_store_n(&cursor, at + 1, __ATOMIC_SEQ_CST);
#endif
    *at = 7;
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, append, NULL);
    pthread_create(&b, NULL, append, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(buffer[0] + buffer[1] == 14);
    return 0;
}
