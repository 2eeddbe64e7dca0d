import { type RequestPath, readRequestPath } from '../base/http/request-path.ts'
import { edgeError } from './errors.ts'

/** The path of a request target, for whatever decides by it. Throws `ambiguous_path` when it has no single meaning (P28). */
export function requirePath(target: string): RequestPath {
  const query = target.indexOf('?')
  const path = readRequestPath(query === -1 ? target : target.slice(0, query))
  if (path === undefined) throw edgeError('ambiguous_path')
  return path
}
