# Completion of metashell for fish: metashell --completion fish | source
function __metashell_complete
    set -l line (commandline -cp)
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    $program --complete fish "$line" 2>/dev/null | while read -l answer
        switch $answer
            case ':files*' ':directories*'
                set -l before (string match -r -- '^--[^=]*=' $token)
                set -l path (string replace -r -- '^--[^=]*=' '' $token)
                __fish_complete_path "$path" | string replace -r '^' -- "$before"
            case '*'
                printf '%s\n' $answer
        end
    end
end
complete -c metashell -e
complete -c metashell -f -a '(__metashell_complete)'
