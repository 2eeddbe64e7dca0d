import { parseArgs } from 'node:util'
import { errorMessage } from '../../base/text/error-message.ts'
import { MAX_WEIGHT } from '../../base/values/weighted-round-robin.ts'
import type { BindOpts } from '../../protocol/index.ts'
import { allEndpointOptions, type EndpointOption } from '../../resources/endpoint-options.ts'

/** The command after the host name in `ssh host command`. */
export interface SshCommand {
  /** Undefined: the port of the forward decides. */
  readonly proto: 'http' | 'tcp' | 'tls' | undefined
  /** The client's upstream, for display and for `--host-header rewrite`. */
  readonly forwardsTo: string
  readonly output: 'text' | 'json'
  /** False: the terminal shows addresses and errors, but no requests. */
  readonly requestLog: boolean
  readonly name: string
  readonly description: string
  readonly metadata: string
  readonly pooling: boolean
  readonly poolingWeight: number
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly opts: BindOpts
  /** True when the command sets display options only, so it may also come after the tunnels are bound. */
  readonly displayOnly: boolean
}

/** An invalid command; the message is for the user's terminal. */
export class InvalidCommand extends Error {
  override name = 'InvalidCommand'
}

const many = { type: 'string', multiple: true } as const
const one = { type: 'string' } as const
const flag = { type: 'boolean' } as const

/** Options of this server; those of endpoints are added from their declarations. */
const OWN_OPTIONS = {
  output: one,
  inspect: one,
  name: one,
  description: one,
  metadata: one,
  'pooling-enabled': flag,
  'pooling-weight': one,
  label: many,
  domain: one,
  hostname: one,
  subdomain: one,
  'remote-addr': one,
  url: one,
  auth: many,
  'proxy-proto': one,
  'host-header': one,
  'terminate-at': one,
} as const

const PROTOS = ['http', 'tcp', 'tls'] as const

const ENDPOINT_OPTIONS = allEndpointOptions.filter(({ ssh }) => ssh)
const PARSED_AS = { text: one, list: many, bool: flag } as const

const OPTIONS = {
  ...OWN_OPTIONS,
  ...Object.fromEntries(
    ENDPOINT_OPTIONS.flatMap(({ flags }) => flags.map(({ name, kind }) => [name, PARSED_AS[kind]])),
  ),
}

/** Options that need an HTTP endpoint, besides the declared ones. */
const HTTP_ONLY_OPTIONS = ['auth', 'host-header']

const DISPLAY_OPTIONS = new Set(['output', 'inspect'])
const MAX_COMMAND_BYTES = 16_384

/** The empty command, which a shell request means. */
export const NO_COMMAND: SshCommand = parseCommand('')

/** Parses the command line of an SSH client. Unknown words and options are rejected by name. */
export function parseCommand(line: string): SshCommand {
  const { protoToken, args } = splitProto(tokenize(line))
  const { values, positionals } = parseOptions(args)
  const proto = PROTOS.find((candidate) => candidate === protoToken)
  if (positionals.length > 1)
    throw new InvalidCommand(
      `"${sanitize(positionals[1]!)}" is one word too many. Write one address after ${protoToken}.`,
    )
  const misplaced = HTTP_ONLY_OPTIONS.find((option) => values[option] !== undefined)
  if (misplaced !== undefined) requireKind(misplaced, ['http'], proto)
  const forwardsTo = parseService(positionals[0])

  return {
    proto,
    forwardsTo,
    output: parseChoice('output', values.output ?? 'text', ['text', 'json']),
    requestLog: parseChoice('inspect', values.inspect ?? 'true', ['true', 'false']) === 'true',
    name: values.name ?? '',
    description: values.description ?? '',
    metadata: values.metadata ?? '',
    pooling: values['pooling-enabled'] ?? false,
    poolingWeight: parseWeight(values['pooling-weight'] ?? '1'),
    labels: parseLabels(values.label),
    opts: toBindOpts(values, forwardsTo, proto),
    displayOnly:
      positionals.length === 0 && Object.keys(values).every((option) => DISPLAY_OPTIONS.has(option)),
  }
}

type OwnValues = ReturnType<typeof parseArgs<{ options: typeof OWN_OPTIONS }>>['values']
type Values = OwnValues & { readonly [option: string]: string | boolean | (string | boolean)[] | undefined }

function parseOptions(args: string[]): { values: Values; positionals: string[] } {
  try {
    // `--inspect` means `--inspect=true`, and `-name` means `--name`.
    const normalized = args.map((arg) =>
      arg.replace(/^-(?=[a-z]{2})/, '--').replace(/^--inspect$/, '--inspect=true'),
    )
    const { values, positionals } = parseArgs({ args: normalized, options: OPTIONS, allowPositionals: true })
    return { values: values as Values, positionals }
  } catch (error) {
    const reason = errorMessage(error).split('. To specify')[0]!
    throw new InvalidCommand(`${sanitize(reason)}. ${SEE_DOCUMENTATION}`)
  }
}

const SEE_DOCUMENTATION = 'See docs/ssh.md for the words and options of this server.'

function splitProto(tokens: string[]): { protoToken: string | undefined; args: string[] } {
  const [token, ...args] = tokens
  if (token === undefined || token.startsWith('-')) return { protoToken: undefined, args: tokens }
  if ((PROTOS as readonly string[]).includes(token)) return { protoToken: token, args }
  throw new InvalidCommand(
    `"${sanitize(token)}" cannot be run: this server runs no commands, it only forwards. Begin with http, tcp or tls, or leave the words out.`,
  )
}

/** Splits like a shell, with quotes and backslashes; the client's shell has already removed its own. */
function tokenize(line: string): string[] {
  if (Buffer.byteLength(line) > MAX_COMMAND_BYTES)
    throw new InvalidCommand(`The command is longer than ${MAX_COMMAND_BYTES} bytes.`)
  if (line.includes('\0')) throw new InvalidCommand('The command holds the character U+0000. Remove it.')
  const tokens: string[] = []
  const part = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)|(.)/gs
  let token: string | undefined
  for (const [match, single, double, escaped, bare, stray] of line.matchAll(part)) {
    if (stray !== undefined) throw new InvalidCommand('The command has an unmatched quote.')
    const text = single ?? double?.replace(/\\(.)/gs, '$1') ?? escaped ?? bare
    if (text !== undefined) token = (token ?? '') + text
    else if (/^\s/.test(match) && token !== undefined) {
      tokens.push(token)
      token = undefined
    }
  }
  if (token !== undefined) tokens.push(token)
  return tokens
}

function parseService(text: string | undefined): string {
  if (text === undefined) return ''
  return /^[0-9]+$/.test(text) ? `localhost:${text}` : text.replace(/^[a-z]+:\/\//, '')
}

function parseLabels(pairs: readonly string[] | undefined): Record<string, string> | undefined {
  if (pairs === undefined) return undefined
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=')
      if (equals < 1) throw new InvalidCommand(`--label is "${sanitize(pair)}"; write key=value.`)
      return [pair.slice(0, equals), pair.slice(equals + 1)]
    }),
  )
}

function toBindOpts(values: Values, forwardsTo: string, proto: SshCommand['proto']): BindOpts {
  const domain = values.domain ?? values.hostname
  const terminate = parseChoice('terminate-at', values['terminate-at'] ?? 'agent', ['agent', 'edge'])
  return {
    ...(values.url !== undefined && { URL: values.url }),
    ...(domain !== undefined && { Domain: domain }),
    ...(values.subdomain !== undefined && { Subdomain: values.subdomain }),
    ...(values['remote-addr'] !== undefined && { Addr: values['remote-addr'] }),
    ...(values['proxy-proto'] !== undefined && {
      ProxyProto: Number(parseChoice('proxy-proto', values['proxy-proto'], ['0', '1', '2'])),
    }),
    ...encodeEndpointOptions(mergeSpellings(values, forwardsTo), proto),
    ...(terminate === 'edge' && { TLSTermination: {} }),
  }
}

/** Options that have another spelling: `--auth` is a credential, `--host-header` a header. */
function mergeSpellings(values: Values, forwardsTo: string): Values {
  const hostHeader = values['host-header']
  const credentials = joinLists(values['basic-auth'], values.auth)
  for (const credential of credentials)
    if (credential.indexOf(':') < 1)
      throw new InvalidCommand('--basic-auth must have the form user:password.')
  const headers = joinLists(
    values['request-header-add'],
    hostHeader === undefined ? [] : [`host:${resolveHostHeader(hostHeader, forwardsTo)}`],
  )
  return {
    ...values,
    ...(credentials.length > 0 && { 'basic-auth': credentials }),
    ...(headers.length > 0 && { 'request-header-add': headers }),
  }
}

function joinLists(...lists: unknown[]): string[] {
  return lists.flatMap((list) => (list ?? []) as string[])
}

function encodeEndpointOptions(values: Values, proto: SshCommand['proto']): BindOpts {
  const opts: Record<string, unknown> = {}
  for (const { flags, config, field, kinds, encode } of ENDPOINT_OPTIONS) {
    const present = flags.filter(({ name }) => values[name] !== undefined)
    const [first] = present
    if (first === undefined) continue
    const encoded = encode(
      first.field === undefined
        ? parseValue(config, first.name, values[first.name])
        : Object.fromEntries(present.map(({ name, field }) => [field, values[name]])),
    )
    if (encoded === undefined) continue
    requireKind(first.name, kinds, proto)
    opts[field] = encoded
  }
  return opts
}

function requireKind(option: string, kinds: EndpointOption['kinds'], proto: SshCommand['proto']): void {
  if (proto !== undefined && !kinds.includes(proto))
    throw new InvalidCommand(`--${option} works for ${kinds.join(' and ')} only, not for ${proto}.`)
}

/** A number in the range of its schema; other values are as the command line has them. */
function parseValue(schema: EndpointOption['config'], option: string, value: unknown): unknown {
  const { type, minimum = 0, maximum = 0 } = schema as { type?: string; minimum?: number; maximum?: number }
  if (type !== 'number') return value
  const text = String(value)
  const number = Number(text)
  if (text.trim() === '' || !(number >= minimum && number <= maximum))
    throw new InvalidCommand(
      `--${option} is "${sanitize(text)}"; write a number from ${minimum} to ${maximum}.`,
    )
  return number
}

function resolveHostHeader(hostHeader: string, forwardsTo: string): string {
  if (hostHeader !== 'rewrite') return hostHeader
  if (forwardsTo === '')
    throw new InvalidCommand(
      '--host-header rewrite needs the address of your service, which SSH does not tell: write http localhost:3000 --host-header rewrite.',
    )
  return forwardsTo
}

function parseWeight(text: string): number {
  const weight = Number(text)
  if (/^[0-9]+$/.test(text) && weight <= MAX_WEIGHT) return weight
  throw new InvalidCommand(
    `--pooling-weight is "${sanitize(text)}"; write a whole number from 0 to ${MAX_WEIGHT}.`,
  )
}

function parseChoice<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const match = allowed.find((candidate) => candidate === value)
  if (match !== undefined) return match
  throw new InvalidCommand(`--${option} is "${sanitize(value)}"; write ${allowed.join(' or ')}.`)
}

/** Truncates untrusted text and removes control characters, so that it cannot control a terminal. */
export function sanitize(text: string, maxLength = 120): string {
  const truncated = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return truncated.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}
