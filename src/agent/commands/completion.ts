import type { Command } from 'commander'
import { CommandFailure } from '../../base/process/command-line.ts'
import type { CompletionNode } from '../../base/process/completion.ts'

type Nodes = readonly CompletionNode[]

/** The shells with completion, each with its generator. */
const GENERATORS: Readonly<Record<string, (nodes: Nodes) => string>> = {
  bash: generateBash,
  zsh: generateZsh,
  fish: generateFish,
  powershell: generatePowerShell,
}

/** Shell code that completes commands and flags: those of the command tree and those of other parts. */
export function generateCompletion(
  shell: string | undefined,
  program: Command,
  others: Nodes,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const name = shell ?? env.SHELL?.split('/').at(-1) ?? 'bash'
  const generate = GENERATORS[name === 'pwsh' ? 'powershell' : name]
  if (generate === undefined)
    throw new CommandFailure(
      `there is no completion for ${name}.\nWrite: adit completion ${Object.keys(GENERATORS).join('|')}`,
    )
  const paths = new Set(others.map(({ path }) => path))
  return generate([...collectNodes(program, '').filter(({ path }) => !paths.has(path)), ...others])
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

function collectNodes(command: Command, path: string): CompletionNode[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
  const flags = options.map((option) => option.long ?? option.short ?? '')
  const words = [
    ...new Set([
      ...commands.map((each) => each.name()),
      ...(path === 'completion' ? Object.keys(GENERATORS) : []),
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
