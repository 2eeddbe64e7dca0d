import { API_FLAGS, apiFlagsOf } from '../api-cli/index.ts'
import {
  type CommandFlag,
  defineCommand,
  type FlagValues,
  isJsonOutput,
  listOf,
  OUTPUT_FLAG,
  type ProgramCommand,
  textOf,
} from '../command-line/index.ts'

const EDGE_FLAG: CommandFlag = {
  name: 'edge',
  kind: 'bool',
  help: 'the policy is for an edge or one of its routes',
}

const TRIAL_FLAGS: readonly CommandFlag[] = [
  { name: 'signed-in-as', kind: 'text', help: 'email address of the signed-in visitor' },
  { name: 'secret', kind: 'list', help: 'vault/name=value for secrets.get(); may be repeated' },
  { name: 'ip-data', kind: 'list', help: 'IP data file; may be repeated' },
  EDGE_FLAG,
  OUTPUT_FLAG,
]

const trialFlagsOf = (values: FlagValues) => ({
  edge: values.edge === 'true',
  json: isJsonOutput(values),
  secrets: listOf(values.secret),
  signedInAs: textOf(values['signed-in-as']),
  ipData: listOf(values['ip-data']),
})

/** `adit policy`. `passSavedKey` makes the API key known that the agent has saved. */
export const policyCommands = (
  passSavedKey: (values: FlagValues) => Promise<void>,
): readonly ProgramCommand[] => [
  defineCommand({
    usage: 'policy',
    help: 'check and test traffic policies, and convert edges to policies',
  }),
  defineCommand({
    usage: 'policy check <file>',
    help: 'check a traffic policy without a server ("-" reads standard input)',
    flags: [
      { name: 'protocol', kind: 'text', help: 'of the endpoint: https (default), http, tcp or tls' },
      { name: 'ip-data', kind: 'list', help: 'IP data file of the server; may be repeated' },
      EDGE_FLAG,
      OUTPUT_FLAG,
    ],
    examples: [
      ['adit policy check policy.yml', 'the policy of an https endpoint'],
      ['adit policy check policy.yml --protocol tcp --edge', 'the policy of a TCP edge'],
    ],
    async run({ operands: [file = ''], values, ...output }) {
      const options = {
        protocol: textOf(values.protocol),
        edge: values.edge === 'true',
        json: isJsonOutput(values),
        ipData: listOf(values['ip-data']),
      }
      return (await import('./check.ts')).checkPolicy(file, options, output)
    },
  }),
  defineCommand({
    usage: 'policy test <file>',
    help: 'run a request through a traffic policy without a server, and show what each rule does',
    flags: [
      { name: 'request', kind: 'text', help: "method and URL, such as 'POST https://app.example.com/login'" },
      { name: 'header', kind: 'list', help: 'request header as "name: value"; may be repeated' },
      { name: 'body', kind: 'text', help: 'body of the request, or @FILE' },
      { name: 'client-ip', kind: 'text', help: 'address of the visitor (default 203.0.113.1)' },
      { name: 'response-status', kind: 'text', help: "status of the upstream's response (default 200)" },
      { name: 'response-header', kind: 'list', help: 'response header as "name: value"; may be repeated' },
      ...TRIAL_FLAGS,
    ],
    examples: [
      ["adit policy test policy.yml --request 'GET https://app.example.com/'", 'what each rule does with it'],
      [
        "adit policy test policy.yml --request 'POST https://app.example.com/' --body @hook.json",
        'a request with a body',
      ],
      [
        "adit policy test policy.yml --request 'GET https://app.example.com/' --client-ip 198.51.100.7 --signed-in-as ana@example.com",
        'from a signed-in visitor',
      ],
    ],
    async run({ operands: [file = ''], values, ...output }) {
      const options = {
        ...trialFlagsOf(values),
        request: textOf(values.request),
        headers: listOf(values.header),
        body: textOf(values.body),
        clientIp: textOf(values['client-ip']),
        responseStatus: textOf(values['response-status']),
        responseHeaders: listOf(values['response-header']),
      }
      return (await import('./trial.ts')).testPolicy(file, options, output)
    },
  }),
  defineCommand({
    usage: 'policy explain <file>',
    help: 'show what each rule of a traffic policy does with a captured request',
    flags: [
      { name: 'har', kind: 'text', help: 'HTTP archive (HAR) with the request' },
      { name: 'entry', kind: 'text', help: 'number of the request in the archive (default 1)' },
      { name: 'capture', kind: 'text', help: "id of a request in the agent's inspector" },
      { name: 'web-addr', kind: 'text', help: "address of the agent's local API (default 127.0.0.1:4040)" },
      ...TRIAL_FLAGS,
    ],
    examples: [
      ['adit policy explain policy.yml --har session.har --entry 3', 'the third request in an archive'],
      ['adit policy explain policy.yml --capture airt_ID', "a request from the agent's inspector"],
    ],
    async run({ operands: [file = ''], values, ...output }) {
      const options = {
        ...trialFlagsOf(values),
        har: textOf(values.har),
        entry: textOf(values.entry),
        capture: textOf(values.capture),
        webAddr: textOf(values['web-addr']),
      }
      return (await import('./explain.ts')).explainPolicy(file, options, output)
    },
  }),
  defineCommand({
    usage: 'policy from-edge <id>',
    help: 'print a policy equivalent to the modules of an edge',
    flags: API_FLAGS,
    examples: [['adit policy from-edge edghts_ID > policy.yml', 'write the policy of an edge to a file']],
    async run({ operands: [id = ''], values, ...output }) {
      await passSavedKey(values)
      return (await import('./from-edge.ts')).printEdgePolicy(id, apiFlagsOf(values), output)
    },
  }),
]
