#compdef metashell
# Completion of metashell for zsh: source <(metashell --completion zsh)
_metashell() {
    emulate -L zsh
    setopt extended_glob
    local value help tab=$'\t' program=${(Q)words[1]}
    local -a lines open_values open_shown values shown
    local text="${(j: :)words[1,CURRENT-1]} ${QIPREFIX}${IPREFIX}${PREFIX}"
    [[ $program == '~/'* ]] && program=$HOME/${program#'~/'}
    lines=("${(@f)$($program --complete zsh "$text" 2>/dev/null)}")
    local line last
    for line in $lines; do
        value=${line%%$tab*}
        help=${line#*$tab}
        case $value in
            ('') continue ;;
            (:files) compset -P '*='; _files; return ;;
            (:directories) compset -P '*='; _files -/; return ;;
        esac
        # A path shows its last part.
        last=${value%/}
        last=${last##*/}
        [[ $value == */ ]] && last+=/
        [[ -z $last ]] && last=$value
        [[ -n $help ]] && last+=" -- $help"
        if [[ $value == *[/=] ]]; then
            open_values+=("$value")
            open_shown+=("$last")
        else
            values+=("$value")
            shown+=("$last")
        fi
    done
    local -i found=1
    ((${#open_values})) && compadd -l -S '' -d open_shown -a open_values && found=0
    ((${#values})) && compadd -l -d shown -a values && found=0
    return found
}
if [[ ${funcstack[1]} == _metashell ]]; then
    _metashell "$@"
else
    compdef _metashell metashell
fi
