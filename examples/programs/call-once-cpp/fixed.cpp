// A table that the first thread to need it creates.
//
// Corrected: std::call_once lets one thread create it and the others wait for it.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

struct Table {
    int squares[4];
};

static std::once_flag created;
static Table *table = nullptr;

static int square(int i)
{
    std::call_once(created, [] { table = new Table{{0, 1, 4, 9}}; });
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
