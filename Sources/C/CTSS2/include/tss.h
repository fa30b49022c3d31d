// The functions of tpm2-tss that seal a key to a TPM 2.0. The libraries are loaded only when
// needed.
//
// Most boards have no TPM. If the libraries were linked, every board would have to install them and
// keep them in the agent's memory. So they are opened for each use and closed again. This is C
// because `__typeof__` takes each function's type from the library's own header. In Swift the types
// would be written by hand, and no compiler would find a mistake.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_tctildr.h>

struct tss_functions {
    void *libraries[3];
    __typeof__(&Tss2_TctiLdr_Initialize) open_transport;
    __typeof__(&Tss2_TctiLdr_Finalize) close_transport;
    __typeof__(&Esys_Initialize) begin;
    __typeof__(&Esys_Finalize) end;
    __typeof__(&Esys_Free) release;
    __typeof__(&Esys_CreatePrimary) create_primary;
    __typeof__(&Esys_StartAuthSession) start_session;
    __typeof__(&Esys_TRSess_SetAttributes) set_attributes;
    __typeof__(&Esys_Create) create;
    __typeof__(&Esys_Load) load;
    __typeof__(&Esys_Unseal) unseal;
    __typeof__(&Esys_FlushContext) flush;
    __typeof__(&Tss2_MU_TPM2B_PUBLIC_Marshal) write_public;
    __typeof__(&Tss2_MU_TPM2B_PUBLIC_Unmarshal) read_public;
    __typeof__(&Tss2_MU_TPM2B_PRIVATE_Marshal) write_private;
    __typeof__(&Tss2_MU_TPM2B_PRIVATE_Unmarshal) read_private;
};

/// Opens the libraries and finds every function. Returns false and leaves nothing open if one is
/// missing.
bool tss_open(struct tss_functions *functions);

/// Closes the libraries. Their functions must not be called after this.
void tss_close(struct tss_functions *functions);

/// The template of the storage root key: ECC on P-256, with AES-128-CFB for the keys below it.
/// Source: TCG TPM v2.0 Provisioning Guidance §7.5.1; TPM 2.0 Library, Part 2, table 199.
TPM2B_PUBLIC tss_storage_root(void);

/// The template of a sealed secret that only this TPM can open, without a password.
/// Source: TPM 2.0 Library, Part 1, §27.7.
TPM2B_PUBLIC tss_sealed_secret(void);

/// Overwrites memory. The compiler does not remove this.
void tss_wipe(void *bytes, size_t count);
