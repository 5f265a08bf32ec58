/// Completions for bash, from version 3.2 on, which macOS has.
enum BashCompletion {
    static func script(for verbs: [VerbDescription]) -> String {
        let names = verbs.map(\.name)
        return """
            \(Shell.head(.bash))

            _kvinspect_words() {
                local word
                while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$current")
            }

            _kvinspect_paths() {
                local path
                compopt -o filenames 2>/dev/null
                while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$current")
            }

            _kvinspect() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                local verb=${COMP_WORDS[1]} options='' valued=' ' arguments=() place=0 ended='' index word
                COMPREPLY=()
                # Bash takes --name=value for three words.
                if [ "$current" = = ]; then
                    current=
                elif [ "$previous" = = ]; then
                    previous=${COMP_WORDS[COMP_CWORD - 2]}
                fi
                if [ "$COMP_CWORD" -eq 1 ]; then
                    _kvinspect_words '\((names + ["--help", "--version"]).joined(separator: " "))'
                    return
                fi
                case $verb in
            \(verbs.map(section).joined(separator: "\n"))
                *) return ;;
                esac
                index=2
                while [ "$index" -lt "$COMP_CWORD" ]; do
                    word=${COMP_WORDS[index]}
                    if [ "$word" = -- ]; then
                        ended=yes
                    elif [ -z "$ended" ] && [[ $word == -?* ]]; then
                        if [ "${COMP_WORDS[index + 1]}" = = ]; then
                            index=$((index + 2))
                        elif [[ $valued == *" $word "* ]]; then
                            index=$((index + 1))
                        fi
                    else
                        place=$((place + 1))
                    fi
                    index=$((index + 1))
                done
                if [ -z "$ended" ]; then
                    case "$verb $previous" in
            \(verbs.flatMap(values).joined(separator: "\n"))
                    esac
                    if [[ $current == -* ]] || [ "$place" -ge "${#arguments[@]}" ]; then
                        _kvinspect_words "$options"
                        return
                    fi
                fi
                \(completion(of: #"${arguments[place]}"#))
            }

            _kvinspect_value() {
                case $1 in
                folder) _kvinspect_paths -d ;;
                file) _kvinspect_paths -f ;;
                type) _kvinspect_words '\(Shell.typeNames.joined(separator: " "))' ;;
                verb) _kvinspect_words '\(names.joined(separator: " "))' ;;
                text | '') ;;
                *) _kvinspect_words "$1" ;;
                esac
            }

            complete -F _kvinspect kvinspect
            """
    }

    /// What the function knows of a verb.
    private static func section(_ verb: VerbDescription) -> String {
        let options = (verb.options + [.help]).map { "--\($0.name)" }.joined(separator: " ")
        let valued = verb.options.filter { $0.value != nil }.map { " --\($0.name)" }.joined()
        let arguments = verb.arguments.map { "'\(word($0.kind, $0.choices))'" }.joined(separator: " ")
        return """
                \(verb.name))
                    options='\(options)'
                    valued='\(valued) '
                    arguments=(\(arguments))
                    ;;
            """
    }

    /// A branch for each option of the verb that has a value.
    private static func values(_ verb: VerbDescription) -> [String] {
        verb.options.filter { $0.value != nil }.map { option in
            """
                    '\(verb.name) --\(option.name)')
                        \(completion(of: word(option.kind, option.choices)))
                        return
                        ;;
            """
        }
    }

    private static func completion(of value: String) -> String { "_kvinspect_value \"\(value)\"" }

    /// What `_kvinspect_value` takes: the choices, or the kind of value.
    private static func word(_ kind: ValueKind, _ choices: [String]) -> String {
        choices.isEmpty ? "\(kind)" : choices.joined(separator: " ")
    }
}
