import { edgeError } from '../../errors.ts'
import type { Implementation } from '../implement.ts'

const EMPTY = Buffer.alloc(0)

export const deny: Implementation<'deny'> = {
  on_tcp_connect: () => () => {
    throw edgeError('policy_denied')
  },
  on_http_request({ status_code: status }) {
    const response = { status, fields: '', body: EMPTY }
    return () => response
  },
}
