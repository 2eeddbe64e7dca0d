/**
 * The client of the management API for programs, shipped as `adit-server/api`. `types.ts` and `operations.ts` are
 * generated from the OpenAPI document (`npm run openapi`); `client.ts` makes methods of them, and `call.ts` sends a
 * call.
 */
export {
  ApiError,
  type ApiRequest,
  type ClientOptions,
  type SendRequest,
} from './call.ts'
export type { CallOptions, Page } from './call-options.ts'
export { type Client, createClient } from './client.ts'
export type * from './types.ts'
