export { type ClusterLimits, type ClusterOptions, createCluster, NODE_NAME } from './cluster.ts'
