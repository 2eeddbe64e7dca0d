/**
 * The management API: routes and handlers derived from the resource declarations, the error catalogue, the OpenAPI
 * document, the dialect of the original service, metrics and probes. It may use `auth`, `certs`, `events`, `naming`,
 * `resources`, `sessions`, `store` and `base`, never the edge. Start with `http/server.ts` (`createApi`), then
 * `crud/operations.ts` and `crud/crud.ts`; `resources/behaviours.ts` lists what each resource does beyond CRUD, `problems.ts`
 * every error. `all-routes.ts` has the same routes without handlers, for clients.
 */

export { createRenderContext } from './call.ts'
export type { ApiConfig, BrowserAuth, CommandResult, OnlineInventory } from './config.ts'
export type { ApiOperation } from './crud/operations.ts'
export { matchesWords, searchableTexts, searchWords } from './crud/search-text.ts'
export { requirePrincipal } from './http/authenticate.ts'
export type { EdgeHost } from './http/edge-connections.ts'
export { createProbeListener, describeServing, type Readiness } from './http/probes.ts'
export { type Api, createApi } from './http/server.ts'
export { mountAssets, sendPage } from './http/static-files.ts'
export { fieldProblem, problem } from './problems.ts'
export { compileSelectors } from './resources/endpoints/endpoint-selectors.ts'
export type { ApiRoute } from './routes.ts'
export type { CommandName } from './session-routes.ts'
