import Gate
import Testing

@Suite("Edit distance")
struct EditDistanceTests {
    @Test("counts each edit, and an exchange of neighbours as one", arguments: [
        ("", "", 0), ("a", "", 1), ("Reading", "Reading", 0), ("Reading", "Readng", 1),
        ("Reading", "Readings", 1), ("Reading", "Heating", 2), ("Reading", "Raeding", 1),
        ("thermo", "thremo", 1), ("ab", "ba", 1), ("abcd", "badc", 2), ("abc", "cba", 2),
        // No byte is edited twice.
        ("ca", "abc", 3), ("kitten", "sitting", 3),
    ])
    func distance(left: String, right: String, expected: Int) {
        #expect(EditDistance.between(left, right) == expected)
        #expect(EditDistance.between(right, left) == expected)
        let both = ("x" + left + "y", "x" + right + "y")
        #expect(EditDistance.between(both.0, both.1) == expected)
    }
}
