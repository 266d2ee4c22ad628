/* One thread moves money between two accounts, and an auditor adds them up.
 *
 * Wrong: the auditor looks at each account in a critical section of its own. What
 * is moved in between is counted twice. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int checking = 100, savings = 100;

static int look(int *account)
{
    pthread_mutex_lock(&guard);
    int balance = *account; /* out of date as soon as the lock is given back */
    pthread_mutex_unlock(&guard);
    return balance;
}

static void *audit(void *unused)
{
    int sum = look(&checking) + look(&savings);

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
