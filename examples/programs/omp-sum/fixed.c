/* Four threads add up the squares of the numbers from 1 to 8.
 *
 * Corrected: each adds to a sum of its own, and OpenMP adds these up. */
#include <assert.h>
#include <stdio.h>

int main(void)
{
    int sum = 0;

#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 1; i <= 8; i++)
        sum += i * i;

    assert(sum == 204);
    printf("sum %d\n", sum);
    return 0;
}
