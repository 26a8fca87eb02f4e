/* The least that any server has to do for the loads of `stepdown bench`: frames in, prepared answers out, one thread
   around epoll. It knows nothing of Kafka but where a frame's correlation id is. bench/questions/floors.py compiles and
   starts it; bench/questions/floor.py does the same in Python.

     floor fetch PORT PLAN THREADS sendfile|relay|moved|copied|mapped|windows READ SEND MESSAGE
     floor produce PORT PLAN THREADS PARTITION_AT RECORDS_AT

   A plan has a line for each piece of an answer, in order: `bytes SIZE PATH` or `slice SIZE PATH`, the first of them
   bytes with size and correlation id in front. Slices go out

     sendfile   by sendfile
     relay      READ bytes at a time: pread into a buffer, in pieces, and SEND bytes of it into the socket
     moved      the same, and what is sent is copied out of that buffer into another, message by message: what a
                converter cannot do without whose messages have other heads than the records they were
     copied     as relay without pread: copied into the buffer out of the mapped file
     mapped     straight out of the mapped file, as if what is changed took no place
     windows    likewise, but the file is mapped a megabyte at a time, and no more of it than that: what is mapped counts
                as memory of the process

   and where MESSAGE is not 0 with the sums that a converter cannot leave out: CRC-32C of what was read, and CRC-32 of
   every MESSAGE bytes that are sent. Of a produce request the batch is summed and appended to the slice of its
   partition, which stands at PARTITION_AT; the answer is always the first piece. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc.h"

#ifndef MADV_POPULATE_READ /* since Linux 5.14 */
#define MADV_POPULATE_READ 22
#endif

enum { MOST_PIECES = 64, MOST_THREADS = 8, MOST_LANES = 256, EVENTS = 64, PAGE = 4096, LEGACY_SUMMED_FROM = 16 };
enum { SIZE_BYTES = 4, CORRELATION_IN_REQUEST = 8, CORRELATION_IN_ANSWER = 4 };
enum { WINDOW_BYTES = 1024 * 1024, BUFFER_BYTES = 512 * 1024, PIECE_BYTES = 128 * 1024 };
enum { SOCKET_BUFFER_BYTES = 256 * 1024 }; /* stepdown.socket.send.buffer.bytes */

typedef struct {
    int is_slice, fd;
    size_t size;
    const uint8_t *bytes; /* mapped */
} piece;

typedef struct {
    int epoll, spare_count;
    uint8_t *spare[MOST_LANES]; /* buffers, the one used last on top: it is in the cache */
    uint8_t *stored;            /* what is read, where that is not what is sent */
} worker;

typedef struct {
    int fd, is_sending;
    uint8_t *head; /* the first piece with this lane's correlation id */
    size_t piece, at;
    uint8_t *buffer;    /* what is received, or the chunk that is sent; NULL when there is nothing */
    size_t begin, end;  /* of the bytes in it */
    const uint8_t *out; /* the chunk: the buffer, or a place in the mapped file */
    uint8_t *window;    /* what is mapped for this lane, from window_at of the piece window_of on; NULL: nothing */
    size_t window_of, window_at;
} lane;

static piece pieces[MOST_PIECES];
static size_t piece_count;
static int is_produce, by_sendfile, by_move, by_copy, by_map, by_window;
static size_t read_bytes, send_bytes, message_bytes, partition_at, records_at;
static volatile uint32_t sums; /* so that no compiler leaves them out */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint32_t number_at(const uint8_t *data) {
    uint32_t number;
    memcpy(&number, data, sizeof number);
    return ntohl(number);
}

static void read_plan(const char *path) {
    char kind[16], file[1024];
    size_t size;
    struct stat whole; /* of a slice more may be read than is sent */
    FILE *plan = fopen(path, "r");
    if (!plan) fail(path);
    while (piece_count < MOST_PIECES && fscanf(plan, "%15s %zu %1023s", kind, &size, file) == 3) {
        piece *new = &pieces[piece_count++];
        new->is_slice = strcmp(kind, "slice") == 0;
        new->size = size;
        new->fd = open(file, is_produce && new->is_slice ? O_WRONLY | O_APPEND : O_RDONLY);
        if (new->fd < 0) fail(file);
        if (is_produce && new->is_slice) continue;
        if (fstat(new->fd, &whole)) fail(file);
        new->bytes = mmap(NULL, (size_t)whole.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, new->fd, 0);
        if (new->bytes == MAP_FAILED) fail(file);
    }
    fclose(plan);
    if (!piece_count || pieces[0].is_slice) fail("the plan does not begin with bytes");
}

static uint8_t *take_buffer(worker *mine) {
    if (mine->spare_count) return mine->spare[--mine->spare_count];
    void *buffer;
    if (posix_memalign(&buffer, PAGE, BUFFER_BYTES)) fail("memory");
    return memset(buffer, 0, BUFFER_BYTES);
}

static void leave_buffer(worker *mine, lane *its) {
    if (its->buffer) mine->spare[mine->spare_count++] = its->buffer;
    its->buffer = NULL;
    its->begin = its->end = 0;
}

static void leave_window(lane *its) {
    if (its->window) munmap(its->window, WINDOW_BYTES + PAGE);
    its->window = NULL;
}

/* A place in the file, mapped with all that follows up to `size` bytes; in most cases it is already. */
static const uint8_t *in_window(lane *its, const piece *from, size_t position, size_t size) {
    int is_there = its->window && its->window_of == its->piece && position >= its->window_at &&
                   position + size <= its->window_at + WINDOW_BYTES + PAGE;
    if (!is_there) {
        leave_window(its);
        its->window_of = its->piece, its->window_at = position / PAGE * PAGE;
        its->window = mmap(NULL, WINDOW_BYTES + PAGE, PROT_READ, MAP_SHARED, from->fd, (off_t)its->window_at);
        if (its->window == MAP_FAILED) fail("mmap");
        madvise(its->window, WINDOW_BYTES + PAGE, MADV_POPULATE_READ); /* as far as the file goes */
    }
    return its->window + (position - its->window_at);
}

static void hang_up(worker *mine, lane *its) {
    leave_window(its);
    leave_buffer(mine, its);
    close(its->fd);
    free(its->head);
    free(its);
}

/* Bytes of the frame at `data`, its size field counted; 0: not all there, -1: nothing to go on with. */
static ssize_t frame_bytes(const uint8_t *data, size_t there) {
    if (there < SIZE_BYTES) return 0;
    size_t size = (size_t)number_at(data) + SIZE_BYTES;
    if (size > BUFFER_BYTES || size < CORRELATION_IN_REQUEST + 4) return -1;
    return there < size ? 0 : (ssize_t)size;
}

/* --- fetch ------------------------------------------------------------------------------------------------------- */

/* Where what becomes the chunk's byte at `at` is stored, from where its first is on. */
static size_t stored_at(size_t at) { return at * read_bytes / send_bytes; }

/* Reads what the chunk's bytes from `begin` to `end` are made of, moves and sums them while they are in the cache. */
static void make_piece(worker *mine, lane *its, const piece *from, size_t position, size_t begin, size_t end) {
    size_t first = stored_at(begin), size = stored_at(end) - first;
    const uint8_t *stored = by_copy ? from->bytes + position + first : its->out + first;
    if (by_copy) {
        memcpy(its->buffer + first, stored, size);
    } else if (!by_map && !by_window) {
        uint8_t *read = by_move ? mine->stored : its->buffer + first;
        if (pread(from->fd, read, size, (off_t)(position + first)) != (ssize_t)size) fail("pread");
        stored = read;
    }
    if (!message_bytes) return;
    uint32_t sum = crc32c_update(0, stored, size);
    for (size_t at = begin; at + message_bytes <= end; at += message_bytes) {
        size_t record = stored_at(at) - first, left = size - record;
        if (by_move) memcpy(its->buffer + at, stored + record, message_bytes < left ? message_bytes : left);
        sum ^= crc32_update(0, its->out + at + LEGACY_SUMMED_FROM, message_bytes - LEGACY_SUMMED_FROM);
    }
    sums ^= sum;
}

static void make_chunk(worker *mine, lane *its, const piece *from, size_t left) {
    size_t size = left < send_bytes ? left : send_bytes, position = stored_at(its->at);
    size_t step = message_bytes ? (PIECE_BYTES - 1) / message_bytes * message_bytes + message_bytes : PIECE_BYTES;
    if (by_window) {
        its->out = in_window(its, from, position, stored_at(size) > size ? stored_at(size) : size);
    } else if (by_map) {
        its->out = from->bytes + position;
    } else {
        its->out = its->buffer = take_buffer(mine);
    }
    for (size_t at = 0; at < size; at += step) make_piece(mine, its, from, position, at, at + step < size ? at + step : size);
    its->begin = 0, its->end = size;
}

static ssize_t send_slice(worker *mine, lane *its, const piece *from) {
    size_t left = from->size - its->at;
    if (by_sendfile) {
        off_t position = (off_t)its->at;
        return sendfile(its->fd, from->fd, &position, left);
    }
    if (its->begin == its->end) make_chunk(mine, its, from, left);
    ssize_t sent = send(its->fd, its->out + its->begin, its->end - its->begin, MSG_NOSIGNAL);
    if (sent > 0) its->begin += (size_t)sent;
    if (its->begin == its->end) leave_buffer(mine, its);
    return sent;
}

/* 1: all is sent, 0: the socket is full, -1: the peer has gone. */
static int send_answer(worker *mine, lane *its) {
    for (; its->piece < piece_count; its->piece++, its->at = 0) {
        const piece *each = &pieces[its->piece];
        const uint8_t *bytes = its->piece ? each->bytes : its->head;
        int flags = MSG_NOSIGNAL | (its->piece + 1 < piece_count ? MSG_MORE : 0);
        while (its->at < each->size) {
            ssize_t sent = each->is_slice ? send_slice(mine, its, each)
                                          : send(its->fd, bytes + its->at, each->size - its->at, flags);
            if (sent <= 0) return sent < 0 && errno == EAGAIN ? 0 : -1;
            its->at += (size_t)sent;
        }
    }
    return 1;
}

/* One request at a time: its answer begins when all of it is there. */
static int answer_fetch(worker *mine, lane *its) {
    if (!its->is_sending) {
        uint8_t request[PAGE];
        ssize_t held = recv(its->fd, request, sizeof request, MSG_PEEK);
        if (held <= 0) return held < 0 && errno == EAGAIN ? 0 : -1;
        ssize_t size = frame_bytes(request, (size_t)held);
        if (size <= 0) return held == PAGE ? -1 : (int)size;
        if (recv(its->fd, request, (size_t)size, 0) != size) return -1;
        memcpy(its->head + CORRELATION_IN_ANSWER, request + CORRELATION_IN_REQUEST, 4);
        its->is_sending = 1;
        its->piece = its->at = 0;
    }
    int done = send_answer(mine, its);
    if (done) its->is_sending = 0;
    return done;
}

/* --- produce ----------------------------------------------------------------------------------------------------- */

static int append(const uint8_t *frame, size_t size) {
    if (size <= records_at) return -1;
    size_t partition = number_at(frame + partition_at);
    if (partition >= piece_count - 1) return -1;
    sums ^= crc32c_update(0, frame + records_at, size - records_at);
    ssize_t left = (ssize_t)(size - records_at);
    return write(pieces[1 + partition].fd, frame + records_at, (size_t)left) == left ? 0 : -1;
}

/* All requests that are there, answered together. */
static int answer_produce(worker *mine, lane *its) {
    if (!its->buffer) its->buffer = take_buffer(mine);
    ssize_t got = recv(its->fd, its->buffer + its->end, BUFFER_BYTES - its->end, 0);
    if (got <= 0) return got < 0 && errno == EAGAIN ? 0 : -1;
    its->end += (size_t)got;
    uint8_t answers[PAGE];
    size_t answered = 0, answer = pieces[0].size;
    ssize_t size;
    while ((size = frame_bytes(its->buffer + its->begin, its->end - its->begin)) > 0) {
        uint8_t *frame = its->buffer + its->begin;
        if (append(frame, (size_t)size) || answered + answer > sizeof answers) return -1;
        memcpy(answers + answered, pieces[0].bytes, answer);
        memcpy(answers + answered + CORRELATION_IN_ANSWER, frame + CORRELATION_IN_REQUEST, 4);
        answered += answer;
        its->begin += (size_t)size;
    }
    if (size < 0) return -1;
    size_t held = its->end - its->begin;
    if (!held) {
        leave_buffer(mine, its);
    } else if (held < SIZE_BYTES || its->begin + number_at(its->buffer + its->begin) + SIZE_BYTES > BUFFER_BYTES) {
        memmove(its->buffer, its->buffer + its->begin, held);
        its->begin = 0, its->end = held;
    }
    return !answered || send(its->fd, answers, answered, MSG_NOSIGNAL) == (ssize_t)answered ? 1 : -1;
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static void *work(void *argument) {
    worker *mine = argument;
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(mine->epoll, events, EVENTS, -1);
        for (int at = 0; at < count; at++) {
            lane *its = events[at].data.ptr;
            if ((is_produce ? answer_produce(mine, its) : answer_fetch(mine, its)) < 0) hang_up(mine, its);
        }
    }
    return NULL;
}

static int listening(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 64)) fail("listen");
    return fd;
}

static void welcome(worker *its_worker, int fd) {
    int on = 1, room = SOCKET_BUFFER_BYTES;
    lane *new = calloc(1, sizeof *new);
    if (!new || !(new->head = malloc(pieces[0].size))) fail("memory");
    new->fd = fd;
    memcpy(new->head, pieces[0].bytes, pieces[0].size);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct epoll_event event = {.events = is_produce ? EPOLLIN : EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = new};
    epoll_ctl(its_worker->epoll, EPOLL_CTL_ADD, fd, &event);
}

int main(int count, char **arguments) {
    static worker workers[MOST_THREADS];
    is_produce = count == 7 && strcmp(arguments[1], "produce") == 0;
    if (!is_produce && count != 9) return 2;
    crc_prepare();
    read_plan(arguments[3]);
    int threads = atoi(arguments[4]);
    if (threads < 1 || threads > MOST_THREADS) return 2;
    if (is_produce) {
        partition_at = strtoul(arguments[5], NULL, 10);
        records_at = strtoul(arguments[6], NULL, 10);
        if (partition_at + 4 > records_at) return 2;
    } else {
        by_sendfile = strcmp(arguments[5], "sendfile") == 0;
        by_move = strcmp(arguments[5], "moved") == 0;
        by_copy = strcmp(arguments[5], "copied") == 0;
        by_map = strcmp(arguments[5], "mapped") == 0;
        by_window = strcmp(arguments[5], "windows") == 0;
        read_bytes = strtoul(arguments[6], NULL, 10);
        send_bytes = strtoul(arguments[7], NULL, 10);
        message_bytes = strtoul(arguments[8], NULL, 10);
        int is_small = message_bytes && message_bytes <= LEGACY_SUMMED_FROM;
        if (by_move && !message_bytes) return 2;
        if (!read_bytes || !send_bytes || read_bytes > BUFFER_BYTES || send_bytes > BUFFER_BYTES || is_small) return 2;
    }
    int listener = listening(atoi(arguments[2]));
    for (int at = 0; at < threads; at++) {
        pthread_t thread;
        workers[at].epoll = epoll_create1(0);
        workers[at].stored = take_buffer(&workers[at]);
        if (pthread_create(&thread, NULL, work, &workers[at])) fail("thread");
    }
    for (unsigned turn = 0;; turn++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (fd < 0) fail("accept");
        welcome(&workers[turn % (unsigned)threads], fd);
    }
}
