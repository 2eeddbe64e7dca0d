import { edgeError } from '../../errors.ts'
import type { Implementation } from '../implement.ts'

const close = () => () => {
  throw edgeError('policy_denied').closingConnection()
}

export const closeConnection: Implementation<'close-connection'> = {
  on_tcp_connect: close,
  on_http_request: close,
}
