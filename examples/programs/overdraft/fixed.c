/* Two owners of one account draw money from it; meanwhile the salary comes in.
 *
 * Corrected: the money is counted and drawn in one critical section. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *withdraw(void *unused)
{
    pthread_mutex_lock(&guard);
    printf("the balance is %d\n", balance);
    if (balance >= 80) {
        balance -= 80;
        assert(balance >= 0);
    }
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *pay_in(void *unused)
{
    pthread_mutex_lock(&guard);
    balance += 60;
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(void)
{
    pthread_t first, second, salary;

    pthread_create(&first, NULL, withdraw, NULL);
    pthread_create(&salary, NULL, pay_in, NULL);
    pthread_create(&second, NULL, withdraw, NULL);
    pthread_join(first, NULL);
    pthread_join(salary, NULL);
    pthread_join(second, NULL);

    printf("the account is not overdrawn\n");
    return 0;
}
