/* A printer waits for a sum. Main has its four parts computed, one after the
 * other, adds them up and signals.
 *
 * Wrong: the printer does not look whether the sum is already there. A signal
 * that comes before the wait wakes nobody, and the printer waits for ever. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { PARTS = 4 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int sum, printed;

static void *print(void *unused)
{
    pthread_mutex_lock(&guard);
    pthread_cond_wait(&ready, &guard); /* for a signal that may be over */
    printed = sum;
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *compute(void *part)
{
    *(int *)part *= 10;
    return NULL;
}

int main(void)
{
    int parts[PARTS] = {1, 2, 3, 4};
    int total = 0;
    pthread_t printer, helper;

    pthread_create(&printer, NULL, print, NULL);
    for (int i = 0; i < PARTS; i++) {
        pthread_create(&helper, NULL, compute, &parts[i]);
        pthread_join(helper, NULL);
        total += parts[i];
    }

    pthread_mutex_lock(&guard);
    sum = total;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&guard);
    pthread_join(printer, NULL);

    assert(printed == 100);
    printf("sum %d\n", printed);
    return 0;
}
