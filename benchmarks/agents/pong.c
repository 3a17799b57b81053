/* The smallest agent: answers every request at once, and leaves a prompt open after one update.
 * Starts in about a millisecond, so that what is measured is the relay. Build: cc -O2 -o pong pong.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION "sess_01hv5m2c9dq8w0"
#define LIMIT 65536

static void put(const char *text, size_t left) {
    while (left > 0) {
        ssize_t written = write(1, text, left);
        if (written <= 0) exit(1);
        text += written;
        left -= (size_t)written;
    }
}

static void answer(char *line) {
    static char out[LIMIT + 512];
    int length;
    if (strstr(line, "\"method\":\"session/prompt\"")) {
        length = snprintf(out, sizeof out,
            "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"" SESSION
            "\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\","
            "\"text\":\"Working on it.\"}}}}\n");
        put(out, (size_t)length);
        return;
    }
    char *id = strstr(line, "\"id\":");
    if (!id) return;
    id += 5;
    int width = (int)strcspn(id, ",}");
    const char *result = "{}";
    char first[256];
    if (strstr(line, "\"method\":\"initialize\"")) {
        snprintf(first, sizeof first,
            "{\"protocolVersion\":1,\"agentCapabilities\":{},\"agentInfo\":{\"name\":\"benchmark\","
            "\"version\":\"1\"},\"authMethods\":[],\"_meta\":{\"pid\":%d,\"grandchild\":0}}", (int)getpid());
        result = first;
    } else if (strstr(line, "\"method\":\"session/new\"")) {
        result = "{\"sessionId\":\"" SESSION "\"}";
    }
    length = snprintf(out, sizeof out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n", width, id, result);
    put(out, (size_t)length);
}

int main(void) {
    static char in[LIMIT + 1];
    size_t held = 0;
    ssize_t count;
    while ((count = read(0, in + held, LIMIT - held)) > 0) {
        held += (size_t)count;
        char *start = in, *end;
        while ((end = memchr(start, '\n', held - (size_t)(start - in)))) {
            *end = 0;
            answer(start);
            start = end + 1;
        }
        held -= (size_t)(start - in);
        memmove(in, start, held);
    }
    return 0;
}
