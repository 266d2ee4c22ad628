/* Sinha and Wang, Staged Concurrent Program Analysis, section 1.1.
 *
 * T1 stores what it read plus 100, whatever that was. The assertion fails by S3 S1 S4 S2 A: S1
 * reads 0, so that S2 stores 100. */
#include <assert.h>
#include <pthread.h>

static int x, z[100];

static void *first(void *unused)
{
    int a = x; /* S1 */
    for (int i = 1; i < 100; i++) {
        a = a + 1;
        z[i] = a;
    }
    a = a + 1;
    x = a; /* S2 */
    return unused;
}

static void *second(void *unused)
{
    x = 0;                          /* S3 */
    x = 5;                          /* S4 */
    int seen = x;                   /* R */
    assert(seen == 5 || seen >= 105); /* A */
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
//? run: S3 S4 S1 S2 R
//? values: race x S1 S3; race x S1 S4; race x S2 R
//? symbolic: assertion A; race x S1 S3; race x S1 S4; race x S2 R; race x S2 S4; race x S2 S3
