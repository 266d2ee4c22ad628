// A table that the first thread to need it creates.
//
// Wrong: two threads can both find no table and create one each; and even if not,
// the look of one races with the store of the other.
#include <cassert>
#include <cstdio>
#include <thread>

struct Table {
    int squares[4];
};

static Table *table = nullptr;

static int square(int i)
{
    if (table == nullptr)                // looks at the pointer
        table = new Table{{0, 1, 4, 9}}; // while another thread stores it
    return table->squares[i];
}

int main()
{
    int first_result = 0;
    int second_result = 0;
    std::thread first([&] { first_result = square(2); });
    std::thread second([&] { second_result = square(3); });

    first.join();
    second.join();
    assert(first_result == 4 && second_result == 9);
    std::printf("%d %d\n", first_result, second_result);
    delete table;
    return 0;
}
