// Two threads add to the statistics of one object.
//
// Corrected: `add` takes the mutex before it touches either field.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

class Statistics {
public:
    void add(int sample)
    {
        std::lock_guard<std::mutex> hold(guard_);
        samples_++;
        sum_ += sample;
    }

    int samples() const { return samples_; }
    int sum() const { return sum_; }

private:
    std::mutex guard_;
    int samples_ = 0;
    int sum_ = 0;
};

int main()
{
    Statistics statistics;
    std::thread first([&] { statistics.add(3); });
    std::thread second([&] { statistics.add(4); });

    first.join();
    second.join();
    assert(statistics.sum() == 7);
    assert(statistics.samples() == 2);
    std::printf("%d samples\n", statistics.samples());
    return 0;
}
