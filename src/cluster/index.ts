export { type ClusterLimits, type ClusterOptions, createCluster } from './cluster.ts'
export { NODE_NAME } from './link.ts'
