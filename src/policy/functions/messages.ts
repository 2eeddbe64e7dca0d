import type { CallContext, Overload } from '../../cel/index.ts'
import {
  chargeKey,
  chargeLength,
  EvaluationError,
  overload,
  STRING,
  type Type,
  type Value,
} from '../../cel/index.ts'
import type { Activation, MessageSource, RequestSource, ResponseSource } from '../activation.ts'
import { readCookies, readSetCookies, requestCookies, responseCookies } from '../variables/cookies.ts'
import { queryParameters } from '../variables/req.ts'

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

function headerOf(context: CallContext, message: MessageSource, name: string): readonly string[] {
  chargeKey(context, name)
  const values = message.header(name.toLowerCase())
  for (const value of values) chargeLength(context, value.length)
  return values
}

const sentCookies = (context: CallContext) => requestOf(context).once(readCookies)
const setCookies = (context: CallContext) => responseOf(context).once(readSetCookies)

/** `getReqCookie` and `getResCookie`: the result has fields, which signatures cannot express. */
function cookieFunction(name: string, cookies: Type, read: typeof sentCookies): Overload {
  const list = (cookies as Type & { kind: 'map' }).value as Type & { kind: 'list' }
  return {
    name,
    receiver: false,
    parameters: [STRING],
    result: list.inner,
    call(context, cookie: string): Value {
      chargeKey(context, cookie)
      const found = read(context).get(cookie)
      if (found === undefined) throw new EvaluationError(`no such cookie: ${cookie.slice(0, 80)}`)
      return found[0]!
    },
  }
}

const hasCookie = (read: typeof sentCookies) => (context: CallContext, name: string) => {
  chargeKey(context, name)
  return read(context).has(name)
}

const queryParams = (context: CallContext, name: string) => {
  chargeKey(context, name)
  return queryParameters(requestOf(context)).get(name)
}

/** Functions on the request. Names of headers are accepted in any case. */
export const requestMessageFunctions: readonly Overload[] = [
  overload('getReqHeader(string) -> list(string)', (context, name: string) =>
    headerOf(context, requestOf(context), name),
  ),
  overload(
    'hasReqHeader(string) -> bool',
    (context, name: string) => headerOf(context, requestOf(context), name).length > 0,
  ),
  cookieFunction('getReqCookie', requestCookies, sentCookies),
  overload('hasReqCookie(string) -> bool', hasCookie(sentCookies)),
  overload(
    'getQueryParam(string) -> list(string)',
    (context, name: string) => queryParams(context, name) ?? [],
  ),
  overload(
    'hasQueryParam(string) -> bool',
    (context, name: string) => queryParams(context, name) !== undefined,
  ),
]

/** Functions on the response. */
export const responseMessageFunctions: readonly Overload[] = [
  overload('getResHeader(string) -> list(string)', (context, name: string) =>
    headerOf(context, responseOf(context), name),
  ),
  overload(
    'hasResHeader(string) -> bool',
    (context, name: string) => headerOf(context, responseOf(context), name).length > 0,
  ),
  cookieFunction('getResCookie', responseCookies, setCookies),
  overload('hasResCookie(string) -> bool', hasCookie(setCookies)),
]
