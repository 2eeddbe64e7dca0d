import { edgeError } from '../../errors.ts'
import type { Implementation } from '../implement.ts'

const EMPTY = Buffer.alloc(0)

export const deny: Implementation<'deny'> = {
  on_tcp_connect: () => () => {
    throw edgeError('policy_denied')
  },
  on_http_request({ status_code: status }) {
    const response = { status, fields: '', body: EMPTY }
    // An empty page would leave people who have signed in with the wrong account no way on.
    return ({ exchange }) =>
      status === 403 && exchange.visitorSession !== undefined
        ? exchange.renderError(exchange.visitorSession.deny())
        : response
  },
}
