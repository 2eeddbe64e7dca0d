import { type CompletionNode, toCompletionNodes } from '../base/completion.ts'
import { settingFlags } from './settings.ts'
import { subcommands } from './subcommands.ts'

/** The commands and flags of `adit server`, for shell completion. */
export function serverCompletion(): CompletionNode[] {
  const flags = [...settingFlags, 'help']
  return toCompletionNodes('server', [
    ...subcommands.map(({ words, switches = [] }) => ({ words, flags: [...switches, ...flags] })),
    { words: [], flags },
  ])
}
