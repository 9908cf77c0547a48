# Completion of metashell for bash: eval "$(metashell --completion bash)"
_metashell() {
    local program=$1 value rest
    [[ $program == "~/"* ]] && program=$HOME/${program#"~/"}
    local -a answers=()
    COMPREPLY=()
    while IFS=$'\t' read -r value rest; do
        case $value in
            :files) compopt -o default 2>/dev/null ;;
            :directories) compopt -o default -o dirnames 2>/dev/null ;;
            *) answers+=("$value") ;;
        esac
    done < <("$program" --complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    ((${#answers[@]})) || return 0
    COMPREPLY=("${answers[@]}")
    # Quotes what needs it, and shows the last part of a path alone.
    compopt -o filenames 2>/dev/null
    if ((${#answers[@]} == 1)) && [[ ${answers[0]} == *[/=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
complete -F _metashell metashell
