/* Two halves of a table are summed up, the first one by a task.
 *
 * Wrong: nothing waits for the task before its result is used. */
#include <assert.h>
#include <stdio.h>

static const int table[6] = {1, 2, 3, 4, 5, 6};

static int sum(int first)
{
    return table[first] + table[first + 1] + table[first + 2];
}

int main(void)
{
    int halves[2] = {0, 0}, total = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        halves[0] = sum(0);
        halves[1] = sum(3);
        total = halves[0] + halves[1]; /* perhaps before there is a first half */
    }

    assert(halves[0] == 6 && total >= 15);
    printf("halves %d and %d\n", halves[0], halves[1]);
    return 0;
}
