/* Two threads fill a table, then each sums up one half of it.
 *
 * Wrong: with `nowait` a thread that is done with filling does not wait for
 * the other, and sums up what is not there yet. */
#include <assert.h>
#include <stdio.h>

static int table[6], sums[2];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < 6; i++)
            table[i] = i + 1;
#pragma omp for schedule(static)
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < 3; i++)
                sums[half] += table[3 * half + i];
    }

    assert(sums[0] == 6 && sums[1] == 15);
    printf("sums %d and %d\n", sums[0], sums[1]);
    return 0;
}
