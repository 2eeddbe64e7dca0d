import type { Command } from 'commander'
import { Failure } from './failure.ts'

interface Node {
  path: string
  words: string[]
}

/** Code for a shell that completes commands and flags, worked out of the command tree. */
export function completion(
  shell: string | undefined,
  program: Command,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const wanted = shell ?? (env.SHELL?.endsWith('zsh') ? 'zsh' : 'bash')
  if (wanted !== 'bash' && wanted !== 'zsh')
    throw new Failure(`there is no completion for ${wanted}; use bash or zsh`)
  const cases = collect(program, '')
    .map(({ path, words }) => `    ${JSON.stringify(path)}) words="${words.join(' ')}" ;;`)
    .join('\n')
  // zsh understands the bash form once it has loaded its bridge.
  const bridge =
    wanted === 'zsh'
      ? 'autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n'
      : ''
  return `${bridge}_adit() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" next word words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    case "$next" in
${collect(program, '')
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${JSON.stringify(path)}) path="$next" ;;`)
  .join('\n')}
    esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _adit adit
`
}

function collect(command: Command, path: string): Node[] {
  const shown = command.createHelp()
  const commands = shown.visibleCommands(command)
  const options = [...shown.visibleOptions(command), ...shown.visibleGlobalOptions(command)]
  const flags = options.map((option) => option.long ?? option.short ?? '')
  const words = [
    ...new Set([
      ...commands.map((each) => each.name()),
      ...flags,
      ...(path === '' ? [] : globalFlags(command)),
    ]),
  ]
  const below = commands
    .filter((each) => command.commands.includes(each))
    .flatMap((each) => collect(each, path === '' ? each.name() : `${path} ${each.name()}`))
  return [{ path, words }, ...below]
}

function globalFlags(command: Command): string[] {
  const above = command.parent
  return above
    ? [...above.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''), ...globalFlags(above)]
    : []
}
