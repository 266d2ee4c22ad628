// The block is freed and given out again at once, most often at the same address. Only one of the threads frees it, and has never touched what the other one writes.
#include <pthread.h>
#include <stdlib.h>

struct entry {
    long key, value;
};

static struct entry *entry;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int seen;

static void *writes(void *given)
{
    struct entry *mine = given;
    pthread_mutex_lock(&m);
    mine->value = 5;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct entry *old = malloc(sizeof *old);
    pthread_create(&thread, NULL, writes, old);
    // Lets the other one go first, most often.
    for (int i = 0; i < 50; i++)
        seen = i;
    pthread_mutex_lock(&m);
    free(old);
    entry = malloc(sizeof *entry);
    entry->key = 1;
    pthread_mutex_unlock(&m);
    pthread_join(thread, NULL);
    free(entry);
    return 0;
}
