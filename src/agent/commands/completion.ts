import type { Command } from 'commander'
import { CommandFailure } from '../../base/command-line.ts'

interface CommandNode {
  path: string
  words: string[]
}

/** Shell code that completes commands and flags, generated from the command tree. */
export function generateCompletion(
  shell: string | undefined,
  program: Command,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const shellName = shell ?? (env.SHELL?.endsWith('zsh') ? 'zsh' : 'bash')
  if (shellName !== 'bash' && shellName !== 'zsh')
    throw new CommandFailure(`there is no completion for ${shellName}; use bash or zsh`)
  const cases = collectNodes(program, '')
    .map(({ path, words }) => `    ${JSON.stringify(path)}) words="${words.join(' ')}" ;;`)
    .join('\n')
  // zsh runs bash completions through `bashcompinit`.
  const bridge =
    shellName === 'zsh'
      ? 'autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n'
      : ''
  return `${bridge}_adit() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" next word words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    case "$next" in
${collectNodes(program, '')
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

function collectNodes(command: Command, path: string): CommandNode[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
  const flags = options.map((option) => option.long ?? option.short ?? '')
  const words = [
    ...new Set([
      ...commands.map((each) => each.name()),
      ...flags,
      ...(path === '' ? [] : globalFlags(command)),
    ]),
  ]
  const descendants = commands
    .filter((each) => command.commands.includes(each))
    .flatMap((each) => collectNodes(each, path === '' ? each.name() : `${path} ${each.name()}`))
  return [{ path, words }, ...descendants]
}

function globalFlags(command: Command): string[] {
  const parent = command.parent
  return parent
    ? [
        ...parent.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
        ...globalFlags(parent),
      ]
    : []
}
