import type { Command } from 'commander'
import type { CommandFlag, FlagValues } from '../commands/session-flags.ts'
import type { AccountCommands, ApiFlags } from './external.ts'
import { addFlags, output, textOf, valuesOf } from './options.ts'

/** The flags of commands that call the management API. */
export const API_FLAGS: readonly CommandFlag[] = [
  { name: 'api-url', kind: 'text', help: 'address of the management API' },
  { name: 'api-key', kind: 'text', help: 'key of the management API' },
]

/** The values of those flags. */
export async function apiFlagsOf(values: FlagValues): Promise<ApiFlags> {
  await passSavedApiKey(values)
  return { apiUrl: textOf(values['api-url']), apiKey: textOf(values['api-key']) }
}

/** Passes the key saved by `config add-api-key` to the API client, which reads it from the environment. */
export async function passSavedApiKey(values: FlagValues): Promise<void> {
  const { createContext } = await import('../commands/context.ts')
  const { keys } = createContext(values, process.env, { stdoutForData: true })
  if (keys.api_key !== undefined) process.env.ADIT_API_KEY ??= keys.api_key
}

/** Adds `adit apply` and `adit export`. */
export function addAccountCommands(
  program: Command,
  state: { code: number },
  account: AccountCommands | undefined,
): void {
  const apply = program.command('apply').description('make the account match a document')
  apply.option('-f, --file <file>', 'the document, YAML or JSON ("-" reads standard input)')
  addFlags(apply, [
    {
      name: 'diff',
      kind: 'bool',
      help: 'print the plan and change nothing; the exit code is 2 if there are differences',
    },
    { name: 'prune', kind: 'bool', help: 'delete what an earlier document had and this one does not' },
    { name: 'schema', kind: 'bool', help: 'print the JSON Schema of documents, for editors' },
    ...API_FLAGS,
  ])
  apply.action(async () => {
    const values = valuesOf(apply)
    const [diff, prune, schema] = ['diff', 'prune', 'schema'].map((name) => values[name] === 'true')
    const options = { file: textOf(values.file), diff: diff!, prune: prune!, schema: schema! }
    state.code = await account!.apply({ ...options, ...(await apiFlagsOf(values)) }, output)
  })
  const exported = program.command('export').description('print the account as a document, without secrets')
  addFlags(exported, API_FLAGS)
  exported.action(async () => {
    state.code = await account!.export(await apiFlagsOf(valuesOf(exported)), output)
  })
}
