import { CommandFailure } from '../../base/process/command-line.ts'
import {
  type CommandFlag,
  defineCommand,
  isJsonOutput,
  type ProgramCommand,
  textOf,
} from '../../command-line/index.ts'
import type { CheckInput } from './check.ts'
import type { ServiceAction } from './service/manager.ts'
import { QR_FLAG, SESSION_FLAGS } from './session-flags.ts'
import { VERSION_TEXT } from './version.ts'

// Loaded on demand: a command starts faster without the agent, the configuration and the declarations it does not use.
const loadTunnelCommands = () => import('./tunnels.ts')
const loadEndpointFlags = () => import('./flags.ts')
const loadConfigCommands = () => import('./config.ts')
const loadContext = () => import('./context.ts')

const { env } = process

function defineEndpoint(
  kind: 'http' | 'tcp' | 'tls',
  help: string,
  examples: NonNullable<ProgramCommand['examples']>,
): ProgramCommand {
  return defineCommand({
    usage: `${kind} <address>`,
    help,
    flags: async () => [...(await loadEndpointFlags()).ENDPOINT_FLAGS[kind], ...SESSION_FLAGS],
    examples,
    run: async ({ operands: [address = ''], values }) =>
      (await loadTunnelCommands()).endpointCommand(kind, address, values, env),
  })
}

/** The commands that run tunnels. */
export const tunnelCommands: readonly ProgramCommand[] = [
  defineEndpoint(
    'http',
    'give an HTTP service a public URL; ADDRESS is a port, host:port, URL or file:///directory',
    [
      ['adit http 3000', 'a random name for the web service on port 3000'],
      ['adit http 3000 --url https://app.example.com', 'a name of your choice'],
      ['adit http 3000 --basic-auth ada:secret-password', 'visitors need a password'],
      ['adit http file:///var/www', 'a directory, without a web server'],
    ],
  ),
  defineEndpoint('tcp', 'give a TCP service a public address; ADDRESS is a port or host:port', [
    ['adit tcp 22', 'a public port for SSH on this machine'],
    ['adit tcp db.internal:5432 --remote-addr tunnel.example.com:20001', 'a reserved public port'],
  ]),
  defineEndpoint('tls', 'give a TLS service a public name; ADDRESS is a port or host:port', [
    ['adit tls 443 --url tls://app.example.com', 'pass TLS through to the local service'],
    ['adit tls 8080 --crt cert.pem --key key.pem', 'terminate TLS in the agent'],
  ]),
  defineCommand({
    usage: 'start [names...]',
    help: 'start tunnels and endpoints from the configuration file',
    flags: [
      { name: 'all', kind: 'bool', help: 'start all of them' },
      { name: 'none', kind: 'bool', help: 'start none: only the session and the local API' },
      QR_FLAG,
      ...SESSION_FLAGS,
      { name: 'metadata', kind: 'text', help: 'free text shown with the session' },
    ],
    examples: [
      ['adit start web db', 'two tunnels from the configuration file'],
      ['adit start --all', 'all of them'],
      ['adit start --none', 'none; the local API starts tunnels'],
    ],
    run: async ({ operands, values }) => (await loadTunnelCommands()).startCommand(operands, values, env),
  }),
  defineCommand({
    usage: 'tunnel <address>',
    help: 'start a labelled tunnel for the backends of an edge',
    flags: async () => [...(await loadEndpointFlags()).LABELLED_FLAGS, ...SESSION_FLAGS],
    examples: [['adit tunnel --label app=web 3000', 'serve the edges whose backend asks for app=web']],
    run: async ({ operands: [address = ''], values }) =>
      (await loadTunnelCommands()).labelledCommand(address, values, env),
  }),
  defineCommand({
    usage: 'docker',
    help: 'give containers with labels such as adit.http=3000 public URLs while they run',
    flags: [
      {
        name: 'docker-host',
        kind: 'text',
        help: 'socket of the container engine (default DOCKER_HOST or unix:///var/run/docker.sock)',
      },
      ...SESSION_FLAGS,
    ],
    examples: [
      ['adit docker', 'follow the containers of the local engine'],
      ['adit docker --docker-host unix:///run/podman/podman.sock', 'those of Podman'],
    ],
    run: async ({ values }) => (await import('./docker.ts')).dockerCommand(values, env),
  }),
]

/** The commands of the configuration file. `loadRequestCheck` loads what every server checks of a tunnel. */
export const configCommands = (
  loadRequestCheck: () => Promise<CheckInput['checkRequest']>,
): readonly ProgramCommand[] => [
  defineCommand({ usage: 'config', help: 'read and change the configuration file' }),
  defineCommand({
    usage: 'config add-authtoken <token>',
    help: 'save the authtoken of a server ("-" reads it from standard input)',
    examples: [
      ['adit config add-authtoken TOKEN', 'save the token of the agent'],
      ['adit config add-authtoken - < token.txt', 'read it from a file'],
    ],
    run: async ({ operands: [token = ''], values, out }) =>
      (await loadConfigCommands()).addAuthtoken(token, values, env, out),
  }),
  defineCommand({
    usage: 'config add-api-key <key>',
    help: 'save the key for "adit api" ("-" reads it from standard input)',
    examples: [['adit config add-api-key KEY', 'save the key for adit api']],
    run: async ({ operands: [key = ''], values, out }) =>
      (await loadConfigCommands()).addApiKey(key, values, env, out),
  }),
  defineCommand({
    usage: 'config add-connect-url <address>',
    alias: 'add-server-addr',
    help: 'save the address of the server, host:port',
    examples: [
      ['adit config add-connect-url connect.tunnels.example.com:4443', 'use the server at this address'],
    ],
    run: async ({ operands: [address = ''], values, out }) =>
      (await loadConfigCommands()).addConnectUrl(address, values, env, out),
  }),
  defineCommand({
    usage: 'config add-update-url <url> <key>',
    help: 'save where "adit update" finds releases, and the public key that verifies them',
    examples: [
      [
        'adit config add-update-url https://tunnels.example.com/download release.pub',
        'update from this server',
      ],
    ],
    run: async ({ operands: [url = '', key = ''], values, out }) =>
      (await loadConfigCommands()).addUpdateUrl({ url, key }, values, env, out),
  }),
  defineCommand({
    usage: 'config check',
    help: 'check the configuration file',
    examples: [
      ['adit config check', 'check the default file'],
      ['adit config check --config work.yml', 'check another one'],
    ],
    run: async ({ values, ...output }) =>
      (await loadConfigCommands()).checkConfig(values, env, output, await loadRequestCheck()),
  }),
  defineCommand({
    usage: 'config reload',
    help: 'reload the configuration file of the running agent, like SIGHUP',
    flags: [{ name: 'web-addr', kind: 'text', help: "host:port of the agent's local API" }],
    examples: [['adit config reload', 'apply what changed in the file; other tunnels stay online']],
    run: async ({ values, out }) => (await loadConfigCommands()).reloadConfig(values, env, out),
  }),
  defineCommand({
    usage: 'config edit',
    help: 'open the configuration file in your editor',
    examples: [['EDITOR=vim adit config edit', 'edit the default file with vim']],
    run: async ({ values }) => (await loadConfigCommands()).editConfig(values, env),
  }),
  defineCommand({
    usage: 'config upgrade [version]',
    help: 'upgrade the configuration file to a newer version',
    flags: [
      { name: 'dry-run', kind: 'bool', help: 'print the result without changing the file' },
      { name: 'relocate', kind: 'bool', help: 'move the file to its default location' },
    ],
    examples: [
      ['adit config upgrade --dry-run', 'print the file in the newest version'],
      ['adit config upgrade 3', 'change it; the old one is kept as a backup'],
    ],
    async run({ operands: [version], values, out }) {
      const options = { dryRun: values['dry-run'] === 'true', relocate: values.relocate === 'true' }
      ;(await loadConfigCommands()).upgrade(version, options, values, env, out)
    },
  }),
]

const UPDATE_FLAGS: readonly CommandFlag[] = SESSION_FLAGS.filter(({ name }) => name.startsWith('update-'))

function defineServiceAction(
  action: ServiceAction,
  help: string,
  example: string,
  effect: string,
): ProgramCommand {
  return defineCommand({
    usage: `service ${action}`,
    help,
    examples: [[`adit service ${example}`, effect]],
    run: async ({ values, out }) =>
      (await import('./service/service.ts')).runServiceAction(action, values, env, out),
  })
}

/** The commands that look after the agent itself. */
export const maintenanceCommands: readonly ProgramCommand[] = [
  defineCommand({
    usage: 'diagnose',
    help: 'test the connection to the server, step by step',
    flags: [
      ...SESSION_FLAGS,
      { name: 'ipv4', short: '4', kind: 'switch', help: 'use IPv4 only' },
      { name: 'ipv6', short: '6', kind: 'switch', help: 'use IPv6 only' },
      {
        name: 'write-report',
        short: 'w',
        kind: 'text',
        placeholder: 'file',
        help: 'write a report as JSON, without secrets',
      },
      { name: 'region-of', short: 'r', kind: 'text', help: '', replacement: 'no effect' },
    ],
    examples: [
      ['adit diagnose', 'test the connection to the configured server'],
      ['adit diagnose -w report.json', 'write the findings to a file, without secrets'],
    ],
    async run({ values, out }) {
      const json = isJsonOutput(values)
      const { keys } = (await loadContext()).createContext(values, env, { stdoutForData: json })
      const [ipv4, ipv6] = [values.ipv4 === 'true', values.ipv6 === 'true']
      if (ipv4 && ipv6) throw new CommandFailure('-4 and -6 exclude each other; leave both out to use either')
      const family = ipv4 ? 4 : ipv6 ? 6 : undefined
      const options = { family, report: textOf(values['write-report']), json } as const
      return (await import('./diagnose.ts')).diagnose(keys, options, env, out)
    },
  }),
  defineCommand({ usage: 'service', help: 'run the agent as a system service' }),
  defineServiceAction(
    'install',
    'install the service (requires --config)',
    'install --config /etc/adit/agent.yml',
    'start all tunnels of this file at boot',
  ),
  defineServiceAction('start', 'start it', 'start', 'start the installed service'),
  defineServiceAction('stop', 'stop it', 'stop', 'stop it until the next boot'),
  defineServiceAction(
    'restart',
    'stop it and start it again',
    'restart',
    'apply a changed configuration file',
  ),
  defineServiceAction(
    'status',
    'show whether it is running; the exit code is 3 if not',
    'status',
    'show whether it is running; exit code 3 if not',
  ),
  defineServiceAction('uninstall', 'remove it', 'uninstall', 'stop it and remove it'),
  defineCommand({
    usage: 'service run',
    help: 'run the agent for the service manager',
    hidden: true,
    run: async ({ values }) => (await loadTunnelCommands()).serviceRunCommand(values, env),
  }),
  defineCommand({
    usage: 'update',
    help: 'install the newest version of the update channel',
    flags: [{ name: 'channel', kind: 'text', help: 'stable, beta or unstable' }, ...UPDATE_FLAGS],
    examples: [
      ['adit update', 'install the newest version'],
      ['adit update --channel beta', 'the newest version on another channel'],
    ],
    run: async ({ values, out }) =>
      (await import('./update.ts')).update((await loadContext()).createContext(values, env), out),
  }),
  defineCommand({
    usage: 'version',
    help: 'print the version',
    examples: [['adit version', 'print the version']],
    run: ({ out }) => out(`${VERSION_TEXT}\n`),
  }),
]

/** `adit credits`, the last one. */
export const creditsCommand: ProgramCommand = defineCommand({
  usage: 'credits',
  help: 'print the packages this program is built on',
  examples: [['adit credits', 'print packages and licences']],
  run: async ({ out }) => out((await import('./credits.ts')).formatCredits()),
})
