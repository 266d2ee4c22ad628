// Two threads add to the statistics of one object.
//
// Wrong: the class has a mutex, but `add` forgets one of its two fields: the sum
// is guarded, the number of samples is not.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

class Statistics {
public:
    void add(int sample)
    {
        samples_++; // outside the critical section
        std::lock_guard<std::mutex> hold(guard_);
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
