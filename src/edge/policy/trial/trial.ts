import { domainToASCII } from 'node:url'
import { silentLog } from '../../../base/process/log.ts'
import { errorMessage } from '../../../base/text/error-message.ts'
import { systemClock } from '../../../base/values/clock.ts'
import type { EndpointSource, IpData, PhaseName, Policy, PolicyAction } from '../../../policy/index.ts'
import type { ClientConnection } from '../../contracts/connection.ts'
import { EdgeError } from '../../errors.ts'
import { createField, HeaderFields } from '../../message/fields.ts'
import { parseRequestHead } from '../../message/request-head.ts'
import { ModuleConfigError } from '../../modules/context.ts'
import type { EdgeResponse } from '../../response/response.ts'
import type { BodyReplacer } from '../../services/body-replacer.ts'
import type { PolicyContext } from '../context.ts'
import type { ConnectionExecution, RequestExecution, ResponseExecution } from '../execution.ts'
import type { PhaseSteps } from '../implement.ts'
import { type CompileAction, compileAction, compilePolicy } from '../index.ts'
import { MAX_TRIAL_BODY_BYTES, TrialExchange, type TrialResponse } from './exchange.ts'
import { type Assumptions, findOutsideAction } from './outside-actions.ts'
import { type ActionTrace, PolicyTrace, type RuleTrace } from './trace.ts'

export type Headers = readonly (readonly [name: string, value: string])[]

/** A request that is run through a policy. */
export interface TrialRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: Buffer
  readonly clientAddress: string
}

/** What stands for the outside. */
export interface TrialOptions {
  /** What the upstream responds. */
  readonly response: { readonly status: number; readonly headers: Headers; readonly body: Buffer }
  /** The email address of a visitor who has signed in. */
  readonly signedInAs: string | undefined
  readonly bodyReplacer: BodyReplacer
  readonly ipData: IpData
  readSecret(vault: string, name: string): string | undefined
}

/** What a policy did with a request. */
export interface Trial {
  readonly rules: readonly RuleTrace[]
  /** The request as the upstream gets it; undefined when the policy ended it. */
  readonly forwarded: ForwardedRequest | undefined
  /** What the visitor gets; undefined when the connection is closed without a response. */
  readonly answer: TrialResponse | undefined
}

export interface ForwardedRequest {
  readonly method: string
  readonly host: string
  readonly target: string
  readonly headers: Headers
  readonly body: Buffer
}

/** The request of a trial cannot be sent as it is. */
export class TrialError extends Error {
  override name = 'TrialError'
}

/** Fields that a trial sets itself. */
const OWN_FIELDS = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'expect'])

/**
 * Runs a request through a policy with the code that live traffic runs through. Actions that reach outside are described
 * and not run. Throws `TrialError`.
 */
export async function tryRequest(
  policy: Policy,
  request: TrialRequest,
  options: TrialOptions,
): Promise<Trial> {
  const trace = new PolicyTrace(policy)
  const assumptions = { response: toEdgeResponse(options.response), signedInAs: options.signedInAs }
  const exchange = new TrialExchange(createConnection(request), parseHead(request), request.body)
  const compiled = compilePolicy(
    trace.policy,
    createContext(request, options),
    recordActions(trace, assumptions),
  )
  let forwarded: ForwardedRequest | undefined
  try {
    compiled.connection?.(exchange.connection)
    const result = await compiled.request?.(exchange)
    if (result === undefined || result === assumptions.response) forwarded = describeForwarded(exchange)
    // No action of a trial continues on another route.
    if (!exchange.ended) exchange.respondWith((result ?? assumptions.response) as EdgeResponse)
  } catch (error) {
    exchange.fail(error)
  }
  const answer = await exchange.answer
  return { rules: trace.rules, forwarded, answer }
}

function describeForwarded(exchange: TrialExchange): ForwardedRequest {
  const { head, authority: host, target, fields, requestBody } = exchange
  return { method: head.method, host, target, headers: [...fields], body: Buffer.from(requestBody) }
}

type Execution = ConnectionExecution | RequestExecution | ResponseExecution
type Step = (execution: Execution) => unknown

/** Compiles actions as for live traffic, so that each records what it did. */
function recordActions(trace: PolicyTrace, assumptions: Assumptions): CompileAction {
  return (phase, action, context) => {
    const step = compileStep(phase, action, context, assumptions)
    const recorded: Step = (execution) => {
      const record = trace.start(action)
      const finish = (result: unknown) => {
        describeResult(trace, record, action, execution, result)
        return result
      }
      const fail = (error: unknown): never => {
        record.effect = describeError(error, phase)
        throw error
      }
      try {
        const result = step(execution, record)
        return result instanceof Promise ? result.then(finish, fail) : finish(result)
      } catch (error) {
        return fail(error)
      }
    }
    return recorded as PhaseSteps[typeof phase]
  }
}

function compileStep(
  phase: PhaseName,
  action: PolicyAction,
  context: PolicyContext,
  assumptions: Assumptions,
): (execution: Execution, record: ActionTrace) => unknown {
  const describe = findOutsideAction(action.action.type)
  if (describe !== undefined)
    return (execution, record) => {
      const { effect, result } = describe(action.config, execution as RequestExecution, assumptions)
      record.outcome = 'would'
      record.effect = effect
      return result
    }
  try {
    return compileAction(phase, action, context) as Step
  } catch (error) {
    if (!(error instanceof ModuleConfigError)) throw error
    return (_execution, record) => {
      record.outcome = 'would'
      record.effect = `run on a server; here ${error.message}`
      return undefined
    }
  }
}

function describeResult(
  trace: PolicyTrace,
  record: ActionTrace,
  { action, source }: PolicyAction,
  execution: Execution,
  result: unknown,
): void {
  const found =
    action.type === 'set-vars'
      ? Object.fromEntries(execution.vars)
      : (execution.results[action.resultName] as unknown)
  if (found !== undefined) record.result = trace.show(found)
  if (record.outcome === 'would') return
  if (result === undefined) record.effect = 'goes on'
  else if ('status' in (result as object)) record.effect = `responds ${(result as EdgeResponse).status}`
  else record.effect = 'replaces the response'
  const { ip_policies: ids } = (source ?? {}) as { readonly ip_policies?: readonly string[] }
  if (action.type === 'restrict-ips' && ids !== undefined)
    record.effect += `, and would check the address against ${ids.join(', ')}`
}

function describeError(error: unknown, phase: PhaseName): string {
  if (!(error instanceof EdgeError)) return `fails, so that the request is rejected: ${errorMessage(error)}`
  const { status, code, text } = error
  return error.closesConnection || phase === 'on_tcp_connect'
    ? `closes the connection (${code}): ${text}`
    : `rejects with ${status} (${code}): ${text}`
}

function parseHead({ method, url, headers, body }: TrialRequest) {
  if (body.length > MAX_TRIAL_BODY_BYTES)
    throw new TrialError(`the body has more than ${MAX_TRIAL_BODY_BYTES / 1024 / 1024} MiB`)
  const lines = headers.filter(([name]) => !name.startsWith(':') && !OWN_FIELDS.has(name.toLowerCase()))
  if (body.length > 0) lines.push(['content-length', String(body.length)])
  const head = parseRequestHead(
    `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${toFieldLines([['host', url.host], ...lines])}\r\n`,
    schemeOf(url),
  )
  if (head instanceof EdgeError) throw new TrialError(`the edge rejects the request: ${head.text}`)
  return head
}

function toFieldLines(headers: Headers): string {
  try {
    return headers.map(([name, value]) => createField(name, value).line).join('')
  } catch (error) {
    throw new TrialError(errorMessage(error))
  }
}

function toEdgeResponse({ status, headers, body }: TrialOptions['response']): EdgeResponse {
  const fields = new HeaderFields(
    toFieldLines(headers.filter(([name]) => !OWN_FIELDS.has(name.toLowerCase()))),
  )
  return { status, fields: fields.text, body }
}

const schemeOf = ({ protocol }: URL) => (protocol === 'https:' ? 'https' : 'http')

const portOf = (url: URL) => Number(url.port) || (schemeOf(url) === 'https' ? 443 : 80)

function createConnection({ url, clientAddress }: TrialRequest): ClientConnection {
  const secure = schemeOf(url) === 'https'
  return {
    scheme: schemeOf(url),
    remoteAddress: clientAddress,
    remotePort: 40_000,
    localAddress: '192.0.2.1',
    localPort: portOf(url),
    serverName: secure ? domainToASCII(url.hostname) : undefined,
    tlsPolicy: undefined,
    tls: secure
      ? { version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', alpn: 'http/1.1', peer: undefined }
      : undefined,
    startedAt: systemClock.now(),
  }
}

function describeEndpoint(url: URL): EndpointSource {
  const { hostname: host, origin } = url
  const port = portOf(url)
  return { id: 'ep_trial', protocol: schemeOf(url), host, port, addr: `${host}:${port}`, url: origin }
}

function createContext(
  { url }: TrialRequest,
  { bodyReplacer, ipData, readSecret }: TrialOptions,
): PolicyContext {
  return {
    accountId: '',
    scopeId: '',
    clock: systemClock,
    services: {
      logins: undefined,
      signingKeys: undefined,
      keySets: undefined,
      ipData,
      outboundCalls: undefined,
      bodyReplacer,
      takeRateLease: undefined,
    },
    compileIpPolicies: () => () => true,
    readAuthorities: () => [],
    getOrCreate: (_name, _key, create) => create(),
    endpoint: describeEndpoint(url),
    serviceName: url.hostname,
    region: undefined,
    log: silentLog,
    readSecret,
    findInternal: () => undefined,
    findInternalTcp: () => undefined,
    ownsDomain: () => true,
    requiredTokens: [],
    signIns: [],
    terminations: [],
    readAuthority: () => undefined,
    keepState: (key, create) => create(key),
  }
}
