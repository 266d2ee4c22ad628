/* Sinha and Wang, Staged Concurrent Program Analysis, Fig. 1; the figure is lost in our text, and
 * rebuilt so that a run of one thread after the other ends in 3.
 *
 * The assertion fails if both threads read 0 first. Two passing runs, in which the threads come in
 * different orders, say so together; neither does alone. */
#include <assert.h>
#include <pthread.h>

static int x = 7;

static void *body(void *unused)
{
    if (x < 1) {       /* R1 */
        int tmp = x;   /* R2 */
        x = tmp + 1;   /* W2 */
    } else {
        int tmp = x;   /* R3 */
        x = tmp + 2;   /* W3 */
    }
    return unused;
}

int main(void)
{
    pthread_t t1, t2;

    x = 0; /* W1 */
    pthread_create(&t1, NULL, body, NULL);
    pthread_create(&t2, NULL, body, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    int last = x;      /* R4 */
    assert(last == 3); /* error */
    return 0;
}
//? run: T1.R1 T1.R2 T1.W2 T2.R1 T2.R3 T2.W3
//? symbolic, assertion: none
//? run: T2.R1 T2.R2 T2.W2 T1.R1 T1.R3 T1.W3
//? symbolic, assertion: none
//? merged, assertion: assertion error
