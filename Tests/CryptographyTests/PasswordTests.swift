import Sessions
import Testing

@testable import Cryptography

@Suite("Passwords")
struct PasswordTests {
    private func secret(_ text: String) -> SecretBytes { SecretBytes(Array(text.utf8)) }

    @Test("scrypt agrees with RFC 7914 §12")
    func scrypt() throws {
        let first: Hex = """
            fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff1\
            09279d9830dac727afb94a83ee6d8360cbdfa2cc0640
            """
        let second: Hex = """
            7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d4\
            9705242a9af9e61e85dc0d651e40dfcf017b45575887
            """
        for (password, salt, cost, hash) in [
            ("password", "NaCl", ScryptCost(log2N: 10, r: 8, p: 16), first),
            ("pleaseletmein", "SodiumChloride", ScryptCost(log2N: 14, r: 8, p: 1), second),
        ] {
            let derived = try Scrypt.derive(
                from: secret(password), salt: Array(salt.utf8), cost: cost, count: 64)
            #expect(derived.reveal() == hash.bytes)
        }
    }

    @Test("verifies the password that was hashed and no other, also after storage")
    func roundTrip() throws {
        let hash = try PasswordHash.make(secret("correct horse"))
        #expect(try hash.verify(secret("correct horse")))
        #expect(try !hash.verify(secret("correct horsf")))
        #expect(try !hash.verify(secret("")))
        #expect(try !hash.verify(SecretBytes([UInt8](repeating: 1, count: 1025))))
        let stored = try #require(PasswordHash(phc: hash.phc))
        #expect(stored.phc == hash.phc)
        #expect(try stored.verify(secret("correct horse")))
        #expect(try PasswordHash.make(secret("correct horse")).phc != hash.phc)
        #expect(hash.phc.hasPrefix("$scrypt$ln=15,r=8,p=3$"))
        #expect("\(hash)" == "(password hash)")
        #expect(try !PasswordHash.verifyNobody(secret("correct horse")))
    }

    @Test("keeps the parameters a hash was made with")
    func parameters() throws {
        let hash = try Scrypt.derive(
            from: secret("x"), salt: [1, 2, 3, 4, 5, 6, 7, 8],
            cost: ScryptCost(log2N: 14, r: 8, p: 2), count: 32)
        let phc = "$scrypt$ln=14,r=8,p=2$AQIDBAUGBwg$\(Base64.encode(hash.reveal()))"
        let stored = try #require(PasswordHash(phc: phc))
        #expect(try stored.verify(secret("x")))
        #expect(stored.phc == phc)
        #expect(stored.isOutdated)
        #expect(try !PasswordHash.make(secret("x")).isOutdated)
    }

    private static let salt = "AQIDBAUGBwg"
    private static let hash = "AQIDBAUGBwgBAgMEBQYHCAECAwQFBgcIAQIDBAUGBwg"

    @Test(
        "refuses a stored hash of another form or with parameters out of bounds",
        arguments: [
            "", "$", "$$$$", "scrypt$ln=15,r=8,p=1$\(salt)$\(hash)",
            "$argon2id$ln=15,r=8,p=1$\(salt)$\(hash)", "$scrypt$ln=13,r=8,p=1$\(salt)$\(hash)",
            "$scrypt$ln=18,r=8,p=1$\(salt)$\(hash)", "$scrypt$ln=17,r=16,p=1$\(salt)$\(hash)",
            "$scrypt$ln=15,r=7,p=1$\(salt)$\(hash)", "$scrypt$ln=15,r=8,p=0$\(salt)$\(hash)",
            "$scrypt$ln=15,r=8,p=5$\(salt)$\(hash)", "$scrypt$ln=+15,r=8,p=1$\(salt)$\(hash)",
            "$scrypt$ln=99999999999999999999,r=8,p=1$\(salt)$\(hash)",
            "$scrypt$ln=15,r=8,p=1,x=1$\(salt)$\(hash)", "$scrypt$r=8,ln=15,p=1$\(salt)$\(hash)",
            "$scrypt$ln=15,r=8,p=01$\(salt)$\(hash)", "$scrypt$ln=15,r=8,p=1$$\(hash)",
            "$scrypt$ln=15,r=8,p=1$\(salt)$", "$scrypt$ln=15,r=8,p=1$\(salt)$AQID",
            "$scrypt$ln=15,r=8,p=1$\(salt)=$\(hash)", "$scrypt$ln=15,r=8,p=1$\(salt)$\(hash)$",
            "$scrypt$ln=15,r=8,p=1$AQIDBAUGB_-$\(hash)",
        ])
    func malformed(phc: String) {
        #expect(PasswordHash(phc: phc) == nil)
    }

    @Test(
        "makes the entries that mosquitto_passwd 2.0.11 makes",
        arguments: [
            (
                "correct horse battery", 101, "U2Ns0pj6ck3rNsB7",
                "TRYi4yBtzsVPuloxy6mmAIO8gcB03NBocQ1Alt852ovhv3+3Pb4RzbdPtPibeaY/zqJSFfHHV7KeBlWY"
                    + "/tvy6A=="
            ),
            (
                "pässword", 1000, "MGOWnEYd7VQHibI+",
                "EFvER/RkywgOOYawe0efeN8hu7JReeNewU1nDs4gGySZyIjvJiq1eFK4fanUE4gRmb6/57yRBkQm61L2"
                    + "UspjMA=="
            ),
        ])
    func mosquitto(password: String, iterations: Int, salt: String, hash: String) throws {
        let entry = try MosquittoPassword.entry(
            for: secret(password), salt: #require(Base64.decode(salt)), iterations: iterations)
        #expect(entry.salt == salt)
        #expect(entry.password == hash)
        #expect(entry.passwordFileField == "$7$\(iterations)$\(salt)$\(hash)")
    }

    @Test("refuses what mosquitto would read otherwise")
    func mosquittoBounds() throws {
        #expect(failure { try MosquittoPassword.entry(for: secret("")) } == .malformed)
        #expect(failure { try MosquittoPassword.entry(for: secret("a\0b")) } == .malformed)
        #expect(
            failure { try MosquittoPassword.entry(for: secret("a"), iterations: 0) } == .malformed)
        let (one, other) = (
            try MosquittoPassword.entry(for: secret("a")),
            try MosquittoPassword.entry(for: secret("a"))
        )
        #expect(one.salt != other.salt)
        #expect(one.iterations == 101)
    }

    @Test("standard base64 is padded to whole groups", arguments: 0...9)
    func base64(count: Int) {
        let bytes = [UInt8](repeating: 0xFB, count: count)
        let text = Base64.encodePadded(bytes)
        #expect(text.utf8.count.isMultiple(of: 4))
        #expect(!text.contains("-") && !text.contains("_"))
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    }
}
