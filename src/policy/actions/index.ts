/** Every action of the policy language, in the order of the reference page. */
import { addHeaders } from './add-headers.ts'
import { basicAuth } from './basic-auth.ts'
import { circuitBreaker } from './circuit-breaker.ts'
import { closeConnection } from './close-connection.ts'
import { compressResponse } from './compress-response.ts'
import { customResponse } from './custom-response.ts'
import type { Action } from './define.ts'
import { deny } from './deny.ts'
import { requestBodyFindReplace, responseBodyFindReplace, sseFindReplace } from './find-replace.ts'
import { forwardInternal } from './forward-internal.ts'
import { httpRequest } from './http-request.ts'
import { jwtValidation } from './jwt-validation.ts'
import { log } from './log.ts'
import { rateLimit } from './rate-limit.ts'
import { redirect } from './redirect.ts'
import { removeHeaders } from './remove-headers.ts'
import { responseTimeout } from './response-timeout.ts'
import { restrictIps } from './restrict-ips.ts'
import { setVars } from './set-vars.ts'
import { oauth, openidConnect, saml } from './sign-in.ts'
import { terminateTls } from './terminate-tls.ts'
import { urlRewrite } from './url-rewrite.ts'
import { verifyWebhook } from './verify-webhook.ts'

const actionList = [
  addHeaders,
  basicAuth,
  circuitBreaker,
  closeConnection,
  compressResponse,
  customResponse,
  deny,
  forwardInternal,
  httpRequest,
  jwtValidation,
  log,
  oauth,
  openidConnect,
  rateLimit,
  redirect,
  removeHeaders,
  requestBodyFindReplace,
  responseBodyFindReplace,
  responseTimeout,
  restrictIps,
  saml,
  setVars,
  sseFindReplace,
  terminateTls,
  urlRewrite,
  verifyWebhook,
] as const

/** The same, for code that treats all alike. */
export const actions: readonly Action[] = actionList

type ActionList = (typeof actionList)[number]

/** The type of an action, as it is written in policies. */
export type ActionType = ActionList['type']

/** The action of a type. */
export type ActionOf<T extends ActionType> = Extract<ActionList, { readonly type: T }>
