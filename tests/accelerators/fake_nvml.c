/* An NVML that reads its cards from a file, so that a test can change them while a program runs.

   NVML_STATE_FILE names it. Fields are separated by '|':
     init|STATUS                     what nvmlInit returns
     count|STATUS                    what nvmlDeviceGetCount returns
     hang|FUNCTION                   that function never returns; it makes a file whose name ends in .hangs
     fail|FUNCTION|STATUS            that function fails
     crash|FUNCTION                  that function ends its process
     gpu|UUID|NAME|TOTAL|USED|UTIL|TEMP|MILLIWATTS|COMPUTE MODE|MIG MODE|STATUS|BUS
     mig|PARENT INDEX|UUID|NAME|TOTAL|USED        (an empty UUID is an empty slot)
     process|UUID|PID|BYTES
   nvml_structs.h is written by the tests from pynvml's own ctypes structures. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nvml_structs.h"

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, UNINITIALIZED = 1, LIBRARY_NOT_FOUND = 12 };
enum { MOST = 64, FIELDS = 12, LENGTH = 128 };

typedef struct { char cell[FIELDS][LENGTH]; } row;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static row rows[MOST];
static int row_count, users;

static void load(void) {
    const char *path = getenv("NVML_STATE_FILE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[FIELDS * LENGTH];
    row_count = 0;
    if (!file) return;
    while (row_count < MOST && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        memset(&rows[row_count], 0, sizeof(row));
        char *rest = line, *cell;
        for (int i = 0; i < FIELDS && (cell = strsep(&rest, "|")); i++)
            snprintf(rows[row_count].cell[i], LENGTH, "%s", cell);
        row_count++;
    }
    fclose(file);
}

/* The nth row of a kind whose second field is `key` (any when NULL). */
static row *find(const char *kind, const char *key, int nth) {
    for (int i = 0; i < row_count; i++)
        if (!strcmp(rows[i].cell[0], kind) && (!key || !strcmp(rows[i].cell[1], key)) && nth-- == 0) return &rows[i];
    return NULL;
}

static long long number(const char *text) { return strtoll(text, NULL, 0); }

/* For tests that wait until a program has come so far: a file beside the state. */
static void say_that_it_hangs(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s.hangs", getenv("NVML_STATE_FILE"));
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

/* Every function begins here: fresh rows, then the hang or the failure that is ordered for it. */
static int enter(const char *function) {
    pthread_mutex_lock(&lock);
    load();
    row *hang = find("hang", function, 0), *fail = find("fail", function, 0);
    int status = fail ? (int)number(fail->cell[2]) : OK;
    if (!status && !users && strcmp(function, "nvmlInit")) status = UNINITIALIZED;
    if (find("crash", function, 0)) _exit(3);
    pthread_mutex_unlock(&lock);
    if (hang) say_that_it_hangs();
    while (hang) pause();
    return status;
}

#define ENTER(name) do { int status_ = enter(name); if (status_) return status_; } while (0)

/* A handle is 1 + the position of a gpu row, or 1001 + that of a mig row. */
static row *behind(void *handle, int *is_mig) {
    intptr_t value = (intptr_t)handle;
    *is_mig = value > 1000;
    return *is_mig ? find("mig", NULL, (int)value - 1001) : find("gpu", NULL, (int)value - 1);
}

static int lost(void *handle) {
    int is_mig;
    row *one = behind(handle, &is_mig);
    return !one ? NOT_FOUND : is_mig ? OK : (int)number(one->cell[10]);
}

#define DEVICE(name, handle) int is_mig; ENTER(name); { int gone_ = lost(handle); if (gone_) return gone_; } \
    row *device = behind(handle, &is_mig)

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    ENTER("nvmlInit");
    row *init = find("init", NULL, 0);
    int status = init ? (int)number(init->cell[1]) : OK;
    if (!status) users++;
    return status;
}

int nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    users--;
    return OK;
}

const char *nvmlErrorString(int status) { return status == OK ? "Success" : "Some Error"; }

int nvmlDeviceGetCount_v2(unsigned int *count) {
    ENTER("nvmlDeviceGetCount");
    row *failing = find("count", NULL, 0);
    if (failing) return (int)number(failing->cell[1]);
    for (*count = 0; find("gpu", NULL, (int)*count); ) (*count)++;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
    ENTER("nvmlDeviceGetHandleByIndex");
    *handle = (void *)(intptr_t)(1 + index);
    return lost(*handle);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    ENTER("nvmlDeviceGetHandleByUUID");
    row *one;
    for (int i = 0; (one = find("gpu", NULL, i)); i++)
        if (!strcmp(one->cell[1], uuid)) { *handle = (void *)(intptr_t)(1 + i); return lost(*handle); }
    for (int i = 0; (one = find("mig", NULL, i)); i++)
        if (!strcmp(one->cell[2], uuid)) { *handle = (void *)(intptr_t)(1001 + i); return OK; }
    return NOT_FOUND;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned int length) {
    DEVICE("nvmlDeviceGetName", handle);
    snprintf(name, length, "%s", device->cell[is_mig ? 3 : 2]);
    return OK;
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned int length) {
    DEVICE("nvmlDeviceGetUUID", handle);
    snprintf(uuid, length, "%s", device->cell[is_mig ? 2 : 1]);
    return OK;
}

int nvmlDeviceGetPciInfo_v3(void *handle, nvmlPciInfo_t *info) {
    DEVICE("nvmlDeviceGetPciInfo", handle);
    if (is_mig) return NOT_SUPPORTED;
    memset(info, 0, sizeof *info);
    snprintf(info->busId, sizeof info->busId, "%.31s", device->cell[11]);
    return OK;
}

static void amounts(row *device, int is_mig, unsigned long long *total, unsigned long long *used) {
    *total = (unsigned long long)number(device->cell[is_mig ? 4 : 3]);
    *used = (unsigned long long)number(device->cell[is_mig ? 5 : 4]);
}

/* The older call counts what the driver keeps for itself (here 512 MiB) as used. */
int nvmlDeviceGetMemoryInfo(void *handle, c_nvmlMemory_t *memory) {
    DEVICE("nvmlDeviceGetMemoryInfo", handle);
    amounts(device, is_mig, &memory->total, &memory->used);
    memory->used += 512ull << 20;
    memory->free = memory->total - memory->used;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, c_nvmlMemory_v2_t *memory) {
    DEVICE("nvmlDeviceGetMemoryInfo_v2", handle);
    if ((memory->version & 0xffffff) != sizeof *memory) return 25;
    amounts(device, is_mig, &memory->total, &memory->used);
    memory->reserved = 512ull << 20;
    memory->free = memory->total - memory->used - memory->reserved;
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, c_nvmlUtilization_t *rates) {
    DEVICE("nvmlDeviceGetUtilizationRates", handle);
    if (is_mig) return NOT_SUPPORTED;
    rates->gpu = (unsigned int)number(device->cell[5]);
    rates->memory = 99; /* the load of the memory bus, which nobody may take for memory in use */
    return OK;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned int *celsius) {
    DEVICE("nvmlDeviceGetTemperature", handle);
    (void)sensor;
    if (is_mig) return NOT_SUPPORTED;
    *celsius = (unsigned int)number(device->cell[6]);
    return OK;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned int *milliwatts) {
    DEVICE("nvmlDeviceGetPowerUsage", handle);
    if (is_mig) return NOT_SUPPORTED;
    *milliwatts = (unsigned int)number(device->cell[7]);
    return OK;
}

int nvmlDeviceGetComputeMode(void *handle, unsigned int *mode) {
    DEVICE("nvmlDeviceGetComputeMode", handle);
    *mode = is_mig ? 0 : (unsigned int)number(device->cell[8]);
    return OK;
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *current, unsigned int *pending) {
    DEVICE("nvmlDeviceGetMigMode", handle);
    if (is_mig || device->cell[9][0] == '-') return NOT_SUPPORTED;
    *current = *pending = (unsigned int)number(device->cell[9]);
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *count) {
    DEVICE("nvmlDeviceGetMaxMigDeviceCount", handle);
    (void)device;
    *count = 7;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int slot, void **mig) {
    DEVICE("nvmlDeviceGetMigDeviceHandleByIndex", handle);
    (void)device;
    char parent[16];
    snprintf(parent, sizeof parent, "%d", (int)(intptr_t)handle - 1);
    row *wanted = find("mig", parent, (int)slot), *one;
    if (!wanted || !wanted->cell[2][0]) return NOT_FOUND;
    for (int i = 0; (one = find("mig", NULL, i)); i++)
        if (one == wanted) *mig = (void *)(intptr_t)(1001 + i);
    return OK;
}

int nvmlDeviceGetAttributes_v2(void *handle, c_nvmlDeviceAttributes *attributes) {
    DEVICE("nvmlDeviceGetAttributes", handle);
    unsigned long long total, used;
    if (!is_mig) return NOT_SUPPORTED;
    amounts(device, 1, &total, &used);
    memset(attributes, 0, sizeof *attributes);
    attributes->gpuInstanceSliceCount = 1;
    attributes->memorySizeMB = total >> 20;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, c_nvmlProcessInfo_v2_t *processes) {
    DEVICE("nvmlDeviceGetComputeRunningProcesses", handle);
    const char *uuid = device->cell[is_mig ? 2 : 1];
    unsigned int found = 0, room = *count;
    for (row *one; (one = find("process", uuid, (int)found)); found++) {
        if (found >= room || !processes) continue;
        memset(&processes[found], 0, sizeof *processes);
        processes[found].pid = (unsigned int)number(one->cell[2]);
        processes[found].usedGpuMemory = (unsigned long long)number(one->cell[3]);
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : OK;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned int *count, c_nvmlProcessInfo_v2_t *processes) {
    DEVICE("nvmlDeviceGetGraphicsRunningProcesses", handle);
    (void)device, (void)processes;
    *count = 0;
    return OK;
}
