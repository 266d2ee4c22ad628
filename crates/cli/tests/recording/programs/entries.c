// A block of structures, and updates through an index. TWIN: each thread has an index of its own.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct entry {
    char tag;
    int count;
    short owner;
};

static struct entry *table;
static int used;

static void add(void)
{
#ifdef TWIN
    int mine = __atomic_fetch_add(&used, 1, __ATOMIC_SEQ_CST);
#else
    int mine = __atomic_load_n(&used, __ATOMIC_SEQ_CST);
    __atomic_store_n(&used, mine + 1, __ATOMIC_SEQ_CST);
#endif
    if (mine < 0 || mine > 4)
        return;
    table[mine].count++;
}

static void *worker(void *unused)
{
    add();
    return unused;
}

int main(void)
{
    pthread_t a, b;
    struct entry *block = malloc(5 * sizeof *block);
    for (int i = 0; i < 5; i++)
        block[i].count = 0;
    table = block;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(table[0].count < 2);
    free(block);
    return 0;
}
