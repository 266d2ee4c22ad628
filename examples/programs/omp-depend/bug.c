/* Three steps of a pipeline, each a task: read, double, write.
 *
 * Wrong: the last step does not say that it needs what the second one computes,
 * only what the first one does. */
#include <assert.h>
#include <stdio.h>

int main(void)
{
    int input = 0, doubled = 0, output = 0;

#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task shared(input) depend(out : input)
        input = 21;
#pragma omp task shared(input, doubled) depend(in : input) depend(out : doubled)
        doubled = 2 * input;
#pragma omp task shared(doubled, output) depend(in : input)
        output = doubled;
    }

    assert(output == 42);
    printf("output %d\n", output);
    return 0;
}
