/* One thread moves money between two accounts, and an auditor adds them up.
 *
 * Corrected: the auditor looks at both accounts in one critical section. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int checking = 100, savings = 100;

static void *audit(void *unused)
{
    pthread_mutex_lock(&guard);
    int sum = checking + savings;
    pthread_mutex_unlock(&guard);

    assert(sum == 200);
    return unused;
}

static void *save(void *unused)
{
    pthread_mutex_lock(&guard);
    checking -= 30;
    savings += 30;
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(void)
{
    pthread_t auditor, saver;

    pthread_create(&auditor, NULL, audit, NULL);
    pthread_create(&saver, NULL, save, NULL);
    pthread_join(auditor, NULL);
    pthread_join(saver, NULL);

    printf("checking %d, savings %d\n", checking, savings);
    return 0;
}
