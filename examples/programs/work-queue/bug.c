/* Two workers draw the numbers of their jobs from one counter.
 *
 * Wrong: the number is read in one critical section and counted up in another.
 * Each access is locked, so there is no data race, but two workers can draw the
 * same job. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 2, JOBS_EACH = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int next_job = 1;
static int total;

static int draw(void)
{
    pthread_mutex_lock(&guard);
    int job = next_job;
    pthread_mutex_unlock(&guard); /* from here on others draw this number too */
    pthread_mutex_lock(&guard);
    next_job = job + 1;
    pthread_mutex_unlock(&guard);
    return job;
}

static void *work(void *unused)
{
    for (int i = 0; i < JOBS_EACH; i++) {
        int job = draw();
        pthread_mutex_lock(&guard);
        total += job;
        pthread_mutex_unlock(&guard);
    }
    return unused;
}

int main(void)
{
    pthread_t workers[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);

    assert(total == 1 + 2 + 3 + 4);
    printf("total %d\n", total);
    return 0;
}
