import AuthorityCore
import Sessions

extension MemoryTransaction {
    func passkey(credential: [UInt8]) -> PasskeyRecord? {
        tables.passkeys.first { $0.credential == credential }
    }

    func passkeys(of user: UserID) -> [PasskeyRecord] {
        tables.passkeys.filter { $0.user == user }
    }

    func insert(_ passkey: PasskeyRecord) -> Bool {
        guard self.passkey(credential: passkey.credential) == nil else { return false }
        tables.passkeys.append(passkey)
        return true
    }

    func update(_ passkey: PasskeyRecord) {
        guard let place = tables.passkeys.firstIndex(where: { $0.id == passkey.id }) else { return }
        tables.passkeys[place] = passkey
    }

    func deletePasskey(_ id: ObjectID) { tables.passkeys.removeAll { $0.id == id } }

    func recoveryCode(of user: UserID) -> RecoveryCodeRecord? { tables.recoveryCodes[user] }

    func recoveryCode(hash: [UInt8]) -> RecoveryCodeRecord? {
        tables.recoveryCodes.values.first { $0.hash == hash }
    }

    func save(_ code: RecoveryCodeRecord) { tables.recoveryCodes[code.user] = code }

    func deleteRecoveryCode(of user: UserID) -> Bool {
        tables.recoveryCodes.removeValue(forKey: user) != nil
    }

    func noteConfirmation(of session: ObjectID, at now: Timestamp) {
        tables.sessions[session]?.record.confirmedAt = now
    }
}
