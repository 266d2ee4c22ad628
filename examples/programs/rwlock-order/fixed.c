/* A table behind a reader-writer lock and a log behind a mutex.
 *
 * Corrected: both take the table before the log. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int table = 3;
static int log_lines, reported;

static void *report(void *unused)
{
    pthread_rwlock_rdlock(&table_lock);
    pthread_mutex_lock(&log_lock);
    reported = table;
    log_lines++;
    pthread_mutex_unlock(&log_lock);
    pthread_rwlock_unlock(&table_lock);
    return unused;
}

static void *update(void *unused)
{
    pthread_rwlock_wrlock(&table_lock);
    pthread_mutex_lock(&log_lock);
    table = 4;
    log_lines++;
    pthread_mutex_unlock(&log_lock);
    pthread_rwlock_unlock(&table_lock);
    return unused;
}

int main(void)
{
    pthread_t reporter, updater;

    pthread_create(&reporter, NULL, report, NULL);
    pthread_create(&updater, NULL, update, NULL);
    pthread_join(reporter, NULL);
    pthread_join(updater, NULL);

    assert(reported == 3 || reported == 4);
    assert(table == 4 && log_lines == 2);
    printf("%d lines\n", log_lines);
    return 0;
}
