/// Words of a command line that a person can paste.
enum ShellWord {
    /// A text as one word of a shell, quoted only where it must be.
    static func of(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"), 0x80...:
                true
            default: false
            }
        }
        if isPlain, !text.isEmpty, !text.hasPrefix("-") { return text }
        // A word that begins with a hyphen would be taken for an option.
        let safe = text.hasPrefix("-") ? "./" + text : text
        return quoted(safe)
    }

    /// A text between single quotes, as bash and zsh read it.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
