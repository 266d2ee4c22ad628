// Races on members of classes, one of a base class, in memory from `new`.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace store {

class Counted {
  public:
    long uses = 0;
};

class Cache : public Counted {
    std::mutex mutex;
    std::condition_variable filled;
    int misses = 0;
    std::vector<int> kept;

  public:
    void look(int key) {
        misses += key;
        uses++;
        std::lock_guard<std::mutex> guard(mutex);
        kept.push_back(key);
        filled.notify_one();
    }
    void await() {
        std::unique_lock<std::mutex> lock(mutex);
        while (kept.empty()) filled.wait(lock);
    }
};

} // namespace store

int main() {
    auto cache = std::make_unique<store::Cache>();
    std::thread first([&] { cache->look(1); });
    std::thread second([&] { cache->look(2); });
    cache->await();
    first.join();
    second.join();
}
