// Each thread puts elements into a list and a set, and takes its own out again, under a lock. What
// it changes are the nodes beside its own: those of the other threads, as long as they are there.
#include <list>
#include <mutex>
#include <set>
#include <thread>

static std::mutex guard;
static std::list<int> list;
static std::set<int> set;

static void put_and_take(int number)
{
    for (int round = 0; round < 2; round++) {
        std::list<int>::iterator mine;
        {
            std::lock_guard<std::mutex> held(guard);
            mine = list.insert(list.end(), number);
            set.insert(number * 7 % 5);
        }
        std::lock_guard<std::mutex> held(guard);
        list.erase(mine);
        set.erase(number * 7 % 5);
    }
}

int main()
{
    std::thread one(put_and_take, 1), other(put_and_take, 2), third(put_and_take, 3);
    one.join();
    other.join();
    third.join();
    return list.empty() && set.empty() ? 0 : 1;
}
