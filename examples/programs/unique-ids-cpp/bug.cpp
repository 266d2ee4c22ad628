// Two threads draw numbers that nobody else has.
//
// Wrong: each step is atomic, but the two together are not, so that both threads
// can draw the same number. There is no data race.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

class Numbers {
public:
    unsigned draw()
    {
        unsigned number = next_; // an atomic load
        next_ = number + 1;      // and an atomic store
        return number;
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
