/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, Fig. 9 (b) and 10,
 * with a semaphore, which does not lose what is posted before the wait.
 *
 * Not violable, no race, nobody stuck, whatever is left out of the data. */
#include "foretrace.h"
#include <pthread.h>
#include <semaphore.h>

static int x;
static sem_t c;

static void *first(void *unused)
{
    int a;

    FORETRACE_ATOMIC_BEGIN();
    x = 1;     /* t1 */
    a = x + 1; /* t2 */
    FORETRACE_ATOMIC_END();
    (void)a;
    sem_post(&c); /* t3 */
    return unused;
}

static void *second(void *unused)
{
    sem_wait(&c); /* t4 */
    x = 3;        /* t5 */
    return unused;
}

int main(void)
{
    pthread_t t1, t2;

    sem_init(&c, 0, 0);
    pthread_create(&t1, NULL, first, NULL);
    pthread_create(&t2, NULL, second, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
//? run: t1 t2 t5
//? values: none
//? symbolic: none
//? control: none
