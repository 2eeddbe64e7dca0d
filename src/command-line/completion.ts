import { CommandFailure } from '../base/process/command-line.ts'
import type { CompletionNode } from '../base/process/completion.ts'
import { type CommandFlag, flagsOf, membersOf, type ProgramCommand } from './command.ts'
import { HELP_FLAG, VERSION_FLAG } from './help.ts'

type Nodes = readonly CompletionNode[]

/** The generator for each shell. */
const GENERATORS: Readonly<Record<string, (nodes: Nodes) => string>> = {
  bash: generateBash,
  zsh: generateZsh,
  fish: generateFish,
  powershell: generatePowerShell,
}

/** The shells with completion. */
export const SHELLS: readonly string[] = Object.keys(GENERATORS)

/** The nodes of a program: those of its commands, then those that commands have of their own. */
export async function completionNodes(
  commands: readonly ProgramCommand[],
  commonFlags: readonly CommandFlag[],
): Promise<CompletionNode[]> {
  const namesOf = (flags: readonly CommandFlag[]) =>
    flags.filter(({ replacement }) => replacement === undefined).map(({ name }) => `--${name}`)
  const common = namesOf([VERSION_FLAG, ...commonFlags])
  const shown = commands.filter(({ hidden }) => !hidden)
  const own = shown
    .filter(({ delegate }) => delegate === undefined)
    .map(async (command) => {
      const members = membersOf(commands, command).map(({ words }) => words.at(-1)!)
      const isRoot = command.words.length === 0
      const flags = isRoot ? common : namesOf(await flagsOf(command))
      const words = [
        ...(members.length > 0 ? [...members, 'help'] : []),
        ...(command.choices ?? []),
        ...[...flags, `--${HELP_FLAG.name}`],
        ...(isRoot ? [] : common),
      ]
      return { path: command.words.join(' '), words: [...new Set(words)] }
    })
  const delegated = shown.map(async ({ delegate }) => (await delegate?.completion()) ?? [])
  return [...(await Promise.all(own)), ...(await Promise.all(delegated)).flat()]
}

/** Shell code that completes commands and flags. */
export function generateCompletion(
  shell: string | undefined,
  nodes: Nodes,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const name = shell ?? env.SHELL?.split('/').at(-1) ?? 'bash'
  const generate = GENERATORS[name === 'pwsh' ? 'powershell' : name]
  if (generate === undefined)
    throw new CommandFailure(
      `there is no completion for ${name}.\nWrite: adit completion ${SHELLS.join('|')}`,
    )
  return generate(nodes)
}

function generateBash(nodes: Nodes): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `      "${path}") path="$next" ;;`)
  const cases = nodes.map(({ path, words }) => `    "${path}") words="${words.join(' ')}" ;;`)
  return `# Load it with: source <(adit completion bash)
_adit() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" next word words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    case "$next" in
${paths.join('\n')}
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _adit adit
`
}

/** zsh runs bash completions through `bashcompinit`. */
function generateZsh(nodes: Nodes): string {
  return `# Load it with: source <(adit completion zsh)
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${generateBash(nodes).replace(/^#.*\n/, '')}`
}

function generateFish(nodes: Nodes): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`)
  const cases = nodes.map(
    ({ path, words }) =>
      `    case '${path}'\n      printf '%s\\n' ${words.map((word) => `'${word}'`).join(' ')}`,
  )
  return `# Load it with: adit completion fish | source
set -g __adit_paths ${paths.join(' ')}
function __adit_words
  set -l path
  for word in (commandline -opc)[2..-1]
    set -l next (string join ' ' $path $word)
    if contains -- $next $__adit_paths
      set path $path $word
    end
  end
  switch (string join ' ' $path)
${cases.join('\n')}
  end
end
complete -c adit -n 'not string match -qr "^[./~]" -- (commandline -ct)' -f -a '(__adit_words)'
`
}

function generatePowerShell(nodes: Nodes): string {
  const entries = nodes.map(({ path, words }) => `    '${path}' = '${words.join(' ')}'`)
  return `# Load it with: adit completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName adit -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $table = @{
${entries.join('\n')}
  }
  $path = ''
  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    $next = "$path $($element.Extent.Text)".Trim()
    if ($table.ContainsKey($next)) { $path = $next }
  }
  $table[$path] -split ' ' | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
}
