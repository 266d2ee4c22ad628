/* One thread reads the settings, and all of them use what it has read.
 *
 * Corrected: `single` has a barrier at its end. */
#include <assert.h>
#include <omp.h>
#include <stdio.h>

static int scale;
static int results[3];

int main(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        scale = 10;
        int number = omp_get_thread_num();
        results[number] = scale * (number + 1);
    }

    assert(results[0] + results[1] + results[2] == 60);
    printf("results %d %d %d\n", results[0], results[1], results[2]);
    return 0;
}
