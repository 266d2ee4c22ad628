/* Two workers take jobs from a pool. When all jobs are done, main stops them.
 *
 * Wrong: main raises `stopping` without the lock. A worker that has just seen it
 * down, and does not wait yet, misses the broadcast and waits for ever. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 2, JOBS = 4 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_up = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static int submitted, started, done, stopping;
static int total;

static int next_job(void)
{
    int job = 0;

    pthread_mutex_lock(&guard);
    while (started == submitted && !stopping) /* reads the flag under the lock */
        pthread_cond_wait(&wake_up, &guard);
    if (started < submitted)
        job = ++started;
    pthread_mutex_unlock(&guard);
    return job;
}

static void *work(void *unused)
{
    for (int job = next_job(); job != 0; job = next_job()) {
        int result = job * job;
        pthread_mutex_lock(&guard);
        total += result;
        if (++done == JOBS)
            pthread_cond_signal(&all_done);
        pthread_mutex_unlock(&guard);
    }
    return unused;
}

int main(void)
{
    pthread_t workers[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);

    pthread_mutex_lock(&guard);
    submitted = JOBS;
    pthread_cond_broadcast(&wake_up);
    while (done < JOBS)
        pthread_cond_wait(&all_done, &guard);
    pthread_mutex_unlock(&guard);

    stopping = 1; /* between a worker's look at the flag and its wait */
    pthread_cond_broadcast(&wake_up);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);

    assert(total == 1 + 4 + 9 + 16);
    printf("total %d\n", total);
    return 0;
}
