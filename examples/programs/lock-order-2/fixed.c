/* A journal and an index, each with its lock. One thread appends, the other
 * compacts; both touch the two structures.
 *
 * Corrected: both take the lock of the journal first. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal_entries = 4;
static int index_entries = 4;

static void *append(void *unused)
{
    pthread_mutex_lock(&journal_lock);
    pthread_mutex_lock(&index_lock);
    journal_entries += 2;
    index_entries += 2;
    pthread_mutex_unlock(&index_lock);
    pthread_mutex_unlock(&journal_lock);
    return unused;
}

static void *compact(void *unused)
{
    pthread_mutex_lock(&journal_lock);
    pthread_mutex_lock(&index_lock);
    index_entries -= 1;
    journal_entries -= 1;
    pthread_mutex_unlock(&index_lock);
    pthread_mutex_unlock(&journal_lock);
    return unused;
}

int main(void)
{
    pthread_t appender, compactor;

    pthread_create(&appender, NULL, append, NULL);
    pthread_create(&compactor, NULL, compact, NULL);
    pthread_join(appender, NULL);
    pthread_join(compactor, NULL);

    assert(journal_entries == 5 && index_entries == 5);
    printf("%d entries\n", journal_entries);
    return 0;
}
