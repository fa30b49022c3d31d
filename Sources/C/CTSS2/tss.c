#define _GNU_SOURCE
#include "tss.h"
#include <dlfcn.h>
#include <string.h>

enum { esys, tctildr, mu };
static const char *const names[] = {
    [esys] = "libtss2-esys.so.0",
    [tctildr] = "libtss2-tctildr.so.0",
    [mu] = "libtss2-mu.so.0",
};

void tss_close(struct tss_functions *functions) {
    for (int library = mu; library >= esys; library--) {
        if (functions->libraries[library]) dlclose(functions->libraries[library]);
    }
    memset(functions, 0, sizeof *functions);
}

static bool find(struct tss_functions *functions) {
#define FIND(field, library, symbol)                                              \
    functions->field =                                                            \
        (__typeof__(functions->field))dlsym(functions->libraries[library], #symbol); \
    if (!functions->field) return false
    FIND(open_transport, tctildr, Tss2_TctiLdr_Initialize);
    FIND(close_transport, tctildr, Tss2_TctiLdr_Finalize);
    FIND(begin, esys, Esys_Initialize);
    FIND(end, esys, Esys_Finalize);
    FIND(release, esys, Esys_Free);
    FIND(create_primary, esys, Esys_CreatePrimary);
    FIND(start_session, esys, Esys_StartAuthSession);
    FIND(set_attributes, esys, Esys_TRSess_SetAttributes);
    FIND(create, esys, Esys_Create);
    FIND(load, esys, Esys_Load);
    FIND(unseal, esys, Esys_Unseal);
    FIND(flush, esys, Esys_FlushContext);
    FIND(write_public, mu, Tss2_MU_TPM2B_PUBLIC_Marshal);
    FIND(read_public, mu, Tss2_MU_TPM2B_PUBLIC_Unmarshal);
    FIND(write_private, mu, Tss2_MU_TPM2B_PRIVATE_Marshal);
    FIND(read_private, mu, Tss2_MU_TPM2B_PRIVATE_Unmarshal);
#undef FIND
    return true;
}

bool tss_open(struct tss_functions *functions) {
    memset(functions, 0, sizeof *functions);
    for (int library = esys; library <= mu; library++) {
        functions->libraries[library] = dlopen(names[library], RTLD_NOW | RTLD_LOCAL);
        if (!functions->libraries[library]) {
            tss_close(functions);
            return false;
        }
    }
    if (find(functions)) return true;
    tss_close(functions);
    return false;
}

TPM2B_PUBLIC tss_storage_root(void) {
    return (TPM2B_PUBLIC){
        .publicArea = {
            .type = TPM2_ALG_ECC,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT
                | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH
                | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT,
            .parameters.eccDetail = {
                .symmetric = {
                    .algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB,
                },
                .scheme.scheme = TPM2_ALG_NULL,
                .curveID = TPM2_ECC_NIST_P256,
                .kdf.scheme = TPM2_ALG_NULL,
            },
        },
    };
}

TPM2B_PUBLIC tss_sealed_secret(void) {
    return (TPM2B_PUBLIC){
        .publicArea = {
            .type = TPM2_ALG_KEYEDHASH,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT
                | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
            .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
        },
    };
}

void tss_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }
