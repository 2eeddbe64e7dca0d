import type { Activation, RequestSource, ResponseSource } from '../activation.ts'
import type { CallContext, Overload } from '../cel/overload.ts'
import { overload } from '../cel/signature.ts'
import { STRING, type Type } from '../cel/types.ts'
import { EvaluationError, type Value } from '../cel/values.ts'
import {
  type CookieSource,
  findCookie,
  parseCookies,
  parseSetCookies,
  requestCookies,
  responseCookies,
} from '../variables/cookies.ts'
import { parseQuery, queryOf } from '../variables/url.ts'

/** Reading the fields of a message takes about this many steps. */
const MESSAGE_COST = 20

function requestOf(context: CallContext): RequestSource {
  context.charge(MESSAGE_COST)
  return (context.activation as Activation).req!
}

function responseOf(context: CallContext): ResponseSource {
  context.charge(MESSAGE_COST)
  return (context.activation as Activation).res!
}

const queryParams = (context: CallContext) => parseQuery(queryOf(requestOf(context).target))

/** `getReqCookie` and `getResCookie`: the result has fields, which signatures cannot express. */
function cookieFunction(
  name: string,
  cookies: Type,
  read: (context: CallContext) => readonly CookieSource[],
): Overload {
  const list = (cookies as Type & { kind: 'map' }).value as Type & { kind: 'list' }
  return {
    name,
    receiver: false,
    parameters: [STRING],
    result: list.inner,
    call(context, cookie: string): Value {
      const found = findCookie(read(context), cookie, cookies)
      if (found === undefined) throw new EvaluationError(`no such cookie: ${cookie.slice(0, 80)}`)
      return found
    },
  }
}

const hasCookie = (cookies: readonly CookieSource[], name: string) =>
  cookies.some((cookie) => cookie.name === name)

const sentCookies = (context: CallContext) => parseCookies(requestOf(context))
const setCookies = (context: CallContext) => parseSetCookies(responseOf(context))

/** Functions on the request. Names of headers are accepted in any case. */
export const requestMessageFunctions: readonly Overload[] = [
  overload('getReqHeader(string) -> list(string)', (context, name: string) =>
    requestOf(context).header(name.toLowerCase()),
  ),
  overload(
    'hasReqHeader(string) -> bool',
    (context, name: string) => requestOf(context).header(name.toLowerCase()).length > 0,
  ),
  cookieFunction('getReqCookie', requestCookies, sentCookies),
  overload('hasReqCookie(string) -> bool', (context, name: string) => hasCookie(sentCookies(context), name)),
  overload(
    'getQueryParam(string) -> list(string)',
    (context, name: string) => queryParams(context).get(name) ?? [],
  ),
  overload('hasQueryParam(string) -> bool', (context, name: string) => queryParams(context).has(name)),
]

/** Functions on the response. */
export const responseMessageFunctions: readonly Overload[] = [
  overload('getResHeader(string) -> list(string)', (context, name: string) =>
    responseOf(context).header(name.toLowerCase()),
  ),
  overload(
    'hasResHeader(string) -> bool',
    (context, name: string) => responseOf(context).header(name.toLowerCase()).length > 0,
  ),
  cookieFunction('getResCookie', responseCookies, setCookies),
  overload('hasResCookie(string) -> bool', (context, name: string) => hasCookie(setCookies(context), name)),
]
