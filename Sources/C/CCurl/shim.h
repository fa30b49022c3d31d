// libcurl. Swift cannot call a C function with a variable number of arguments, such as
// curl_easy_setopt and curl_easy_getinfo. So each type of argument has its own function here.
#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

static inline bool curl_set_number(CURL *curl, CURLoption option, long value) {
    return curl_easy_setopt(curl, option, value) == CURLE_OK;
}

// Text, or NULL. libcurl keeps a copy.
static inline bool curl_set_text(CURL *curl, CURLoption option, const char *text) {
    return curl_easy_setopt(curl, option, text) == CURLE_OK;
}

// libcurl keeps a copy of the bytes.
static inline bool curl_set_blob(
    CURL *curl, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(curl, option, &blob) == CURLE_OK;
}

static inline bool curl_set_body(CURL *curl, const void *bytes, size_t count) {
    return curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, count ? bytes : "") == CURLE_OK;
}

static inline bool curl_set_headers(CURL *curl, struct curl_slist *headers) {
    return curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
}

static inline bool curl_set_receivers(CURL *curl, struct curl_slist *receivers) {
    return curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, receivers) == CURLE_OK;
}

static inline bool curl_set_upload(CURL *curl, curl_read_callback read, void *reader) {
    return curl_easy_setopt(curl, CURLOPT_READFUNCTION, read) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_READDATA, reader) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L) == CURLE_OK;
}

// `error` must have CURL_ERROR_SIZE bytes.
static inline bool curl_set_error_text(CURL *curl, char *error) {
    return curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error) == CURLE_OK;
}

static inline bool curl_set_receiver(
    CURL *curl, curl_write_callback receive, curl_xferinfo_callback look, void *receiver) {
    return curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_WRITEDATA, receiver) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_XFERINFODATA, receiver) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;
}

// A status or an errno; 0 if there is none.
static inline long curl_get_number(CURL *curl, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(curl, info, &value) == CURLE_OK ? value : 0;
}

// The time at which a step ended, in microseconds; 0 if it has not ended.
static inline curl_off_t curl_get_time(CURL *curl, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(curl, info, &value) == CURLE_OK ? value : 0;
}
