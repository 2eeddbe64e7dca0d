import { type CompletionNode, toCompletionNodes } from '../base/process/completion.ts'
import { commandsOf } from './commands.ts'

const COMMON_FLAGS = ['api-key', 'api-url', 'help', 'json']

/** The commands and flags of `adit api`, for shell completion. */
export async function apiCompletion(): Promise<CompletionNode[]> {
  const { routes } = await import('../api/all-routes.ts')
  const commands = commandsOf(routes).map(({ words, flags }) => ({
    words,
    flags: [...flags.map(({ name }) => name), ...COMMON_FLAGS],
  }))
  return toCompletionNodes('api', commands)
}
