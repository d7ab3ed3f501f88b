/* SPDX-License-Identifier: MIT
 *
 * context.c - reading certificates and keys, and what TLS may and may not do here.
 */
#include "proto/tls/context.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/regular_file.h"
#include "proto/tls/stream.h"

/* AES with 128 bits first: it is the fastest where processors have instructions for AES. */
#define SUITES_13 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define SUITES_12 "ECDHE+AESGCM:ECDHE+CHACHA20"
/* The most bytes that one system call reads from the socket into the buffer of a stream. */
#define READ_AHEAD_BYTES (4 * (SW_TLS_RECORD_BYTES + 256))

static bool is_given(const char *path)
{
    return path != NULL && path[0] != '\0';
}

/* Returns the cause of OpenSSL's errors, and empties their list. "PEM lib", the last error of most
 * files, is no cause: it only refers to the errors before it. */
static const char *take_cause(void)
{
    bool is_encrypted = false;
    unsigned long code = 0;
    for (unsigned long next = ERR_get_error(); next != 0; next = ERR_get_error()) {
        code = next;
        is_encrypted |=
            ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_BAD_PASSWORD_READ;
    }
    if (is_encrypted) {
        return "it is encrypted: store it without a password (openssl pkey)";
    }
    const char *text =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    return code == 0 || ERR_GET_REASON(code) == ERR_R_PEM_LIB || text == NULL
               ? "the file does not contain it in PEM format"
               : text;
}

/* Writes what went wrong with a file, in OpenSSL's or the system's words. */
static int say(const char *what, const char *path, char *error, size_t error_bytes)
{
    const char *cause = take_cause();
    struct stat status;
    if (stat(path, &status) != 0) {
        cause = strerror(errno);
    }
    snprintf(error, error_bytes, "%s '%s': %s", what, path, cause);
    return -1;
}

/* Is it a regular file? OpenSSL would wait for ever for the other end of a FIFO. */
static bool is_file(const char *what, const char *path, char *error, size_t error_bytes)
{
    int fd = sw_open_regular(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0) {
        snprintf(error, error_bytes, "%s '%s': %s", what, path, sw_file_error(errno));
        return false;
    }
    close(fd);
    return true;
}

/* Called for a key with a password: there is nobody to ask. */
static int no_password(char *out, int room, int writing, void *user)
{
    (void)out, (void)room, (void)writing, (void)user;
    return -1;
}

static int read_identity(SSL_CTX *context, const struct sw_tls_settings *settings, char *error,
                         size_t error_bytes)
{
    if (is_given(settings->cert) != is_given(settings->key)) {
        snprintf(error, error_bytes, "a certificate and its key are needed together: %s is missing",
                 is_given(settings->cert) ? "the key" : "the certificate");
        return -1;
    }
    if (!is_given(settings->cert)) {
        return 0;
    }
    if (!is_file("the certificate", settings->cert, error, error_bytes) ||
        !is_file("the private key", settings->key, error, error_bytes)) {
        return -1;
    }
    if (SSL_CTX_use_certificate_chain_file(context, settings->cert) != 1) {
        return say("the certificate", settings->cert, error, error_bytes);
    }
    const bool is_used = SSL_CTX_use_PrivateKey_file(context, settings->key, SSL_FILETYPE_PEM) == 1;
    if (!is_used && (ERR_GET_LIB(ERR_peek_last_error()) != ERR_LIB_X509 ||
                     ERR_GET_REASON(ERR_peek_last_error()) != X509_R_KEY_VALUES_MISMATCH)) {
        return say("the private key", settings->key, error, error_bytes);
    }
    if (!is_used || SSL_CTX_check_private_key(context) != 1) {
        ERR_clear_error();
        snprintf(error, error_bytes,
                 "the private key '%s' does not match the certificate '%s': name the key for which "
                 "the certificate was made",
                 settings->key, settings->cert);
        return -1;
    }
    return 0;
}

static int read_roots(SSL_CTX *context, const char *ca, char *error, size_t error_bytes)
{
    struct stat status;
    bool is_folder = stat(ca, &status) == 0 && S_ISDIR(status.st_mode);
    if (!is_folder && !is_file("the root certificates", ca, error, error_bytes)) {
        return -1;
    }
    if (SSL_CTX_load_verify_locations(context, is_folder ? NULL : ca, is_folder ? ca : NULL) != 1) {
        return say("the root certificates", ca, error, error_bytes);
    }
    return 0;
}

static SSL_CTX *new_context(const SSL_METHOD *method, const struct sw_tls_settings *settings)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (context == NULL ||
        SSL_CTX_set_min_proto_version(context,
                                      settings->only_13 ? TLS1_3_VERSION : TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(context, SUITES_12) != 1 ||
        SSL_CTX_set_ciphersuites(context, SUITES_13) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD_BYTES);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    return context;
}

static SSL_CTX *no_memory(char *error, size_t error_bytes)
{
    ERR_clear_error();
    snprintf(error, error_bytes, "not enough memory for TLS");
    return NULL;
}

SSL_CTX *sw_tls_server_context(const struct sw_tls_settings *settings, char *error,
                               size_t error_bytes)
{
    static const unsigned char id[] = "sherwoodd";
    SSL_CTX *context = new_context(TLS_server_method(), settings);
    if (context == NULL) {
        return no_memory(error, error_bytes);
    }
    /* A session is resumed by what its ticket says, so nothing of it stays here. */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(context, id, sizeof(id) - 1);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_max_early_data(context, 0);
    /* Idle connections keep no buffers. */
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    if (read_identity(context, settings, error, error_bytes) != 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    if (settings->clients == SW_TLS_CLIENTS_ANY) {
        return context;
    }
    if (read_roots(context, settings->ca, error, error_bytes) != 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(settings->ca));
    ERR_clear_error(); /* a folder has no such list, and clients do without */
    SSL_CTX_set_verify(
        context,
        SSL_VERIFY_PEER |
            (settings->clients == SW_TLS_CLIENTS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        NULL);
    return context;
}

SSL_CTX *sw_tls_client_context(const struct sw_tls_settings *settings, char *error,
                               size_t error_bytes)
{
    SSL_CTX *context = new_context(TLS_client_method(), settings);
    if (context == NULL) {
        return no_memory(error, error_bytes);
    }
    SSL_CTX_set_verify(context, settings->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    bool wrong = read_identity(context, settings, error, error_bytes) != 0;
    if (!wrong && is_given(settings->ca)) {
        wrong = read_roots(context, settings->ca, error, error_bytes) != 0;
    } else if (!wrong && !settings->insecure && SSL_CTX_set_default_verify_paths(context) != 1) {
        ERR_clear_error();
        snprintf(
            error, error_bytes,
            "cannot read the root certificates of the system: name a file of root certificates");
        wrong = true;
    }
    if (wrong) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

int sw_tls_expect(SSL *ssl, const char *name)
{
    unsigned char address[16];
    X509_VERIFY_PARAM *expected = SSL_get0_param(ssl);
    bool is_address =
        inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
    bool done = is_address ? X509_VERIFY_PARAM_set1_ip_asc(expected, name) == 1
                           : X509_VERIFY_PARAM_set1_host(expected, name, 0) == 1 &&
                                 SSL_set_tlsext_host_name(ssl, name) == 1;
    if (!done) {
        ERR_clear_error();
    }
    return done ? 0 : -1;
}

bool sw_tls_peer_name_of(SSL *ssl, char *name, size_t room)
{
    const X509 *shown = SSL_get0_peer_certificate(ssl);
    if (shown == NULL || SSL_get_verify_result(ssl) != X509_V_OK) {
        return false;
    }
    const X509_NAME *subject = X509_get_subject_name(shown);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *text = NULL;
    int size = at < 0 ? -1
                      : ASN1_STRING_to_UTF8(
                            &text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    /* a NUL inside would make another name of it */
    bool good = size > 0 && (size_t)size < room && memchr(text, '\0', (size_t)size) == NULL;
    if (good) {
        memcpy(name, text, (size_t)size);
        name[size] = '\0';
    }
    OPENSSL_free(text);
    return good;
}
