import { newId } from '../../../base/values/id.ts'
import { EvaluationError, fromJson, type MapValue, type Value } from '../../../cel/index.ts'
import type { ActionResult } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { EdgeError, edgeError } from '../../errors.ts'
import { isFieldValue } from '../../message/ascii.ts'
import { toFieldValue } from '../../message/field-values.ts'
import { ModuleConfigError } from '../../modules/context.ts'
import {
  CallFailure,
  type CallResponse,
  type OutboundCall,
  type OutboundCalls,
} from '../../services/outbound-calls.ts'
import type { PolicyContext } from '../context.ts'
import type { RequestExecution, ResponseExecution } from '../execution.ts'
import { HeaderMap } from '../header-map.ts'
import type { Implementation } from '../implement.ts'
import { createInternalFetch } from '../internal-fetch.ts'
import { errorResult } from './results.ts'

type Config = Parameters<Implementation<'http-request'>['on_http_request']>[0]
type Execution = RequestExecution | ResponseExecution

const MAX_ATTEMPTS = 3
/** How many policies a call may pass that make calls themselves. */
const MAX_HOPS = 3
/** Counts them, since a call may lead back to the same endpoint. */
const HOPS_HEADER = 'x-http-request-hops'

/** One try, as results and `retry_condition` show it. */
interface Attempt {
  readonly result: ActionResult
  readonly failure: CallFailure | undefined
}

function compile(config: Config, { services: { outboundCalls } }: PolicyContext) {
  if (outboundCalls === undefined) throw new ModuleConfigError('this server may not call others')
  return async (execution: Execution): Promise<undefined> => {
    const request = renderOrFail(config, execution)
    if (request instanceof EdgeError) {
      execution.results.http_request = { ...errorResult(request), attempts: [] }
      return undefined
    }
    const attempts: Attempt[] = []
    try {
      do attempts.push(await tryCall(outboundCalls, request, execution))
      while (
        attempts.length < MAX_ATTEMPTS &&
        !request.signal.aborted &&
        retries(config, attempts, execution)
      )
    } finally {
      execution.retry = undefined
    }
    const { result, failure } = attempts.at(-1)!
    execution.results.http_request = { ...result, attempts: attempts.map(describe) }
    if (failure !== undefined && config.on_error === 'halt') throw failure.rejection
    return undefined
  }
}

export const httpRequest: Implementation<'http-request'> = {
  on_http_request: compile,
  on_http_response: compile,
}

/** With `on_error: continue` a call whose texts cannot be made has failed as one that got no response. */
function renderOrFail(config: Config, execution: Execution): OutboundCall | EdgeError {
  const hops = Number(execution.exchange.fields.get(HOPS_HEADER) ?? 0)
  // Ends the request whatever `on_error` says: a visitor who sends the header must not switch a check off.
  if (!(hops >= 0 && hops < MAX_HOPS)) throw edgeError('call_loop')
  try {
    return render(config, execution, hops)
  } catch (error) {
    const isCovered = error instanceof EvaluationError || error instanceof PolicyFailure
    if (config.on_error === 'halt' || !isCovered) throw error
    return edgeError('call_failed', error.message)
  }
}

function render(config: Config, execution: Execution, hops: number): OutboundCall {
  const { context } = execution
  const body = config.body?.evaluate(execution) ?? null
  const url = URL.parse(config.url.evaluate(execution))
  if (url === null) throw new PolicyFailure('the URL of an http-request is not valid')
  for (const { key, value } of config.query_params) url.searchParams.append(key, value.evaluate(execution))
  return {
    accountId: context.accountId,
    method: config.method,
    url: url.href,
    headers: [
      ['user-agent', 'adit'],
      ...renderHeaders(config, execution),
      ['x-forwarded-for', execution.conn.remoteAddress],
      ['x-request-id', newId('req')],
      // The name that services behind the original look for.
      ['ngrok-req-type', 'http-request'],
      [HOPS_HEADER, String(hops + 1)],
    ],
    body,
    maxRedirects: config.max_redirects,
    signal: AbortSignal.timeout(config.timeout),
    fetchInternal: createInternalFetch(execution.exchange, context),
  }
}

function renderHeaders({ headers }: Config, execution: Execution): [string, string][] {
  return headers.map(([name, template]) => {
    const value = toFieldValue(template.evaluate(execution))
    if (!isFieldValue(value)) throw new PolicyFailure(`the value of ${name} cannot be sent in a header`)
    return [name.toLowerCase(), value]
  })
}

async function tryCall(calls: OutboundCalls, request: OutboundCall, execution: Execution): Promise<Attempt> {
  const { clock } = execution.context
  const startedAt = clock.monotonic()
  const { method, url, headers, body } = request
  const req = { method, url, header: toLists(headers), body: body ?? '' }
  try {
    const response = await calls.call(request)
    const res = describeResponse(response, Math.round(clock.monotonic() - startedAt))
    return { result: { req: { ...req, url: response.url }, res }, failure: undefined }
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error
    return { result: { req, ...errorResult(error.rejection) }, failure: error }
  }
}

function retries({ retry_condition }: Config, attempts: readonly Attempt[], execution: Execution): boolean {
  if (retry_condition === undefined) return false
  execution.retry = { attempts: attempts.length, lastAttempt: attempts.at(-1)!.result }
  try {
    return retry_condition.evaluate(execution) === true
  } catch (error) {
    // A call without a response has no status, and the like.
    if (error instanceof EvaluationError) return false
    throw error
  }
}

function describeResponse({ status, headers, body }: CallResponse, timeMs: number) {
  return { status_code: status, header: toLists(headers), time_ms: timeMs, body: body.toString() }
}

/** An attempt in the list of all, which has no bodies. */
function describe({ result }: Attempt): Value {
  const res = result.res as ReturnType<typeof describeResponse> | undefined
  const error = result.error as object | undefined
  if (res === undefined) return fromJson({ error })!
  const attempt = fromJson({ response_status_code: res.status_code, response_time_ms: res.time_ms })
  return (attempt as Map<string, Value>).set('response_header', res.header)
}

function toLists(headers: Iterable<readonly [string, string]>): MapValue {
  const lists = new HeaderMap<string[]>()
  for (const [name, value] of headers) lists.set(name, [...(lists.get(name) ?? []), value])
  return lists
}
