/* SPDX-License-Identifier: MIT
 *
 * subject.c - talks with a variant's program over two pipes.
 */
#include "bench/tune/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/study/report.h"

static enum sw_tune_outcome fail(struct sw_tune_reason *reason, const char *what)
{
    (void)sw_tune_refuse(reason, "%s", what);
    return SW_TUNE_FAILED;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Waits until there is something to read, a signal came, or time is up. */
static enum sw_tune_outcome wait_readable(struct sw_tune_subject *subject, double until,
                                          struct sw_tune_reason *reason)
{
    struct pollfd fds[2] = {{.fd = subject->out, .events = POLLIN},
                            {.fd = subject->interrupt->fd, .events = POLLIN}};
    for (;;) {
        double left = until - sw_study_clock();
        if (left <= 0) {
            (void)sw_tune_refuse(reason, "it did not answer within %g s",
                                 subject->answer_seconds_max);
            return SW_TUNE_FAILED;
        }
        int ready = poll(fds, 2, (int)(left * 1000) + 1);
        if (ready > 0 && fds[1].revents != 0) {
            subject->interrupt->came = true;
            (void)sw_tune_refuse(reason, "interrupted");
            return SW_TUNE_INTERRUPTED;
        }
        if (ready > 0) {
            return SW_TUNE_GOOD;
        }
        if (ready < 0 && errno != EINTR) {
            return fail(reason, strerror(errno));
        }
    }
}

/* The next line, without its newline, into `answer`. */
static enum sw_tune_outcome read_line(struct sw_tune_subject *subject,
                                      struct sw_tune_reason *reason)
{
    double until = sw_study_clock() + subject->answer_seconds_max;
    char *end = NULL;
    while ((end = memchr(subject->line, '\n', subject->used)) == NULL) {
        if (subject->used == sizeof(subject->line)) {
            return fail(reason, "it wrote a line that is too long");
        }
        enum sw_tune_outcome outcome = wait_readable(subject, until, reason);
        if (outcome != SW_TUNE_GOOD) {
            return outcome;
        }
        ssize_t got = read(subject->out, subject->line + subject->used,
                           sizeof(subject->line) - subject->used);
        if (got <= 0) {
            return fail(reason, "it ended before it answered");
        }
        subject->used += (size_t)got;
    }
    size_t length = (size_t)(end - subject->line);
    memcpy(subject->answer, subject->line, length);
    subject->answer[length] = '\0';
    subject->used -= length + 1;
    memmove(subject->line, end + 1, subject->used);
    return SW_TUNE_GOOD;
}

/* Reads an answer that begins with `word`; *rest is what follows it. */
static enum sw_tune_outcome read_answer(struct sw_tune_subject *subject, const char *word,
                                        const char **rest, struct sw_tune_reason *reason)
{
    static const struct {
        const char *word;
        enum sw_tune_outcome outcome;
    } others[] = {
        {"wrong ", SW_TUNE_WRONG}, {"no-device ", SW_TUNE_NO_DEVICE}, {"error ", SW_TUNE_FAILED}};
    const char *answer = subject->answer;
    const size_t length = strlen(word);
    enum sw_tune_outcome outcome = read_line(subject, reason);
    if (outcome != SW_TUNE_GOOD) {
        return outcome;
    }
    if (strncmp(answer, word, length) == 0 && (answer[length] == ' ' || answer[length] == '\0')) {
        *rest = answer + length + (answer[length] == ' ');
        return SW_TUNE_GOOD;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strncmp(answer, others[i].word, strlen(others[i].word)) == 0) {
            (void)sw_tune_refuse(reason, "%.400s", answer + strlen(others[i].word));
            return others[i].outcome;
        }
    }
    (void)sw_tune_refuse(reason, "it answered \"%.200s\" where \"%s\" was wanted", answer, word);
    return SW_TUNE_FAILED;
}

/* Asks, and reads the answer. */
static enum sw_tune_outcome ask(struct sw_tune_subject *subject, const char *question,
                                const char *word, const char **rest, struct sw_tune_reason *reason)
{
    size_t length = strlen(question);
    /* far less than a pipe holds, and the subject has nothing else to read */
    if (write(subject->in, question, length) != (ssize_t)length) {
        return fail(reason, "it ended before it was asked");
    }
    return read_answer(subject, word, rest, reason);
}

/* --- the program ------------------------------------------------------------------------------ */

void sw_tune_subject_close(struct sw_tune_subject *subject)
{
    (void)close(subject->in);
    (void)close(subject->out);
    if (subject->pid > 0) {
        sw_tune_kill(subject->pid);
    }
}

static enum sw_tune_outcome greet(struct sw_tune_subject *subject, struct sw_tune_reason *reason)
{
    const char *rest = NULL;
    enum sw_tune_outcome outcome = read_answer(subject, "device", &rest, reason);
    if (outcome != SW_TUNE_GOOD) {
        return outcome;
    }
    size_t length = sw_tune_word_length(rest);
    if (length == 0 || length >= sizeof(subject->arch) || rest[length] != ' ' ||
        strlen(rest + length + 1) >= sizeof(subject->device)) {
        return fail(reason, "its first line is not \"device ARCHITECTURE NAME\"");
    }
    snprintf(subject->arch, sizeof(subject->arch), "%.*s", (int)length, rest);
    snprintf(subject->device, sizeof(subject->device), "%.*s", SW_TUNE_TEXT_MAX - 1,
             rest + length + 1);
    return SW_TUNE_GOOD;
}

enum sw_tune_outcome sw_tune_subject_open(struct sw_tune_subject *subject, char *const *argv,
                                          struct sw_tune_interrupt *interrupt,
                                          double answer_seconds_max, struct sw_tune_reason *reason)
{
    int to[2];
    int from[2] = {-1, -1};
    subject->used = 0;
    subject->interrupt = interrupt;
    subject->answer_seconds_max = answer_seconds_max;
    if (pipe2(to, O_CLOEXEC) != 0) {
        return fail(reason, strerror(errno));
    }
    bool piped = pipe2(from, O_CLOEXEC) == 0;
    subject->in = to[1];
    subject->out = from[0];
    subject->pid = piped ? sw_tune_start(argv, to[0], from[1], -1) : -1;
    (void)close(to[0]);
    (void)close(from[1]);
    enum sw_tune_outcome outcome = SW_TUNE_FAILED;
    if (subject->pid > 0) {
        outcome = greet(subject, reason);
    } else {
        (void)sw_tune_refuse(reason, "%s cannot be started", argv[0]);
    }
    if (outcome != SW_TUNE_GOOD) {
        sw_tune_subject_close(subject);
    }
    return outcome;
}

/* --- a point ---------------------------------------------------------------------------------- */

/* "0.001 0.0012": as many as were asked for. */
static bool take_times(const char *text, uint32_t wanted, struct sw_tune_samples *samples,
                       double *spent)
{
    for (uint32_t i = 0; i < wanted; i++) {
        char *end = NULL;
        double seconds = strtod(text, &end);
        if (end == text || !isfinite(seconds) || seconds <= 0) {
            return false;
        }
        samples->seconds[samples->count++] = seconds;
        *spent += seconds;
        text = end;
    }
    return text[strspn(text, " ")] == '\0';
}

/* The longer of the measured time and the reported time counts: a program may model its times. */
static enum sw_tune_outcome time_it(struct sw_tune_subject *subject,
                                    const struct sw_tune_stop_rule *rule,
                                    struct sw_tune_samples *samples,
                                    struct sw_tune_summary *summary, struct sw_tune_reason *reason)
{
    double began = sw_study_clock();
    double said = 0;
    double spent = 0;
    samples->count = 0;
    do {
        char question[64];
        const char *rest = NULL;
        uint32_t wanted = sw_tune_next_samples(rule, samples, spent);
        snprintf(question, sizeof(question), "time %u\n", wanted);
        enum sw_tune_outcome outcome = ask(subject, question, "times", &rest, reason);
        if (outcome != SW_TUNE_GOOD) {
            return outcome;
        }
        if (!take_times(rest, wanted, samples, &said)) {
            (void)sw_tune_refuse(reason, "\"%.100s\" is not %u times", subject->answer, wanted);
            return SW_TUNE_FAILED;
        }
        spent = fmax(sw_study_clock() - began, said);
        sw_tune_summarize(samples, summary);
    } while (!sw_tune_is_enough(rule, summary, spent));
    return SW_TUNE_GOOD;
}

/* "bytes 4096", or nothing: 0. */
static double bytes_in(const char *text)
{
    static const char word[] = "bytes ";
    double bytes = strncmp(text, word, strlen(word)) == 0 ? strtod(text + strlen(word), NULL) : 0;
    return isfinite(bytes) && bytes > 0 ? bytes : 0;
}

enum sw_tune_outcome sw_tune_subject_point(struct sw_tune_subject *subject, const char *point,
                                           const struct sw_tune_stop_rule *rule,
                                           struct sw_tune_samples *samples,
                                           struct sw_tune_summary *summary,
                                           struct sw_tune_reason *reason)
{
    char question[SW_TUNE_TEXT_MAX + 16];
    const char *rest = NULL;
    snprintf(question, sizeof(question), "point %s\n", point);
    enum sw_tune_outcome outcome = ask(subject, question, "ok", &rest, reason);
    double bytes = outcome == SW_TUNE_GOOD ? bytes_in(rest) : 0;
    outcome = outcome != SW_TUNE_GOOD ? outcome : ask(subject, "check\n", "ok", &rest, reason);
    outcome = outcome != SW_TUNE_GOOD ? outcome : time_it(subject, rule, samples, summary, reason);
    summary->bytes = bytes;
    return outcome != SW_TUNE_GOOD ? outcome : ask(subject, "check\n", "ok", &rest, reason);
}
