import type { RequestExecution, ResponseExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'

const limitResponse =
  ({ duration }: { readonly duration: number }) =>
  ({ exchange }: RequestExecution | ResponseExecution): undefined => {
    exchange.limitResponse(duration)
  }

export const responseTimeout: Implementation<'response-timeout'> = {
  on_http_request: limitResponse,
  on_http_response: limitResponse,
}
