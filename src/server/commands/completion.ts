import { type CompletionNode, toCompletionNodes } from '../../base/process/completion.ts'
import { settingFlags } from '../settings/settings.ts'
import { flagNamesOf, subcommands } from './subcommands.ts'

/** The commands and flags of `adit server`, for shell completion. */
export function serverCompletion(): CompletionNode[] {
  const flags = [...settingFlags, 'help']
  return toCompletionNodes('server', [
    ...subcommands.map((command) => ({
      words: command.words,
      flags: [...flagNamesOf(command), ...flags],
    })),
    { words: [], flags },
  ])
}
