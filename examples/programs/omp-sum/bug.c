/* Four threads add up the squares of the numbers from 1 to 8.
 *
 * Wrong: all of them add to one variable. If two read it before either writes
 * it back, one square is lost. */
#include <assert.h>
#include <stdio.h>

int main(void)
{
    int sum = 0;

#pragma omp parallel for num_threads(4)
    for (int i = 1; i <= 8; i++)
        sum += i * i; /* a read and a write; another thread fits between */

    assert(sum == 204);
    printf("sum %d\n", sum);
    return 0;
}
