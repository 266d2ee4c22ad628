// A dictionary behind a std::shared_mutex that remembers its last successful key.
//
// Corrected: `find` takes the mutex exclusively, since it writes the memo.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

class Dictionary {
public:
    int find(int key)
    {
        std::unique_lock<std::shared_mutex> hold(guard_);
        last_key_ = key;
        return values_[key];
    }

    void set(int key, int value)
    {
        std::unique_lock<std::shared_mutex> hold(guard_);
        values_[key] = value;
    }

    int last_key() const { return last_key_; }

private:
    std::shared_mutex guard_;
    int values_[3] = {7, 8, 9};
    int last_key_ = -1;
};

int main()
{
    Dictionary dictionary;
    int seven = 0, eight = 0;
    std::thread first([&] { seven = dictionary.find(0); });
    std::thread second([&] { eight = dictionary.find(1); });

    dictionary.set(2, 10);
    first.join();
    second.join();
    assert(seven == 7 && eight == 8);
    assert(dictionary.last_key() == 0 || dictionary.last_key() == 1);
    std::printf("%d %d\n", seven, eight);
    return 0;
}
