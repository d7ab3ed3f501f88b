/* SPDX-License-Identifier: MIT
 *
 * test_memory.c - what memory is available: the files of the system, and that a table heeds them.
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "table/host/memory.h"
#include "table/robin_hood/cpu/arrays.h"

#define ULL(x) ((unsigned long long)(x))

static void equal(uint64_t got, uint64_t wanted, const char *what)
{
    cr_assert_eq(got, wanted, "%s: %llu, wanted %llu", what, ULL(got), ULL(wanted));
}

Test(memory, meminfo)
{
    equal(sw_memory_of_meminfo("MemTotal:  900 kB\nMemFree: 5 kB\nMemAvailable:      700 kB\n"),
          700 * 1024, "MemAvailable");
    equal(sw_memory_of_meminfo("MemAvailable: 0 kB\n"), 0, "none left");
    equal(sw_memory_of_meminfo("MemTotal: 900 kB\nMemFree: 5 kB\n"), UINT64_MAX, "an old kernel");
    equal(sw_memory_of_meminfo("MemAvailable: many kB\n"), UINT64_MAX, "not a number");
    equal(sw_memory_of_meminfo("xMemAvailable: 1 kB\nMemAvailableX: 1 kB\n"), UINT64_MAX, "names");
    equal(sw_memory_of_meminfo(""), UINT64_MAX, "nothing");
    equal(sw_memory_of_meminfo("MemAvailable: 99999999999999999999 kB\n"), UINT64_MAX, "too large");
}

/* ulimit -v counts address space: memory that is mapped already is no longer available. */
Test(memory, address_space)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%llu", &pages), 1);
    fclose(file);
    rlim_t mapped = pages * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = mapped + (1UL << 30);
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_leq(sw_memory_available(), 1UL << 30);
    limit.rlim_cur = mapped / 2;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    uint64_t available = sw_memory_available();
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    equal(available, 0, "below what is mapped");
}

/* --- control groups --------------------------------------------------------------------------- */

static char tree[] = "/tmp/sherwood-groups-XXXXXX";
static char root_2[64], root_1[64];

static void put(const char *root, const char *group, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", root, group);
    for (char *at = path + strlen(tree); *at != '\0'; at++) {
        if (*at == '/' && at > path + strlen(tree)) {
            *at = '\0';
            mkdir(path, 0700);
            *at = '/';
        }
    }
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s%s/%s", root, group, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    fclose(file);
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(tree));
    snprintf(root_2, sizeof(root_2), "%s/2", tree);
    snprintf(root_1, sizeof(root_1), "%s/1", tree);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

static void tear_down(void)
{
    nftw(tree, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static uint64_t groups(const char *text)
{
    return sw_memory_of_groups(text, root_2, root_1, false);
}

TestSuite(control_groups, .init = set_up, .fini = tear_down);

Test(control_groups, version_2)
{
    equal(groups("0::/a/b\n"), UINT64_MAX, "no such files");
    put(root_2, "/a/b", "memory.max", "max\n");
    put(root_2, "/a/b", "memory.current", "4000\n");
    equal(groups("0::/a/b\n"), UINT64_MAX, "no limit");
    put(root_2, "/a", "memory.max", "10000\n");
    equal(groups("0::/a/b\n"), UINT64_MAX, "usage that cannot be read");
    put(root_2, "/a", "memory.current", "7500\n");
    equal(groups("0::/a/b\n"), 2500, "the parent's limit");
    put(root_2, "/a/b", "memory.max", "5000\n");
    equal(groups("0::/a/b\n"), 1000, "the group's own");
    put(root_2, "", "memory.max", "700\n");
    put(root_2, "", "memory.current", "100\n");
    equal(groups("0::/a/b\n"), 600, "the root's, as containers see it");
    equal(groups("0::/\n"), 600, "in the root");
    equal(groups("0::/elsewhere/c\n"), 600, "a path that does not exist");
    put(root_2, "", "memory.current", "800\n");
    equal(groups("0::/a/b\n"), 0, "over the limit");
}

/* The limits alone, whatever is in use: the same at each start. */
Test(control_groups, limits)
{
    put(root_2, "/a/b", "memory.max", "5000\n");
    equal(sw_memory_of_groups("0::/a/b\n", root_2, root_1, true), 5000, "without a usage");
    put(root_2, "/a/b", "memory.current", "4000\n");
    put(root_2, "/a", "memory.max", "4500\n");
    equal(sw_memory_of_groups("0::/a/b\n", root_2, root_1, true), 4500, "the parent's");
    put(root_2, "/a", "memory.max", "max\n");
    put(root_1, "/jobs", "memory.limit_in_bytes", "3000\n");
    equal(sw_memory_of_groups("4:memory:/jobs/7\n0::/a/b\n", root_2, root_1, true), 3000, "both");
    equal(sw_memory_of_groups("", root_2, root_1, true), UINT64_MAX, "nothing");
}

Test(control_groups, page_cache_is_not_used)
{
    put(root_2, "/a", "memory.max", "10000\n");
    put(root_2, "/a", "memory.current", "9900\n");
    put(root_2, "/a", "memory.stat",
        "anon 1000\nfile 8900\nworkingset_active_file 7\nactive_file 5000\ninactive_file 3000\n");
    equal(groups("0::/a\n"), 8100, "version 2");
    put(root_2, "/a", "memory.stat", "active_file 5000\ninactive_file 9000\n");
    equal(groups("0::/a\n"), 10000, "figures of different moments");
    put(root_1, "/a", "memory.limit_in_bytes", "10000\n");
    put(root_1, "/a", "memory.usage_in_bytes", "9000\n");
    put(root_1, "/a", "memory.stat",
        "active_file 1\ninactive_file 2\ntotal_inactive_file 500\ntotal_active_file 100\n");
    equal(groups("4:memory:/a\n"), 1600, "version 1");
}

Test(control_groups, version_1)
{
    put(root_1, "/jobs/7", "memory.limit_in_bytes", "9223372036854771712\n");
    put(root_1, "/jobs/7", "memory.usage_in_bytes", "4096\n");
    equal(groups("9:cpu,memory:/jobs/7\n"), 9223372036854771712ULL - 4096, "no limit");
    put(root_1, "/jobs", "memory.limit_in_bytes", "9000\n");
    put(root_1, "/jobs", "memory.usage_in_bytes", "4000\n");
    equal(groups("9:memory:/jobs/7\n"), 5000, "the parent's");
    equal(groups("9:cpu,memory,pids:/jobs/7\n"), 5000, "one of several controllers");
    equal(groups("9:cpu,xmemory,memoryx:/jobs/7\n8:name=memory:/jobs/7\n"), UINT64_MAX, "others");
    put(root_2, "/b", "memory.max", "2000\n");
    put(root_2, "/b", "memory.current", "500\n");
    equal(groups("9:memory:/jobs/7\n1:pids:/b\n0::/b\n"), 1500, "both versions");
    equal(groups(""), UINT64_MAX, "nothing");
    equal(groups("garbage\n:\n::\n0:memory"), UINT64_MAX, "garbage");
}

/* --- this machine ----------------------------------------------------------------------------- */

Test(memory, this_machine)
{
    uint64_t available = sw_memory_available();
    cr_assert_gt(available, 1 << 20);
    cr_assert_leq(available, sw_memory_installed());
    cr_assert_leq(available, sw_memory_limit(0));
    cr_assert_leq(sw_memory_limit(0), sw_memory_installed());
}

/* What RLIMIT_AS leaves beside other mappings. */
Test(memory, address_space_is_shared)
{
    struct rlimit before, limit;
    cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = 1ULL << 32;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    const uint64_t most = sw_memory_limit(0);
    cr_expect_leq(most, 1ULL << 32);
    cr_expect_eq(sw_memory_limit(1ULL << 31), most < 1ULL << 31 ? most : 1ULL << 31);
    cr_expect_eq(sw_memory_limit(1ULL << 40), 0);
    cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
    cr_expect_eq(sw_memory_limit(1ULL << 40), sw_memory_limit(0), "no limit of addresses");
}

/* Slots that the installed memory would hold, and the available memory does not. */
Test(memory, arrays_heed_what_is_available)
{
    uint64_t available = sw_memory_available();
    struct sw_geometry geometry = {.bytes_total = available / 2};
    void *slots = sw_cpu_arrays_map(&geometry, 0);
    cr_assert_not_null(slots, "half of %llu bytes", ULL(available));
    sw_memory_unmap(slots, geometry.bytes_total);
    geometry.bytes_total = available - available / 50;
    cr_assert_null(sw_cpu_arrays_map(&geometry, 0), "98 %% of %llu bytes", ULL(available));
    geometry.bytes_total = 4096;
    cr_assert_null(sw_cpu_arrays_map(&geometry, sw_memory_installed()), "all of the machine");
}
