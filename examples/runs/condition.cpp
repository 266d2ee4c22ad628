// Two threads take what is put there twice. WRONG signals only where nothing was there before, so
// that one of them may wait for ever.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable filled;
static int ready;

static void take() {
    std::unique_lock<std::mutex> held(lock);
    filled.wait(held, [] { return ready > 0; });
    ready--;
}

static void put() {
    std::lock_guard<std::mutex> held(lock);
    ready++;
#ifdef WRONG
    if (ready > 1)
        return;
#endif
    filled.notify_one();
}

int main() {
    std::thread first(take), second(take);
    put();
    put();
    first.join();
    second.join();
    assert(ready == 0);
}
