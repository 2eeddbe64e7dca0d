import type { ActionType } from '../../../policy/index.ts'
import type { Implementation } from '../implement.ts'
import { addHeaders } from './add-headers.ts'
import { basicAuth } from './basic-auth.ts'
import { circuitBreaker } from './circuit-breaker.ts'
import { closeConnection } from './close-connection.ts'
import { compressResponse } from './compress-response.ts'
import { customResponse } from './custom-response.ts'
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

/** The behaviour of every declared action. A missing one, or a missing phase of one, does not compile. */
export const implementations: { readonly [T in ActionType]: Implementation<T> } = {
  'add-headers': addHeaders,
  'basic-auth': basicAuth,
  'circuit-breaker': circuitBreaker,
  'close-connection': closeConnection,
  'compress-response': compressResponse,
  'custom-response': customResponse,
  deny,
  'forward-internal': forwardInternal,
  'http-request': httpRequest,
  'jwt-validation': jwtValidation,
  log,
  oauth,
  'openid-connect': openidConnect,
  'rate-limit': rateLimit,
  redirect,
  'remove-headers': removeHeaders,
  'request-body-find-replace': requestBodyFindReplace,
  'response-body-find-replace': responseBodyFindReplace,
  'response-timeout': responseTimeout,
  'restrict-ips': restrictIps,
  saml,
  'set-vars': setVars,
  'sse-find-replace': sseFindReplace,
  'terminate-tls': terminateTls,
  'url-rewrite': urlRewrite,
  'verify-webhook': verifyWebhook,
}
