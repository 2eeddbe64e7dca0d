/**
 * The management API, derived from the declarations of resources. Begin with `http/server.ts` (`createApi`), then
 * `crud/operations.ts` and `crud/crud.ts`. `resources/resource-hooks.ts` lists what each resource does beyond CRUD,
 * `problems.ts` every error, and `all-routes.ts` every route without its handler, for clients. `account/` is the whole
 * account as one document, `reference/` the OpenAPI document and its pages, `compat/` what clients of the original
 * service and older providers expect.
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
