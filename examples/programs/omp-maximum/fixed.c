/* Three threads look for the largest of some measurements, and take the next
 * two whenever they are done with two.
 *
 * Corrected: the comparison is in the critical section as well. */
#include <assert.h>
#include <stdio.h>

static const int measured[6] = {3, 17, 5, 42, 19, 8};

int main(void)
{
    int largest = 0;

#pragma omp parallel for num_threads(3) schedule(dynamic, 2)
    for (int i = 0; i < 6; i++) {
#pragma omp critical
        {
            if (measured[i] > largest)
                largest = measured[i];
        }
    }

    assert(largest == 42);
    printf("largest %d\n", largest);
    return 0;
}
