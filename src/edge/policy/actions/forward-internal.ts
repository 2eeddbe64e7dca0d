import { errorMessage } from '../../../base/text/error-message.ts'
import {
  type EndpointProto,
  HTTP_PROTOS,
  parseInternalUrl,
  RAW_PROTOS,
} from '../../../base/values/endpoint-url.ts'
import { EvaluationError } from '../../../cel/index.ts'
import type { Activation, Template } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import type { HttpRoute } from '../../contracts/table.ts'
import { type InternalAddress, TunnelBusy } from '../../contracts/tunnels.ts'
import { forwardTo } from '../../dispatch.ts'
import { type EdgeError, edgeError } from '../../errors.ts'
import type { ConnectionExecution, RequestExecution } from '../execution.ts'
import { ENDED, type Implementation } from '../implement.ts'
import { errorResult } from './results.ts'

export const forwardInternal: Implementation<'forward-internal'> = {
  on_tcp_connect({ url: template, on_error }, { endpoint, findInternal, findInternalTcp }) {
    const isHttp = HTTP_PROTOS.some((proto) => proto === endpoint.protocol)
    const addressOf = createParser(template, isHttp ? HTTP_PROTOS : RAW_PROTOS)
    const forward = (execution: ConnectionExecution, address: InternalAddress | undefined) => {
      if (address === undefined) return edgeError('internal_not_found')
      if (isHttp) {
        if (findInternal(address) === undefined) return edgeError('internal_not_found')
        execution.requestTarget = address
        return undefined
      }
      const host = findInternalTcp(address)
      return host === undefined ? edgeError('internal_not_found') : execution.forward(host)
    }

    return (execution) => {
      const { url, address } = readTarget(template, addressOf, execution, on_error)
      const error = forward(execution, address)
      if (error === undefined) return ENDED
      if (on_error === 'halt') throw error
      execution.results.forward_internal = { url, ...errorResult(error) }
      return undefined
    }
  },

  on_http_request({ url: template, on_error }, { findInternal }) {
    const addressOf = createParser(template, HTTP_PROTOS)

    return (execution) => {
      const { url, address } = readTarget(template, addressOf, execution, on_error)
      const route = address && findInternal(address)
      if (on_error === 'halt') {
        if (route === undefined) throw edgeError('internal_not_found')
        return route
      }
      const fail = (error: EdgeError) => {
        execution.results.forward_internal = { url, ...errorResult(error) }
        return undefined
      }
      return route === undefined ? fail(edgeError('internal_not_found')) : tryRoute(execution, route, fail)
    }
  },
}

/** Where to forward to. With `on_error: continue` a URL that cannot be evaluated or parsed is one that nothing serves. */
function readTarget(
  template: Template,
  addressOf: (url: string) => InternalAddress,
  activation: Activation,
  onError: 'halt' | 'continue',
): { readonly url: string; readonly address: InternalAddress | undefined } {
  let url = ''
  try {
    url = template.evaluate(activation)
    return { url, address: addressOf(url) }
  } catch (error) {
    const isCovered = error instanceof EvaluationError || error instanceof PolicyFailure
    if (onError === 'halt' || !isCovered) throw error
    return { url, address: undefined }
  }
}

/** Parses the URL that a template yields: once, where it is always the same. */
function createParser(
  { literal }: Template,
  protos: readonly EndpointProto[],
): (url: string) => InternalAddress {
  const parse = (url: string) => {
    try {
      return parseInternalUrl(url, protos)
    } catch (error) {
      throw new PolicyFailure(errorMessage(error))
    }
  }
  const fixed = literal === undefined ? undefined : parse(literal)
  return (url) => fixed ?? parse(url)
}

/** Forwards, and settles when the route's targets cannot be reached. The route ends the exchange otherwise. */
function tryRoute(
  execution: RequestExecution,
  route: HttpRoute,
  fail: (error: EdgeError) => undefined,
): Promise<undefined> {
  const { exchange } = execution
  return new Promise((resolve, reject) => {
    execution.watchResponse()
    try {
      forwardTo(exchange, route, (error) => resolve(fail(error)))
    } catch (error) {
      const { onUnreachable } = exchange
      if (onUnreachable === undefined || !(error instanceof TunnelBusy)) reject(error)
      else onUnreachable(edgeError('too_busy', exchange.head.host))
    }
  })
}
