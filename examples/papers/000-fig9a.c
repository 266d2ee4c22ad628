/* Wang et al., Symbolic Predictive Analysis for Concurrent Programs, Fig. 9 (a) and 10;
 * the figure is lost in our text, and rebuilt.
 *
 * Not violable: t5 needs t3 to see what t2 wrote. Only the model that leaves data out
 * says that t5 may come in between. */
#include "foretrace.h"
#include <pthread.h>

static int x;

static void *first(void *unused)
{
    int a;

    FORETRACE_ATOMIC_BEGIN();
    a = x; /* t1 */
    x = 1; /* t2 */
    FORETRACE_ATOMIC_END();
    (void)a;
    return unused;
}

static void *second(void *unused)
{
    int b = x;  /* t3 */
    if (b > 0)  /* t4 */
        x = 3;  /* t5 */
    return unused;
}

int main(void)
{
    pthread_t t1, t2;

    pthread_create(&t1, NULL, first, NULL);
    pthread_create(&t2, NULL, second, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
//? run: t1 t2 t3 t5
//? values: race x t2 t3
//? symbolic: race x t2 t3
//? control: atomicity t1 t5 t2; race x t2 t3; race x t1 t5; race x t2 t5
