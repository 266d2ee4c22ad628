// An index from a shared counter: with recorded addresses each thread has a slot of its own. TWIN: the counter has a lock.
#include <assert.h>
#include <pthread.h>

static int next;
static int slot[8];
static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;

static int claim(void)
{
#ifdef TWIN
    pthread_mutex_lock(&counter);
    int mine = next++;
    pthread_mutex_unlock(&counter);
#else
    int mine = __atomic_load_n(&next, __ATOMIC_SEQ_CST);
    __atomic_store_n(&next, mine + 1, __ATOMIC_SEQ_CST);
    (void)counter;
#endif
    return mine;
}

static void *one(void *unused)
{
    slot[claim()] = 1;
    return unused;
}

static void *two(void *unused)
{
    slot[claim()] = 2;
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(slot[0] + slot[1] == 3);
    return 0;
}
