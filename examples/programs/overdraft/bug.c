/* Two owners of one account draw money from it; meanwhile the salary comes in.
 *
 * Wrong: the money is counted in one critical section and drawn in another. If
 * both count before either draws, the account is overdrawn. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int enough(int amount)
{
    pthread_mutex_lock(&guard);
    int seen = balance;
    pthread_mutex_unlock(&guard); /* from here on others draw this money too */
    printf("the balance is %d\n", seen);
    return seen >= amount;
}

static void *withdraw(void *unused)
{
    if (enough(80)) {
        pthread_mutex_lock(&guard);
        balance -= 80;
        assert(balance >= 0);
        pthread_mutex_unlock(&guard);
    }
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
