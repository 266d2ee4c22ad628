// Two threads draw numbers that nobody else has.
//
// Corrected: one read-modify-write.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

class Numbers {
public:
    unsigned draw()
    {
        return next_++;
    }

private:
    std::atomic<unsigned> next_{1};
};

int main()
{
    Numbers numbers;
    unsigned first = 0, second = 0;
    std::thread one([&] { first = numbers.draw(); });
    std::thread two([&] { second = numbers.draw(); });

    one.join();
    two.join();
    assert(first != second);
    std::printf("%u numbers\n", first + second - 1);
    return 0;
}
