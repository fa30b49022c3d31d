import AgentStore
import Foundation
import LinuxIO
import Sessions
import Testing
import TPM

/// Against `swtpm`, which is libtpms, the reference implementation of the TPM 2.0 Library.
@Suite("Trusted platform", .serialized)
struct TrustedPlatformTests {
    private let secret = SecretBytes((0..<32).map { UInt8($0 &* 5 &+ 3) })

    @Test("opens what it sealed, again and again, and keeps nothing of it in the chip")
    func inverse() throws {
        let chip = try SoftwareTPM()
        defer { chip.stop() }
        let sealed = try chip.platform.seal(secret)
        #expect(try chip.platform.seal(secret) != sealed)
        // A chip has room for three keys and a few sessions.
        for _ in 0..<12 { #expect(try chip.platform.unseal(sealed).matches(secret)) }
        let bytes = Data(sealed.parent + sealed.publicPart + sealed.privatePart)
        #expect(bytes.range(of: Data(secret.reveal())) == nil)
    }

    @Test("opens it after its power was off")
    func restart() throws {
        let folder = try StateFolder()
        let chip = try SoftwareTPM(in: folder)
        let sealed = try chip.platform.seal(secret)
        chip.stop()
        #expect(throws: TrustedPlatformError.self) { try chip.platform.unseal(sealed) }
        let again = try SoftwareTPM(in: folder)
        defer { again.stop() }
        #expect(try again.platform.unseal(sealed).matches(secret))
    }

    @Test("opens nothing that another chip sealed, nor what was changed since")
    func stranger() throws {
        let (chip, other) = (try SoftwareTPM(), try SoftwareTPM())
        defer {
            chip.stop()
            other.stop()
        }
        let sealed = try chip.platform.seal(secret)
        #expect(throws: TrustedPlatformError.otherChip) { try other.platform.unseal(sealed) }
        let forged = SealedKey(
            parent: try other.platform.seal(secret).parent, publicPart: sealed.publicPart,
            privatePart: sealed.privatePart)
        #expect(throws: TrustedPlatformError.damaged) { try other.platform.unseal(forged) }
        for index in stride(from: 0, to: sealed.privatePart.count, by: 7) {
            var changed = sealed.privatePart
            changed[index] ^= 0x10
            let key = SealedKey(
                parent: sealed.parent, publicPart: sealed.publicPart, privatePart: changed)
            #expect(throws: TrustedPlatformError.damaged) { try chip.platform.unseal(key) }
        }
        for bytes in [[], [0], [UInt8](repeating: 0xFF, count: 4000)] {
            for key in [
                SealedKey(
                    parent: sealed.parent, publicPart: bytes, privatePart: sealed.privatePart),
                SealedKey(
                    parent: sealed.parent, publicPart: sealed.publicPart, privatePart: bytes),
            ] {
                #expect(throws: TrustedPlatformError.damaged) { try chip.platform.unseal(key) }
            }
        }
        #expect(try chip.platform.unseal(sealed).matches(secret))
    }

    @Test("is not reached where there is none")
    func nobody() {
        for transport in ["device:/nonexistent/tpmrm0", "device:/dev/null", "moon:"] {
            let error = #expect(throws: TrustedPlatformError.self) {
                try TrustedPlatform(transport: transport).probe()
            }
            #expect(error == .unreachable(transport: transport))
        }
    }

    // In an emulator no test starts itself again.
    #if !EMULATED
    /// All that goes to the chip and comes back is written down by tcti-pcap.
    @Test("shows the key to nobody who listens on the way to the chip")
    func listener() async throws {
        await #expect(processExitsWith: .success) {
            // A process that exits frees nothing: chip and folder are gone before.
            exit(try Self.hidesItOnTheWay() ? 0 : 1)
        }
    }
    #endif

    private static func hidesItOnTheWay() throws -> Bool {
        let folder = try StateFolder()
        let chip = try SoftwareTPM()
        defer { chip.stop() }
        let log = folder.path + "/traffic"
        try Environment.set("TCTI_PCAP_FILE", to: log)
        let secret = SecretBytes((0..<32).map { UInt8($0 &* 5 &+ 3) })
        let platform = TrustedPlatform(transport: "pcap:" + chip.platform.transport)
        let sealed = try platform.seal(secret)
        let isOpened = try platform.unseal(sealed).matches(secret)
        let traffic = try Data(contentsOf: URL(fileURLWithPath: log))
        // What is not hidden is there to be found.
        let isHeard = traffic.range(of: Data(sealed.publicPart)) != nil
        let isSecret = traffic.range(of: Data(secret.reveal())) == nil
        return isOpened && isHeard && isSecret
    }
}

@Suite("Key in a TPM", .serialized)
struct TrustedPlatformKeyTests {
    private func file(
        _ folder: StateFolder, _ chip: SoftwareTPM, _ choice: KeyTier? = nil
    ) -> KeyFile {
        KeyFile(
            folder: folder.path, keepers: [TrustedPlatformKey(chip.platform), MachineKey()],
            choice: choice)
    }

    private func open(
        _ folder: StateFolder, _ chip: SoftwareTPM, _ choice: KeyTier? = nil
    ) throws -> BoardStore {
        try BoardStore(
            folder: folder.path, keyFile: file(folder, chip, choice), segmentBytes: 8192,
            founding: Sample.identity)
    }

    @Test("is the first choice, opens the board's state here, and opens a copy of it nowhere else")
    func board() throws {
        let folder = try StateFolder()
        let (chip, other) = (try SoftwareTPM(), try SoftwareTPM())
        defer {
            chip.stop()
            other.stop()
        }
        try open(folder, chip).put(.session, "session")
        #expect(file(folder, chip).place?.tier == .tpm2)
        #expect(try open(folder, chip).text(.session) == "session")
        let copy = try folder.copy()
        let error = #expect(throws: StoreError.self) {
            try open(copy, other)
        }
        guard case .keyRefused(_, let reason) = error, reason.contains("another TPM") else {
            Issue.record("\(String(describing: error))")
            return
        }
        other.stop()
        let silence = #expect(throws: StoreError.self) {
            try open(copy, other)
        }
        guard case .keyUnreachable = silence else {
            Issue.record("\(String(describing: silence))")
            return
        }
    }

    @Test("takes over from the key file and gives back to it")
    func turnover() throws {
        let folder = try StateFolder()
        let chip = try SoftwareTPM()
        defer { chip.stop() }
        let store = try open(folder, chip, .file)
        try store.put(.session, "session")
        for tier in [KeyTier.tpm2, .file, .tpm2] {
            try store.rekey(to: tier)
            #expect(file(folder, chip).place?.tier == tier)
            #expect(try open(folder, chip).text(.session) == "session")
        }
    }
}
