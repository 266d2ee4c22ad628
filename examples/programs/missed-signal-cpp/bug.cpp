// A printer waits for a sum. Main has its four parts computed, one after the
// other, adds them up and notifies.
//
// Wrong: the printer waits without a predicate. A notification that comes first
// is lost, and the printer waits for ever.
#include <cassert>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex guard;
static std::condition_variable ready;
static int sum = 0;
static int printed = 0;

static void print()
{
    std::unique_lock<std::mutex> hold(guard);
    ready.wait(hold); // for a notification that may be over
    printed = sum;
}

int main()
{
    int total = 0;
    std::thread printer(print);

    for (int part : {10, 20, 30, 40}) {
        std::thread helper([&] { total += part; });
        helper.join();
    }
    {
        std::lock_guard<std::mutex> hold(guard);
        sum = total;
        ready.notify_one();
    }
    printer.join();

    assert(printed == 100);
    std::printf("sum %d\n", printed);
    return 0;
}
