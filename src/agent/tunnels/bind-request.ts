import type { BindRequest, LabelRequest } from '../../protocol/index.ts'
import type { AgentTunnelSpec, BindSpec } from '../spec/spec.ts'

/** The names of a spec's tunnels: its own, and that of the http bind beside https. */
export function tunnelNames(spec: AgentTunnelSpec): string[] {
  return spec.binds.length === 2
    ? spec.binds.map(({ proto }) => (proto === 'http' ? `${spec.name} (http)` : spec.name))
    : [spec.name]
}

/** The message that binds one address of a spec. */
export function toBindRequest(spec: AgentTunnelSpec, name: string, { proto, opts }: BindSpec) {
  return {
    Proto: proto,
    ForwardsTo: spec.upstream.text,
    ForwardsProto: spec.forwardsProto,
    Opts: opts,
    Extra: {
      Name: name,
      Token: '',
      Metadata: spec.metadata,
      Description: spec.description,
      Bindings: [...spec.bindings],
      PoolingEnabled: spec.poolingEnabled,
      PoolingWeight: spec.poolingWeight,
    },
  } satisfies BindRequest
}

/** The message that starts a labelled tunnel. */
export function toLabelRequest(spec: AgentTunnelSpec): LabelRequest {
  return {
    Labels: { ...spec.labels },
    ForwardsTo: spec.upstream.text,
    ForwardsProto: spec.forwardsProto,
    Metadata: spec.metadata,
  }
}

/** All messages that start a spec. */
export function requestsOf(spec: AgentTunnelSpec): (BindRequest | LabelRequest)[] {
  if (spec.labels) return [toLabelRequest(spec)]
  const names = tunnelNames(spec)
  return spec.binds.map((bind, index) => toBindRequest(spec, names[index] ?? spec.name, bind))
}
