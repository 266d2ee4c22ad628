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
    if (first != std::list<int>{6, 2, 3, 4, 1, 5})
        return 3;
    std::list<int> reversed{5, 1, 4, 3, 2, 6}, none;
    first.reverse();
    none.reverse();
    if (first != reversed || !none.empty())
        return 4;
    // Both empty, one of them, the other one, none of them; a list with itself.
    none.swap(second);
    first.swap(second);
    if (second != reversed || !first.empty())
        return 5;
    first.swap(second);
    second.push_back(7);
    first.swap(second);
    first.swap(first);
    if (first != std::list<int>{7} || second != reversed)
        return 6;
    second.sort();
    std::list<int> backwards(second.rbegin(), second.rend());
    bool sorted = second == std::list<int>{1, 2, 3, 4, 5, 6};
    return sorted && backwards == std::list<int>{6, 5, 4, 3, 2, 1} ? 0 : 7;
}

int main()
{
    int status = 8;
    std::thread thread([&] { status = work(); });
    thread.join();
    return status;
}
