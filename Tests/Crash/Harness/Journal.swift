import HealthKV

/// The lines of the journal: a working process announces each change before its commit and notes each acknowledgement.
///
///     w NUMBER GROUP COUNT HASH HASH     the content after change NUMBER, written before its commit; changes of one
///                                        commit have the same GROUP
///     a NUMBER                           change NUMBER, and so all before it, was acknowledged as durable
enum JournalLine {
    case content(number: Int, group: UInt64, ContentDigest)
    case acknowledged(Int)

    var text: String {
        switch self {
        case .content(let number, let group, let digest): "w \(number) \(group) \(digest)\n"
        case .acknowledged(let number): "a \(number)\n"
        }
    }

    init?(_ line: Substring) {
        let words = line.split(separator: " ")
        if words.first == "a", words.count == 2, let number = Int(words[1]) {
            self = .acknowledged(number)
        } else if words.first == "w", words.count == 6, let number = Int(words[1]), let group = UInt64(words[2]),
            let digest = ContentDigest(words: words[3...])
        {
            self = .content(number: number, group: group, digest)
        } else {
            return nil
        }
    }
}

/// The contents that a store may have, according to the lines of a journal up to some position.
struct History {
    /// The content of the store before the journal began.
    var before = ContentDigest()
    private(set) var contents: [ContentDigest] = []
    private var groups: [UInt64] = []
    /// The greatest acknowledged change; -1 if even opening the store was not acknowledged.
    var acknowledged = -1
    /// The greatest announced change.
    var announced = -1

    mutating func read(_ line: JournalLine) {
        switch line {
        case .content(let number, let group, let digest):
            // Two threads may write their lines in either order, so each line is stored at its number.
            while contents.count <= number {
                contents.append(ContentDigest())
                groups.append(.max)
            }
            contents[number] = digest
            groups[number] = group
        case .acknowledged: break
        }
        note(line)
    }

    /// Advances over a line of a journal that was fully read before.
    mutating func note(_ line: JournalLine) {
        switch line {
        case .content(let number, _, _): announced = max(announced, number)
        case .acknowledged(let number): acknowledged = max(acknowledged, number)
        }
    }

    /// Reads all complete lines of a text.
    mutating func read(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if let line = JournalLine(line) { read(line) }
        }
    }

    mutating func rewind() { (acknowledged, announced) = (-1, -1) }

    /// Whether a change is the last one of its commit.
    private func endsCommit(_ number: Int) -> Bool {
        number + 1 == groups.count || groups[number + 1] != groups[number]
    }

    /// The legal contents: the ends of all commits from the last acknowledged one on. A member of the last commit that
    /// was not announced yet has changed nothing.
    var legal: [ContentDigest] {
        var legal: [ContentDigest] = acknowledged < 0 ? [before] : []
        guard announced >= 0 else { return legal }
        for number in max(0, acknowledged)...announced where endsCommit(number) || number == announced {
            legal.append(contents[number])
        }
        return legal
    }

    /// Describes a content that is not legal.
    func describe(_ digest: ContentDigest) -> String {
        let known = contents.prefix(max(0, acknowledged)).lastIndex(of: digest)
        return known.map { "the content is that of change \($0), but \(acknowledged) was acknowledged" }
            ?? "the content, \(digest.count) samples, is that of no commit from \(acknowledged) to \(announced)"
    }
}
