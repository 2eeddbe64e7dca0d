import Type from 'typebox'

const text = Type.Optional(Type.String())
const flag = Type.Optional(Type.Boolean())
const list = Type.Optional(Type.Array(Type.String()))

/** Durations travel as nanoseconds. */
const nanoseconds = Type.Optional(Type.Integer({ minimum: 0 }))

/** Type 0: who the agent is. `ClientId` and `Cookie` are those of the last answer when it reconnects. */
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
      /** Absent: too old to know the command. Empty: supported. Other text: why it is not. The same for the next two. */
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
      LegNumber: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
  ),
})
export type AuthRequest = Type.Static<typeof AuthRequest>

/** The answer to Auth. Every field is always present: some SDKs fail on an absent or null one. */
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
  }
}

const Headers = Type.Object({ add: list, remove: list })

/** The options of all protocols in one shape; each protocol reads those that concern it. */
export const BindOpts = Type.Object({
  /** The whole address wanted, such as `https://app.example.com`. */
  URL: text,
  Domain: text,
  Hostname: text,
  Subdomain: text,
  /** `host:port` wanted for tcp. */
  Addr: text,
  /** Old form of basic authentication: `user:password`. */
  Auth: text,
  ProxyProto: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
  Compression: Type.Optional(Type.Object({})),
  CircuitBreaker: Type.Optional(Type.Object({ error_threshold: Type.Number({ minimum: 0, maximum: 1 }) })),
  IPRestriction: Type.Optional(Type.Object({ allow_cidrs: list, deny_cidrs: list })),
  BasicAuth: Type.Optional(
    Type.Object({
      credentials: Type.Optional(
        Type.Array(
          Type.Object({
            username: Type.String(),
            cleartext_password: text,
            /** Base64 of the bcrypt text. */
            hashed_password: text,
          }),
        ),
      ),
    }),
  ),
  OAuth: Type.Optional(
    Type.Object({
      provider: Type.String(),
      client_id: text,
      client_secret: text,
      allow_emails: list,
      allow_domains: list,
      scopes: list,
    }),
  ),
  OIDC: Type.Optional(
    Type.Object({
      issuer_url: Type.String(),
      client_id: Type.String(),
      client_secret: text,
      allow_emails: list,
      allow_domains: list,
      scopes: list,
    }),
  ),
  WebhookVerification: Type.Optional(Type.Object({ provider: Type.String(), secret: text })),
  /** `mutual_tls_ca` is the base64 of PEM text. */
  MutualTLSCA: Type.Optional(Type.Object({ mutual_tls_ca: text })),
  RequestHeaders: Type.Optional(Headers),
  ResponseHeaders: Type.Optional(Headers),
  WebsocketTCPConverter: Type.Optional(Type.Object({})),
  UserAgentFilter: Type.Optional(Type.Object({ allow: list, deny: list })),
  TrafficPolicy: text,
  MutualTLSAtAgent: flag,
  MutualTLSAtEdge: Type.Optional(Type.Object({ mutual_tls_ca: text })),
  /** Absent: the visitor's TLS passes through. Present: the edge terminates; `cert` and `key` are base64 of PEM text. */
  TLSTermination: Type.Optional(Type.Object({ cert: text, key: text })),
})
export type BindOpts = Type.Static<typeof BindOpts>

/** Type 1: asks for a public address. `Id` and `Token` are those of the last answer when the agent binds again. */
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
    }),
  ),
})
export type BindRequest = Type.Static<typeof BindRequest>

/** The answer to Bind. `Opts` repeats the request's, because an SDK sends back what it got when it binds again. */
export interface BindResponse {
  Id: string
  URL: string
  Proto: string
  Opts: object
  Error: string
  Extra: { Token: string; TunnelID: string }
}

/** Type 7: a tunnel found by its labels instead of a public address of its own. */
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

/** Type 2: gives up a bind or a labelled tunnel. */
export const UnbindRequest = Type.Object({ Id: Type.String() })
export type UnbindRequest = Type.Static<typeof UnbindRequest>

/** Type 10: changes what people read about a tunnel; absent fields stay. */
export const PatchRequest = Type.Object({
  TunnelId: Type.String(),
  Name: text,
  Description: text,
  Metadata: text,
  TrafficPolicy: text,
  PoolingEnabled: flag,
})
export type PatchRequest = Type.Static<typeof PatchRequest>

/** Type 8 has an empty request; this is its answer. */
export interface SrvInfoResponse {
  Region: string
}

/** Type 6, server to agent. */
export const UpdateRequest = Type.Object({ Version: text, PermitMajorVersion: flag })
export type UpdateRequest = Type.Static<typeof UpdateRequest>

/** Type 9, server to agent; there is no answer. */
export const StopTunnelRequest = Type.Object({ Id: Type.String(), Message: text, ErrorCode: text })
export type StopTunnelRequest = Type.Static<typeof StopTunnelRequest>
