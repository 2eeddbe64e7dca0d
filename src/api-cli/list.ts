import {
  type CommandFlag,
  defineCommand,
  type FlagValues,
  type ProgramCommand,
  textOf,
} from '../command-line/index.ts'
import type { ApiFlags } from './access.ts'

/** Makes the API key known that the agent has saved, which calls of the API use if there is no other. */
type PassSavedKey = (values: FlagValues) => Promise<void>

/** The flags of commands that call the management API. */
export const API_FLAGS: readonly CommandFlag[] = [
  { name: 'api-url', kind: 'text', help: 'address of the management API' },
  { name: 'api-key', kind: 'text', help: 'key of the management API' },
]

/** The values of those flags. */
export const apiFlagsOf = (values: FlagValues): ApiFlags => ({
  apiUrl: textOf(values['api-url']),
  apiKey: textOf(values['api-key']),
})

/** `adit api`. */
export const apiCommand = (passSavedKey: PassSavedKey): ProgramCommand =>
  defineCommand({
    usage: 'api',
    help: 'call the management API of a server (see: adit api --help)',
    delegate: {
      async run(args, values) {
        await passSavedKey(values)
        return (await import('./run.ts')).runApi(args)
      },
      completion: async () => (await import('./completion.ts')).apiCompletion(),
    },
  })

const loadAccount = () => import('./account.ts')

/** `adit apply` and `adit export`. */
export const accountCommands = (passSavedKey: PassSavedKey): readonly ProgramCommand[] => [
  defineCommand({
    usage: 'apply',
    help: 'make the account match a document',
    flags: [
      {
        name: 'file',
        short: 'f',
        kind: 'text',
        placeholder: 'file',
        help: 'the document, YAML or JSON ("-" reads standard input)',
      },
      {
        name: 'diff',
        kind: 'bool',
        help: 'print the plan and change nothing; the exit code is 2 if there are differences',
      },
      { name: 'prune', kind: 'bool', help: 'delete what an earlier document had and this one does not' },
      { name: 'schema', kind: 'bool', help: 'print the JSON Schema of documents, for editors' },
      ...API_FLAGS,
    ],
    examples: [
      ['adit apply -f account.yml', 'print the plan, then make the account match the document'],
      ['adit apply -f account.yml --diff', 'print the plan alone'],
      ['adit apply -f account.yml --prune', 'also delete what is no longer in the document'],
      ['adit apply --schema > account.schema.json', 'completion and checks in editors'],
    ],
    async run({ values, ...output }) {
      const [diff = false, prune = false, schema = false] = ['diff', 'prune', 'schema'].map(
        (name) => values[name] === 'true',
      )
      await passSavedKey(values)
      const options = { file: textOf(values.file), diff, prune, schema, ...apiFlagsOf(values) }
      return (await loadAccount()).applyAccount(options, output)
    },
  }),
  defineCommand({
    usage: 'export',
    help: 'print the account as a document, without secrets',
    flags: API_FLAGS,
    examples: [['adit export > account.yml', 'write the account to a file, without secrets']],
    async run({ values, ...output }) {
      await passSavedKey(values)
      return (await loadAccount()).exportAccount(apiFlagsOf(values), output)
    },
  }),
]
