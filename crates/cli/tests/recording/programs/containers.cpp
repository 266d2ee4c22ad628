// Containers under a lock, parts of which are compiled into the C++ library; and a counter that nobody guards.
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

static std::mutex guard;
static std::map<int, int> map;
static std::set<int> set;
static std::list<int> list;
static std::unordered_map<int, int> table;
static long total;

static void work(int number)
{
    for (int i = 0; i < 40; i++) {
        int key = (i * 37 + number * 11) % 50;
        {
            std::lock_guard<std::mutex> held(guard);
            map[key] += i;
            set.insert(key);
            list.push_back(key);
            table[key]++;
            if (i % 3 == 0) {
                map.erase((key * 7) % 50);
                set.erase(key);
                list.pop_front();
                table.erase(key % 5);
            }
        }
        total += i;
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();

    // In order, and as many as there should be.
    int last = -1;
    size_t count = 0;
    for (auto &entry : map) {
        if (entry.first <= last)
            return 1;
        last = entry.first;
        count++;
    }
    return count == map.size() && set.size() <= 50 && !list.empty() && table.size() <= 50 ? 0 : 1;
}
