/**
 * The management API: routes and handlers derived from the resource declarations, the error catalogue, the OpenAPI
 * document, the dialect of the original service, metrics and probes. It may use `auth`, `certs`, `events`, `naming`,
 * `resources`, `sessions`, `store` and `base`, never the edge. Start with `server.ts` (`createApi`), then `operations.ts` and
 * `crud.ts`; `behaviours.ts` lists what each resource does beyond CRUD, `problems.ts` every error. `all-routes.ts`
 * has the same routes without handlers, for clients.
 */
export { requirePrincipal } from './authenticate.ts'
export { createRenderContext } from './call.ts'
export type { ApiConfig, BrowserAuth, CommandResult, OnlineInventory } from './config.ts'
export type { EdgeHost } from './edge-connections.ts'
export { compileSelectors } from './endpoint-selectors.ts'
export type { ApiOperation } from './operations.ts'
export { createProbeListener, describeServing, type Readiness } from './probes.ts'
export { fieldProblem, problem } from './problems.ts'
export type { ApiRoute } from './routes.ts'
export { matchesWords, searchableTexts, searchWords } from './search-text.ts'
export { type Api, createApi } from './server.ts'
export type { CommandName } from './session-routes.ts'
export { mountAssets, sendPage } from './static-files.ts'
