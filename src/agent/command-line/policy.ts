import type { Command } from 'commander'
import { type CommandFlag, type FlagValues, isJsonOutput, SESSION_FLAGS } from '../commands/session-flags.ts'
import { API_FLAGS, apiFlagsOf } from './account.ts'
import type { PolicyCommands, TrialFlags } from './external.ts'
import { addFlags, listOf, output, textOf, valuesOf } from './options.ts'

const EDGE_FLAG: CommandFlag = {
  name: 'edge',
  kind: 'bool',
  help: 'the policy is for an edge or one of its routes',
}

const OUTPUT_FLAG = SESSION_FLAGS.filter(({ name }) => name === 'output')

/** Adds `adit policy`. */
export function addPolicyCommands(
  program: Command,
  state: { code: number },
  policy: PolicyCommands | undefined,
): void {
  const parent = program
    .command('policy')
    .description('check and test traffic policies, and convert edges to policies')
  const check = parent
    .command('check <file>')
    .description('check a traffic policy without a server ("-" reads standard input)')
  addFlags(check, [
    { name: 'protocol', kind: 'text', help: 'of the endpoint: https (default), http, tcp or tls' },
    {
      name: 'ip-data',
      kind: 'list',
      help: 'IP data file of the server; may be repeated',
    },
    EDGE_FLAG,
    ...OUTPUT_FLAG,
  ])
  check.action(async (file: string) => {
    const values = valuesOf(check)
    const { protocol, edge } = values
    const options = {
      protocol: textOf(protocol),
      edge: edge === 'true',
      json: isJsonOutput(values),
      ipData: listOf(values['ip-data']),
    }
    state.code = await policy!.check(file, options, output)
  })
  addPolicyTrials(parent, state, policy)
  const fromEdge = parent
    .command('from-edge <id>')
    .description('print a policy equivalent to the modules of an edge')
  addFlags(fromEdge, API_FLAGS)
  fromEdge.action(async (id: string) => {
    state.code = await policy!.fromEdge(id, await apiFlagsOf(valuesOf(fromEdge)), output)
  })
}

const TRIAL_FLAGS: readonly CommandFlag[] = [
  { name: 'signed-in-as', kind: 'text', help: 'email address of the signed-in visitor' },
  { name: 'secret', kind: 'list', help: 'vault/name=value for secrets.get(); may be repeated' },
  { name: 'ip-data', kind: 'list', help: 'IP data file; may be repeated' },
  EDGE_FLAG,
  ...OUTPUT_FLAG,
]

const trialFlagsOf = (values: FlagValues): TrialFlags => ({
  edge: values.edge === 'true',
  json: isJsonOutput(values),
  secrets: listOf(values.secret),
  signedInAs: textOf(values['signed-in-as']),
  ipData: listOf(values['ip-data']),
})

/** The commands that run a request through a policy without a server. */
function addPolicyTrials(parent: Command, state: { code: number }, policy: PolicyCommands | undefined): void {
  const test = parent
    .command('test <file>')
    .description('run a request through a traffic policy without a server, and show what each rule does')
  addFlags(test, [
    { name: 'request', kind: 'text', help: "method and URL, such as 'POST https://app.example.com/login'" },
    { name: 'header', kind: 'list', help: 'request header as "name: value"; may be repeated' },
    { name: 'body', kind: 'text', help: 'body of the request, or @FILE' },
    { name: 'client-ip', kind: 'text', help: 'address of the visitor (default 203.0.113.1)' },
    { name: 'response-status', kind: 'text', help: "status of the upstream's response (default 200)" },
    { name: 'response-header', kind: 'list', help: 'response header as "name: value"; may be repeated' },
    ...TRIAL_FLAGS,
  ])
  test.action(async (file: string) => {
    const values = valuesOf(test)
    const options = {
      ...trialFlagsOf(values),
      request: textOf(values.request),
      headers: listOf(values.header),
      body: textOf(values.body),
      clientIp: textOf(values['client-ip']),
      responseStatus: textOf(values['response-status']),
      responseHeaders: listOf(values['response-header']),
    }
    state.code = await policy!.test(file, options, output)
  })
  const explain = parent
    .command('explain <file>')
    .description('show what each rule of a traffic policy does with a captured request')
  addFlags(explain, [
    { name: 'har', kind: 'text', help: 'HTTP archive (HAR) with the request' },
    { name: 'entry', kind: 'text', help: 'number of the request in the archive (default 1)' },
    { name: 'capture', kind: 'text', help: "id of a request in the agent's inspector" },
    { name: 'web-addr', kind: 'text', help: "address of the agent's local API (default 127.0.0.1:4040)" },
    ...TRIAL_FLAGS,
  ])
  explain.action(async (file: string) => {
    const values = valuesOf(explain)
    const options = {
      ...trialFlagsOf(values),
      har: textOf(values.har),
      entry: textOf(values.entry),
      capture: textOf(values.capture),
      webAddr: textOf(values['web-addr']),
    }
    state.code = await policy!.explain(file, options, output)
  })
}
