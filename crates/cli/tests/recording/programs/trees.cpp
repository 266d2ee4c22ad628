// Trees of many shapes: after each change they are balanced and ordered.
#include <bits/stl_tree.h>
#include <functional>
#include <list>
#include <thread>

using Tree = std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>>;

static int work()
{
    Tree tree;
    bool has[40] = {};
    unsigned random = 1;
    for (int i = 0; i < 1500; i++) {
        random = random * 1103515245 + 12345;
        int key = (random >> 16) % 40;
        bool insert = (random >> 8) % 256 < (i / 300 % 2 ? 90u : 170u);
        size_t changed = insert ? tree._M_insert_unique(key).second : tree.erase(key);
        if (changed != (insert != has[key]) || !tree.__rb_verify())
            return 1;
        has[key] = insert;
        int next = 0;
        for (int there : tree) {
            while (!has[next])
                next++;
            if (there != next++)
                return 2;
        }
    }

    std::list<int> first{1, 2, 3, 4}, second{5, 6};
    first.splice(std::next(first.begin()), second);
    first.splice(first.end(), first, first.begin(), std::next(first.begin(), 2));
    first.splice(first.begin(), first, first.begin());
    return first == std::list<int>{6, 2, 3, 4, 1, 5} ? 0 : 3;
}

int main()
{
    int status = 4;
    std::thread thread([&] { status = work(); });
    thread.join();
    return status;
}
