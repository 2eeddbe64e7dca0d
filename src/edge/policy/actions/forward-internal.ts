import { parseInternalUrl } from '../../../base/endpoint-url.ts'
import { errorMessage } from '../../../base/error-message.ts'
import { forwardTo } from '../../dispatch.ts'
import { type EdgeError, edgeError } from '../../errors.ts'
import type { HttpRoute } from '../../table.ts'
import { TunnelBusy } from '../../tunnels.ts'
import type { RequestExecution } from '../execution.ts'
import { PolicyFailure } from '../failure.ts'
import type { Implementation } from '../implement.ts'
import { errorResult } from './results.ts'

export const forwardInternal: Implementation<'forward-internal'> = {
  on_http_request({ url: template, on_error }, { findInternal }) {
    const fixed = template.literal === undefined ? undefined : parse(template.literal)

    return (execution) => {
      const url = template.evaluate(execution)
      const route = findInternal(fixed ?? parse(url))
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

function parse(url: string): ReturnType<typeof parseInternalUrl> {
  try {
    return parseInternalUrl(url)
  } catch (error) {
    throw new PolicyFailure(errorMessage(error))
  }
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
