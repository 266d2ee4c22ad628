/* Main starts a worker and an assistant, and destroys the mutex that guards the
 * result as soon as the worker has reported.
 *
 * Corrected: the worker releases the mutex and then reports. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static sem_t finished;
static int result, extra;

static void *work(void *unused)
{
    pthread_mutex_lock(&guard);
    result = 42;
    pthread_mutex_unlock(&guard);
    sem_post(&finished);
    return unused;
}

static void *assist(void *unused)
{
    extra = 1;
    return unused;
}

int main(void)
{
    pthread_t worker, assistant;

    sem_init(&finished, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&assistant, NULL, assist, NULL);
    pthread_join(assistant, NULL);
    sem_wait(&finished);
    int status = pthread_mutex_destroy(&guard);
    pthread_join(worker, NULL);
    sem_destroy(&finished);

    assert(status == 0);
    assert(result + extra == 43);
    printf("result %d\n", result + extra);
    return 0;
}
