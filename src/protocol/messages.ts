import Type from 'typebox'
import { MAX_WEIGHT } from '../base/values/weighted-round-robin.ts'
import { optionFields } from '../resources/endpoint-options.ts'

const text = Type.Optional(Type.String())
const flag = Type.Optional(Type.Boolean())
const list = Type.Optional(Type.Array(Type.String()))

/** A share of the traffic of a pool. */
const weight = Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WEIGHT }))

/** Durations are sent in nanoseconds. */
const nanoseconds = Type.Optional(Type.Integer({ minimum: 0 }))

/** Type 0: authenticates the agent. A reconnecting agent sends `ClientId` and `Cookie` of the last response. */
export const AuthRequest = Type.Object({
  Version: Type.Optional(Type.Array(Type.String())),
  ClientId: text,
  Extra: Type.Optional(
    Type.Object({
      OS: text,
      Arch: text,
      Authtoken: text,
      Version: text,
      Hostname: text,
      UserAgent: text,
      Metadata: text,
      Cookie: text,
      HeartbeatInterval: nanoseconds,
      HeartbeatTolerance: nanoseconds,
      /** Absent: the agent is too old for the command. Empty: supported. Other text: why not. The same for the next two. */
      UpdateUnsupportedError: text,
      StopUnsupportedError: text,
      RestartUnsupportedError: text,
      ProxyType: text,
      MutualTLS: flag,
      ServiceRun: flag,
      ConfigVersion: text,
      CustomInterface: flag,
      CustomCAs: flag,
      ClientType: text,
      /** Our agent alone: the largest send window it accepts. */
      MaxWindow: Type.Optional(Type.Integer({ minimum: 0 })),
      /** Our agent alone: how many legs it would open for one session. */
      MaxLegs: Type.Optional(Type.Integer({ minimum: 1 })),
      /** Our agent alone: it reads NOTE frames. */
      Notes: flag,
      /** Our agent alone: the session that this connection joins as a further leg. */
      AgentSessionID: text,
      /** Which leg of the session it is; one with the number of an open leg replaces it. */
      LegNumber: Type.Optional(Type.Integer({ minimum: 0 })),
      /** The leg has to end at another process than the session's home, which rejects it. */
      Elsewhere: Type.Optional(Type.Boolean()),
    }),
  ),
})
export type AuthRequest = Type.Static<typeof AuthRequest>

/** The response to Auth. Every field is always present: some SDKs fail on an absent or null one. */
export interface AuthResponse {
  Version: string
  ClientId: string
  Error: string
  Extra: {
    Version: string
    Region: string
    Cookie: string
    AccountName: string
    PlanName: string
    Banner: string
    SessionDuration: number
    DeprecationWarning: null
    ConnectAddresses: readonly { Region: string; ServerAddr: string }[]
    AgentSessionID: string
    /** The agreed largest window of a stream, for agents that sent theirs. */
    MaxWindow?: number
    /** How many legs the session may have, for agents that sent how many they would open. */
    MaxLegs?: number
    /** How many workers share the address, if there are several, for agents that sent how many legs they would open. */
    Workers?: number
    /** For a further leg: it ends at another node than the session's home, and carries streams only. */
    Elsewhere?: true
  }
}

/** The options of all protocols in one shape; each protocol reads its own. */
export const BindOpts = Type.Object({
  /** The requested URL, such as `https://app.example.com`. */
  URL: text,
  Domain: text,
  Hostname: text,
  Subdomain: text,
  /** The requested `host:port` for tcp. */
  Addr: text,
  /** Old form of basic authentication: `user:password`. */
  Auth: text,
  ProxyProto: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
  ...optionFields,
  /** `mutual_tls_ca` is the base64 of PEM text. */
  MutualTLSCA: Type.Optional(Type.Object({ mutual_tls_ca: text })),
  TrafficPolicy: text,
  MutualTLSAtAgent: flag,
  MutualTLSAtEdge: Type.Optional(Type.Object({ mutual_tls_ca: text })),
  /** Absent: TLS passes through. Present: the edge terminates it; `cert` and `key` are base64 of PEM text. */
  TLSTermination: Type.Optional(Type.Object({ cert: text, key: text })),
})
export type BindOpts = Type.Static<typeof BindOpts>

/** Type 1: requests a public address. An agent that rebinds sends `Id` and `Token` of the last response. */
export const BindRequest = Type.Object({
  Id: text,
  Proto: Type.String(),
  ForwardsTo: text,
  ForwardsProto: text,
  Opts: Type.Optional(BindOpts),
  Extra: Type.Optional(
    Type.Object({
      Name: text,
      Token: text,
      Metadata: text,
      Description: text,
      Bindings: list,
      PoolingEnabled: flag,
      PoolingWeight: weight,
    }),
  ),
})
export type BindRequest = Type.Static<typeof BindRequest>

/** The response to Bind. `Opts` repeats the request's, because SDKs send it back when they rebind. */
export interface BindResponse {
  Id: string
  URL: string
  Proto: string
  Opts: object
  Error: string
  Extra: {
    Token: string
    TunnelID: string
    /** For our agent alone: what its traffic policy may not do as its author expects. */
    Warnings?: readonly string[]
  }
}

/** Type 7: starts a tunnel that is selected by labels and has no public address. */
export const LabelRequest = Type.Object({
  Labels: Type.Record(Type.String(), Type.String()),
  ForwardsTo: text,
  ForwardsProto: text,
  Metadata: text,
})
export type LabelRequest = Type.Static<typeof LabelRequest>

export interface LabelResponse {
  Id: string
  Error: string
}

/** Type 2: ends a bind or a labelled tunnel. */
export const UnbindRequest = Type.Object({ Id: Type.String() })
export type UnbindRequest = Type.Static<typeof UnbindRequest>

/** Type 10: patches the metadata of a tunnel; absent fields stay. */
export const PatchRequest = Type.Object({
  TunnelId: Type.String(),
  Name: text,
  Description: text,
  Metadata: text,
  TrafficPolicy: text,
  PoolingEnabled: flag,
  PoolingWeight: weight,
})
export type PatchRequest = Type.Static<typeof PatchRequest>

/** The payload of a NOTE frame: actions of traffic policies that ran for a request of the stream. */
export const PolicyNote = Type.Object({
  /** The number of the request on its stream, from 1. */
  Request: Type.Integer({ minimum: 1 }),
  Actions: Type.Array(
    Type.Object({
      /** What the policy is attached to. */
      Endpoint: text,
      Phase: Type.String(),
      /** The number of the rule in its phase, from 1. */
      Rule: Type.Integer({ minimum: 1 }),
      Name: text,
      Action: Type.String(),
      /** Why it failed, if the policy continues then. */
      Error: text,
    }),
  ),
})
export type PolicyNote = Type.Static<typeof PolicyNote>

/** Type 6, server to agent. */
export const UpdateRequest = Type.Object({ Version: text, PermitMajorVersion: flag })
export type UpdateRequest = Type.Static<typeof UpdateRequest>

/** Type 9, server to agent; there is no response. */
export const StopTunnelRequest = Type.Object({ Id: Type.String(), Message: text, ErrorCode: text })
export type StopTunnelRequest = Type.Static<typeof StopTunnelRequest>

/**
 * Type 11, server to agent: the addresses of the platform have changed. Type 12: start the next session at one of these
 * addresses, or without any at the same one, while this session still serves.
 */
export const AddressesRequest = Type.Object({
  ConnectAddresses: Type.Array(Type.Object({ ServerAddr: Type.String() })),
})
export type AddressesRequest = Type.Static<typeof AddressesRequest>
