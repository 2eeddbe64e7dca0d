export { createEdge, type Edge, type EdgeAddresses, type EdgeConfig, type EdgeDependencies } from './edge.ts'
export type { ConnectionEvent, Observer, RequestEvent } from './observe.ts'
