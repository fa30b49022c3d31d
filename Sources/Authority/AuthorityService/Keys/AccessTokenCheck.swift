import AuthorityCore
import Cryptography
import Sessions
import Wire

extension SystemCryptography {
    func claims(
        of token: AccessToken, signedBy keys: [SigningKey]
    ) throws(AccessTokenFault) -> [UInt8] {
        let parts: JWS.Parts
        do throws(CryptographyError) {
            parts = try JWS.parse(token.reveal())
        } catch {
            throw .malformed
        }
        let header: AccessTokenHeader
        do throws(WireError) {
            header = try AccessTokenHeader(parsing: parts.header)
        } catch {
            throw .wrongKind
        }
        guard let known = keys.first(where: { $0.kid == header.kid }) else { throw .unknownKey }
        do throws(CryptographyError) {
            let key = try Ed25519PublicKey(rawRepresentation: known.key)
            guard parts.isSigned(by: key) else { throw CryptographyError.notAuthentic }
        } catch {
            throw .forged
        }
        return parts.payload
    }
}
