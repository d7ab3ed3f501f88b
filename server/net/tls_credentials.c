/* SPDX-License-Identifier: MIT
 *
 * tls_credentials.c - a context of OpenSSL, which a reload replaces as a whole.
 */
#include "server/net/tls_credentials.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "proto/plural.h"
#include "proto/tls/context.h"
#include "server/observe/log.h"
#include "server/users/secret.h"

_Static_assert((int)SW_CONFIG_TLS_CLIENTS_ANY == (int)SW_TLS_CLIENTS_ANY &&
                   (int)SW_CONFIG_TLS_CLIENTS_OPTIONAL == (int)SW_TLS_CLIENTS_OPTIONAL &&
                   (int)SW_CONFIG_TLS_CLIENTS_REQUIRED == (int)SW_TLS_CLIENTS_REQUIRED,
               "tls-auth-clients has the values of proto/tls/context.h");

struct sw_tls_credentials {
    pthread_mutex_t lock; /* protects `context`, and is held for a few instructions */
    SSL_CTX *context;
};

/* Only warns of an expired certificate: the operator may have no other, and clients report it. */
static void warn_of_dates(SSL_CTX *context, const char *path)
{
    const X509 *own = SSL_CTX_get0_certificate(context);
    int days = 0, seconds = 0;
    if (own == NULL || ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(own)) != 1) {
        return;
    }
    if (days < 0 || seconds < 0) {
        sw_log(SW_LOG_WARNING, "the certificate '%s' has expired: clients will refuse it", path);
    } else if (days < 7) {
        sw_log(SW_LOG_WARNING, "the certificate '%s' expires in %d day%s", path, days,
               sw_plural_s((uint64_t)days));
    }
    if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
        sw_log(SW_LOG_WARNING, "the certificate '%s' is not valid yet: clients will refuse it",
               path);
    }
}

static SSL_CTX *read_files(const struct sw_config *config, char *error, size_t error_bytes)
{
    char cert[SW_SECRET_PATH_BYTES], key[SW_SECRET_PATH_BYTES], ca[SW_SECRET_PATH_BYTES] = "";
    if (sw_secret_path(config->tls_cert, cert) != 0 || sw_secret_path(config->tls_key, key) != 0 ||
        (config->tls_ca[0] != '\0' && sw_secret_path(config->tls_ca, ca) != 0)) {
        snprintf(error, error_bytes, "the path of a file is too long");
        return NULL;
    }
    const struct sw_tls_settings settings = {
        .cert = cert,
        .key = key,
        .ca = ca,
        .clients = (enum sw_tls_clients)config->tls_auth_clients,
        .only_13 = config->tls_min_version == 13,
    };
    return sw_tls_server_context(&settings, error, error_bytes);
}

int sw_tls_credentials_check(const struct sw_config *config, char *error, size_t error_bytes)
{
    SSL_CTX *context = read_files(config, error, error_bytes);
    SSL_CTX_free(context);
    return context != NULL ? 0 : -1;
}

int sw_tls_credentials_create(const struct sw_config *config, struct sw_tls_credentials **out)
{
    char error[512] = "not enough memory";
    struct sw_tls_credentials *credentials = calloc(1, sizeof(*credentials));
    *out = NULL;
    SSL_CTX *context = credentials == NULL ? NULL : read_files(config, error, sizeof(error));
    if (context == NULL) {
        sw_log(SW_LOG_ERROR, "TLS cannot be served: %s", error);
        free(credentials);
        return -1;
    }
    warn_of_dates(context, config->tls_cert);
    pthread_mutex_init(&credentials->lock, NULL);
    credentials->context = context;
    *out = credentials;
    return 0;
}

void sw_tls_credentials_destroy(struct sw_tls_credentials *credentials)
{
    if (credentials != NULL) {
        SSL_CTX_free(credentials->context);
        pthread_mutex_destroy(&credentials->lock);
        free(credentials);
    }
}

int sw_tls_credentials_reload(struct sw_tls_credentials *credentials,
                              const struct sw_config *config)
{
    char error[512];
    SSL_CTX *context = read_files(config, error, sizeof(error));
    if (context == NULL) {
        sw_log(SW_LOG_ERROR, "the certificates are unchanged: %s", error);
        return -1;
    }
    warn_of_dates(context, config->tls_cert);
    pthread_mutex_lock(&credentials->lock);
    SSL_CTX *before = credentials->context;
    credentials->context = context;
    pthread_mutex_unlock(&credentials->lock);
    SSL_CTX_free(before); /* connections that use it keep it */
    sw_log(SW_LOG_NOTICE, "new TLS connections use '%s' as it is now", config->tls_cert);
    return 0;
}

SSL_CTX *sw_tls_credentials_context(struct sw_tls_credentials *credentials)
{
    pthread_mutex_lock(&credentials->lock);
    SSL_CTX *context = credentials->context;
    SSL_CTX_up_ref(context);
    pthread_mutex_unlock(&credentials->lock);
    return context;
}
