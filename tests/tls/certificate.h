/* SPDX-License-Identifier: MIT
 *
 * certificate.h - a certificate for "localhost" and its key, made when a test runs.
 */
#ifndef SHERWOOD_TESTS_TLS_CERTIFICATE_H
#define SHERWOOD_TESTS_TLS_CERTIFICATE_H

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/tls/context.h"

struct certificate {
    char folder[64];
    char cert[96]; /* PEM, signed by itself */
    char key[96];
};

static inline X509 *certificate_sign(EVP_PKEY *key)
{
    X509 *made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 7);
    X509_gmtime_adj(X509_getm_notBefore(made), -60);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(made));
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_add_ext(made, names, -1);
    X509_EXTENSION_free(names);
    cr_assert_neq(X509_sign(made, key, EVP_sha256()), 0);
    return made;
}

static inline void certificate_make(struct certificate *made)
{
    snprintf(made->folder, sizeof(made->folder), "/tmp/sherwood-tls-XXXXXX");
    cr_assert_not_null(mkdtemp(made->folder));
    snprintf(made->cert, sizeof(made->cert), "%s/cert.pem", made->folder);
    snprintf(made->key, sizeof(made->key), "%s/key.pem", made->folder);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cr_assert_not_null(key);
    X509 *signed_by_itself = certificate_sign(key);
    FILE *file = fopen(made->cert, "we");
    cr_assert(file != NULL && PEM_write_X509(file, signed_by_itself) == 1);
    fclose(file);
    file = fopen(made->key, "we");
    cr_assert(file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(file);
    X509_free(signed_by_itself);
    EVP_PKEY_free(key);
}

static inline void certificate_remove(const struct certificate *made)
{
    unlink(made->cert);
    unlink(made->key);
    rmdir(made->folder);
}

static inline SSL_CTX *certificate_server(const struct certificate *made)
{
    char error[512] = "";
    const struct sw_tls_settings settings = {.cert = made->cert, .key = made->key};
    SSL_CTX *context = sw_tls_server_context(&settings, error, sizeof(error));
    cr_assert_not_null(context, "%s", error);
    return context;
}

static inline SSL_CTX *certificate_client(const struct certificate *made)
{
    char error[512] = "";
    const struct sw_tls_settings settings = {.ca = made->cert};
    SSL_CTX *context = sw_tls_client_context(&settings, error, sizeof(error));
    cr_assert_not_null(context, "%s", error);
    return context;
}

#endif
