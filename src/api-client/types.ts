// Generated from the declarations of the API by `npm run openapi`. Do not edit.
import type { CallOptions, Page } from './call-options.ts'

export interface APIKey {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The secret. Returned once, in the response to the creation, and null afterwards. */
  token: string | null
  /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
  owner_id: string
}

export interface TunnelCredential {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The secret. Returned once, in the response to the creation, and null afterwards. */
  token: string | null
  /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
  acl: string[]
  /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
  owner_id: string
}

export interface SSHCredential {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The public key on one line, as in an authorized_keys file. */
  public_key: string
  /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
  acl: string[]
  /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
  owner_id: string
}

export interface IPPolicy {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
}

export interface Ref {
  /** The ID of the object. */
  id: string
  /** The address of the object in the API. */
  uri: string
}

export interface IPPolicyRule {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** An IP address or a range in CIDR notation, such as 203.0.113.0/24 or 2001:db8::/32. */
  cidr: string
  /** Whether the range is allowed or denied. A deny rule takes precedence. */
  action: "allow" | "deny"
  /** The IP policy that the rule belongs to. */
  ip_policy: Ref
}

export interface IPRestriction {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** A restriction has no effect until it is enforced. Make sure that your own address is allowed: you can lock yourself out. */
  enforced: boolean
  /** What is restricted: API calls, the dashboard, agent connections, or public endpoints. */
  type: "dashboard" | "api" | "agent" | "endpoints"
  /** The IP policies, of which at least one must allow the address. */
  ip_policies: Ref[]
}

export interface ReservedAddress {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The reserved host and port, assigned at creation. */
  addr: string
  /** Accepted for compatibility; it has no effect. */
  region: "au" | "eu" | "ap" | "us" | "jp" | "in" | "sa"
  /** The endpoint configuration of type tcp whose modules apply to the endpoints at this address. */
  endpoint_configuration: Ref | null
}

export interface ReservedDomainResolvesToRequest {
  /** A region or address. */
  value: string
}

export interface ReservedDomainResolvesTo {
  /** A region or address. */
  value: string
}

export interface ReservedDomain {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The host name, such as app.example.com or *.example.com. */
  domain: string
  /** Accepted for compatibility; it has no effect. */
  region: "au" | "eu" | "ap" | "us" | "jp" | "in" | "sa" | null
  /** The target of the DNS CNAME record to create; null for a name below the domain of the platform. */
  cname_target: string | null
  /** The endpoint configuration of type http whose modules apply to the endpoints at this domain. */
  http_endpoint_configuration: Ref | null
  /** The endpoint configuration of type https whose modules apply to the endpoints at this domain. */
  https_endpoint_configuration: Ref | null
  /** The TLS certificate that is served: uploaded, or issued automatically. */
  certificate: Ref | null
  /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
  certificate_management_policy: {
    /** The certificate authority to request certificates from. */
    authority: "letsencrypt"
    /** The key type of issued certificates. */
    private_key_type: "rsa" | "ecdsa"
  } | null
  /** The state of automatic certificate management; null when it is off. */
  certificate_management_status: {
    /** When the certificate is renewed next. */
    renews_at: string | null
    /** The certificate request in progress; null when there is none. */
    provisioning_job: {
      /** DNS_ERROR if a DNS record has to be corrected, INTERNAL_ERROR for a temporary error. */
      error_code: "DNS_ERROR" | "INTERNAL_ERROR" | null
      /** The current status or error. */
      msg: string
      /** When the request started. */
      started_at: string
      /** When the next attempt starts. */
      retries_at: string | null
    } | null
  } | null
  /** The target of the CNAME record for _acme-challenge of a wildcard domain; null for other domains. */
  acme_challenge_cname_target: string | null
  /** Accepted for compatibility; it has no effect. */
  resolves_to: ReservedDomainResolvesTo[] | null
}

export interface BasicAuthModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Where the credentials come from: the agent that serves the endpoint. */
  auth_provider_id?: "agent" | null
  /** The name that browsers show for the protected area. */
  realm?: string | null
  /** Whether OPTIONS requests pass without credentials, as CORS preflight requests need to. */
  allow_options?: boolean | null
}

export interface CircuitBreakerModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** How long the breaker stays open, in seconds. */
  tripped_duration?: number | null
  /** The length of the rolling window, in seconds. */
  rolling_window?: number | null
  /** The number of buckets that the window is divided into. */
  num_buckets?: number | null
  /** The number of requests within the window before the breaker can open. */
  volume_threshold?: number | null
  /** The ratio of server errors at which the breaker opens, from 0 to 1. */
  error_threshold_percentage?: number | null
}

export interface CompressionModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
}

export interface RequestHeadersModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The headers to add, by name. Values can contain variables, such as ${conn.client_ip}. */
  add?: Record<string, string> | null
  /** The names of headers to remove, before others are added. */
  remove?: string[] | null
}

export interface ResponseHeadersModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The headers to add, by name. Values can contain variables, such as ${conn.client_ip}. */
  add?: Record<string, string> | null
  /** The names of headers to remove, before others are added. */
  remove?: string[] | null
}

export interface IpRestrictionModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The IP policies, of which at least one must allow the address. */
  ip_policy_ids: string[]
}

export interface MutualTlsModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The authorities that may have issued the client certificate. */
  certificate_authority_ids: string[]
}

export interface TlsTerminationModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Where TLS terminates: at this edge, or at the upstream service. */
  terminate_at?: "edge" | null
  /** The minimum TLS version. Older versions are rejected. Default: 1.2. */
  min_version?: "1.0" | "1.1" | "1.2" | "1.3" | null
}

export interface WebhookVerificationModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The service that signs the webhooks, such as github or stripe. */
  provider: string
  /** The secret with which the service signs. */
  secret?: string | null
}

export interface OauthModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough?: boolean | null
  /** The prefix of its cookie names. */
  cookie_prefix?: string | null
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout?: number | null
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration?: number | null
  /** Seconds after which the session is checked with the provider again; 0 for never. */
  auth_check_interval?: number | null
  /** The provider at which visitors sign in. Choose exactly one. */
  provider: {
    /** Sign-in with Amazon. */
    amazon?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with Facebook. */
    facebook?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with GitHub. */
    github?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
      /** Admits members of one of these teams, such as example/platform. */
      teams?: string[] | null
      /** Admits members of one of these organizations. */
      organizations?: string[] | null
    } | null
    /** Sign-in with GitLab. */
    gitlab?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
      /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
      authorized_groups?: string[] | null
    } | null
    /** Sign-in with Google. */
    google?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with LinkedIn. */
    linkedin?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with Microsoft. */
    microsoft?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with Twitch. */
    twitch?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
  }
}

export interface SamlModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough?: boolean | null
  /** The prefix of its cookie names. */
  cookie_prefix?: string | null
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout?: number | null
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration?: number | null
  /** The metadata XML of the identity provider, if it is not published at a URL. */
  idp_metadata?: string | null
  /** The URL at which the identity provider publishes its metadata. */
  idp_metadata_url?: string | null
  /** Requires visitors to enter their password at every sign-in. */
  force_authn?: boolean | null
  /** Accepts sign-ins that start at the identity provider. */
  allow_idp_initiated?: boolean | null
  /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
  authorized_groups?: string[] | null
  /** The format of the name that the identity provider sends. */
  nameid_format?: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" | "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" | "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified" | null
  /** The attribute that contains the email address; empty for the usual ones. */
  email_attribute?: string | null
  /** The attribute that contains the name; empty for the usual ones. */
  name_attribute?: string | null
  /** The attribute that contains the groups; empty for the usual ones. */
  groups_attribute?: string | null
}

export interface OidcModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough?: boolean | null
  /** The prefix of its cookie names. */
  cookie_prefix?: string | null
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout?: number | null
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration?: number | null
  /** The URL of the provider, such as https://login.example.com. */
  issuer: string
  /** The ID of this application at the provider. */
  client_id: string
  /** The secret of this application at the provider; empty for a public client. */
  client_secret?: string | null
  /** How this application authenticates to the provider, as it is registered there; empty to use what the provider announces, and the other method where that is rejected. */
  token_endpoint_auth_method?: "" | "client_secret_basic" | "client_secret_post" | "none" | null
  /** The scopes to request. OpenID Connect always requests openid. */
  scopes?: string[] | null
  /** Admits visitors with one of these email addresses. */
  email_addresses?: string[] | null
  /** Admits visitors with an email address at one of these domains. */
  email_domains?: string[] | null
  /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
  authorized_groups?: string[] | null
  /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
  authorized_claims?: string[] | null
  /** Seconds after which the provider is asked again who the visitor is, without a redirect where it gave a refresh token; 0 for never. */
  userinfo_refresh_interval?: number | null
}

export interface BackendModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The backend that receives the traffic. */
  backend_id: string
}

export interface BasicAuthModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Where the credentials come from: the agent that serves the endpoint. */
  auth_provider_id: "agent"
  /** The name that browsers show for the protected area. */
  realm: string
  /** Whether OPTIONS requests pass without credentials, as CORS preflight requests need to. */
  allow_options: boolean
}

export interface CircuitBreakerModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** How long the breaker stays open, in seconds. */
  tripped_duration: number
  /** The length of the rolling window, in seconds. */
  rolling_window: number
  /** The number of buckets that the window is divided into. */
  num_buckets: number
  /** The number of requests within the window before the breaker can open. */
  volume_threshold: number
  /** The ratio of server errors at which the breaker opens, from 0 to 1. */
  error_threshold_percentage: number
}

export interface CompressionModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
}

export interface RequestHeadersModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The headers to add, by name. Values can contain variables, such as ${conn.client_ip}. */
  add: Record<string, string>
  /** The names of headers to remove, before others are added. */
  remove: string[]
}

export interface ResponseHeadersModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The headers to add, by name. Values can contain variables, such as ${conn.client_ip}. */
  add: Record<string, string>
  /** The names of headers to remove, before others are added. */
  remove: string[]
}

export interface IpRestrictionModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The IP policies, of which at least one must allow the address. */
  ip_policies: Ref[]
}

export interface MutualTlsModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The authorities that may have issued the client certificate. */
  certificate_authorities: Ref[]
}

export interface TlsTerminationModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Where TLS terminates: at this edge, or at the upstream service. */
  terminate_at: "edge"
  /** The minimum TLS version. Older versions are rejected. Default: 1.2. */
  min_version: "1.0" | "1.1" | "1.2" | "1.3" | null
}

export interface WebhookVerificationModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The service that signs the webhooks, such as github or stripe. */
  provider: string
  /** The secret with which the service signs. */
  secret: string | null
}

export interface OauthModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough: boolean
  /** The prefix of its cookie names. */
  cookie_prefix: string
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout: number
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration: number
  /** Seconds after which the session is checked with the provider again; 0 for never. */
  auth_check_interval: number
  /** The provider at which visitors sign in. Choose exactly one. */
  provider: {
    /** Sign-in with Amazon. */
    amazon: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
    } | null
    /** Sign-in with Facebook. */
    facebook: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
    } | null
    /** Sign-in with GitHub. */
    github: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
      /** Admits members of one of these teams, such as example/platform. */
      teams: string[]
      /** Admits members of one of these organizations. */
      organizations: string[]
    } | null
    /** Sign-in with GitLab. */
    gitlab: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
      /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
      authorized_groups: string[]
    } | null
    /** Sign-in with Google. */
    google: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
    } | null
    /** Sign-in with LinkedIn. */
    linkedin: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
    } | null
    /** Sign-in with Microsoft. */
    microsoft: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
    } | null
    /** Sign-in with Twitch. */
    twitch: {
      /** The ID of this application at the provider. */
      client_id: string | null
      /** The secret of this application at the provider. */
      client_secret: string | null | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes: string[]
      /** Admits visitors with one of these email addresses. */
      email_addresses: string[]
      /** Admits visitors with an email address at one of these domains. */
      email_domains: string[]
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims: string[]
    } | null
  }
}

export interface SamlModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough: boolean
  /** The prefix of its cookie names. */
  cookie_prefix: string
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout: number
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration: number
  /** The metadata XML of the identity provider, if it is not published at a URL. */
  idp_metadata: string
  /** The URL at which the identity provider publishes its metadata. */
  idp_metadata_url: string
  /** Requires visitors to enter their password at every sign-in. */
  force_authn: boolean
  /** Accepts sign-ins that start at the identity provider. */
  allow_idp_initiated: boolean
  /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
  authorized_groups: string[]
  /** The format of the name that the identity provider sends. */
  nameid_format: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" | "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" | "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"
  /** The attribute that contains the email address; empty for the usual ones. */
  email_attribute: string
  /** The attribute that contains the name; empty for the usual ones. */
  name_attribute: string
  /** The attribute that contains the groups; empty for the usual ones. */
  groups_attribute: string
  /** The entity ID of this service provider. */
  entity_id: string
  /** The URL to which the identity provider sends its responses. */
  assertion_consumer_service_url: string
  /** The URL for single logout. */
  single_logout_url: string
  /** The URL of the metadata of this service provider. */
  metadata_url: string
  /** The certificate with which requests to the identity provider are signed. */
  request_signing_certificate_pem: string
}

export interface OidcModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough: boolean
  /** The prefix of its cookie names. */
  cookie_prefix: string
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout: number
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration: number
  /** The URL of the provider, such as https://login.example.com. */
  issuer: string
  /** The ID of this application at the provider. */
  client_id: string
  /** The secret of this application at the provider; empty for a public client. */
  client_secret: string | null
  /** How this application authenticates to the provider, as it is registered there; empty to use what the provider announces, and the other method where that is rejected. */
  token_endpoint_auth_method: "" | "client_secret_basic" | "client_secret_post" | "none"
  /** The scopes to request. OpenID Connect always requests openid. */
  scopes: string[]
  /** Admits visitors with one of these email addresses. */
  email_addresses: string[]
  /** Admits visitors with an email address at one of these domains. */
  email_domains: string[]
  /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
  authorized_groups: string[]
  /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
  authorized_claims: string[]
  /** Seconds after which the provider is asked again who the visitor is, without a redirect where it gave a refresh token; 0 for never. */
  userinfo_refresh_interval: number
}

export interface BackendModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The backend that receives the traffic. */
  backend: Ref
}

export interface EndpointConfiguration {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The protocol. */
  type: "http" | "https" | "tcp"
  /** Asks visitors for a user name and password of the agent. */
  basic_auth: BasicAuthModule | null
  /** Stops sending requests to a backend that returns too many errors. */
  circuit_breaker: CircuitBreakerModule | null
  /** Compresses responses. */
  compression: CompressionModule | null
  /** Adds and removes request headers. */
  request_headers: RequestHeadersModule | null
  /** Adds and removes response headers. */
  response_headers: ResponseHeadersModule | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_policy: IpRestrictionModule | null
  /** Requires a client certificate. */
  mutual_tls: MutualTlsModule | null
  /** Where TLS terminates, and the minimum version. */
  tls_termination: TlsTerminationModule | null
  /** Accepts only webhooks with a valid signature. */
  webhook_validation: WebhookVerificationModule | null
  /** Requires visitors to sign in at an OAuth provider. */
  oauth: OauthModule | null
  /** Requires visitors to sign in at a SAML identity provider. */
  saml: SamlModule | null
  /** Requires visitors to sign in at an OpenID Connect provider. */
  oidc: OidcModule | null
  /** Sends traffic to a backend. */
  backend: BackendModule | null
}

export interface AgentIngress {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The host name through which your agents connect, such as connect.example.com. */
  domain: string
  /** The name servers to delegate the domain to. */
  ns_targets: string[]
  /** The host names below the domain to which agents can connect. */
  region_domains: string[]
  /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
  certificate_management_policy: {
    /** The certificate authority to request certificates from. */
    authority: "letsencrypt"
    /** The key type of issued certificates. */
    private_key_type: "rsa" | "ecdsa"
  } | null
  /** The state of automatic certificate management; null when it is off. */
  certificate_management_status: {
    /** When the certificate is renewed next. */
    renews_at: string | null
    /** The certificate request in progress; null when there is none. */
    provisioning_job: {
      /** DNS_ERROR if a DNS record has to be corrected, INTERNAL_ERROR for a temporary error. */
      error_code: "DNS_ERROR" | "INTERNAL_ERROR" | null
      /** The current status or error. */
      msg: string
      /** When the request started. */
      started_at: string
      /** When the next attempt starts. */
      retries_at: string | null
    } | null
  } | null
}

export interface Endpoint {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** When it last changed. */
  updated_at: string
  /** The region of the server. */
  region: string
  /** Whether the endpoint belongs to an agent (ephemeral), to an edge, or is a cloud endpoint. Only cloud endpoints can be created. */
  type: string
  /** The protocol: http, https, tcp or tls. */
  proto: string
  /** The scheme of the public URL. */
  scheme: string
  /** The public host name. */
  host: string
  /** The public port. */
  port: number
  /** The public host name and port. */
  hostport: string
  /** The public URL. */
  public_url: string
  /** The URL, such as https://app.example.com for a reserved domain, tcp://1.tcp.example.com:20000 for a reserved address or https://app.internal. The scheme of a cloud endpoint cannot be changed. */
  url: string
  /** Where the endpoint is reachable: by visitors (public), by traffic policies of the account (internal), or in Kubernetes clusters whose operator selects it (kubernetes). By default names below .internal are internal. */
  bindings: ("public" | "internal" | "kubernetes")[]
  /** Whether several endpoints, including those of agents, can share the URL. */
  pooling_enabled: boolean
  /** Its share of the traffic where endpoints share the URL, relative to the others; from 0 to 10000. An endpoint with weight 0 gets traffic only while all others have weight 0 or are unreachable. */
  pooling_weight: number
  /** The other endpoints at this URL, at most 100; empty for an endpoint that does not pool. */
  pools: Ref[]
  /** The name of the endpoint. */
  name: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The reserved domain of the endpoint, if any. */
  domain: Ref | null
  /** The reserved address of the endpoint, if any. */
  tcp_addr: Ref | null
  /** The tunnel of the endpoint; null for an edge. */
  tunnel: Ref | null
  /** The session of the tunnel. */
  tunnel_session: Ref | null
  /** The user or bot user that owns the endpoint. */
  principal: Ref | null
  /** The edge of the endpoint; null for an agent. */
  edge: Ref | null
  /** The address that the agent forwards to. */
  upstream_url: string
  /** The protocol of the upstream service. */
  upstream_protocol: string
  /** The traffic policy, in YAML or JSON. The policy of a cloud endpoint must end every request or connection; other endpoints may have none. */
  traffic_policy: string | null
}

export interface CertificateAuthority {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The certificate of the authority in PEM format. */
  ca_pem: string
  /** The common name of the subject. */
  subject_common_name: string
  /** The start of the validity period. */
  not_before: string
  /** The end of the validity period. */
  not_after: string
  /** What the private key may be used for. */
  key_usages: string[]
  /** The extended key usages. */
  extended_key_usages: string[]
}

export interface TLSCertificate {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The certificate in PEM format, followed by its intermediate certificates. */
  certificate_pem: string
  /** The common name of the subject. */
  subject_common_name: string
  /** The organization of the subject. */
  subject_organization: string
  /** The organizational unit of the subject. */
  subject_organizational_unit: string
  /** The locality of the subject. */
  subject_locality: string
  /** The province or state of the subject. */
  subject_province: string
  /** The country of the subject. */
  subject_country: string
  /** The common name of the issuer. */
  issuer_common_name: string
  /** The names and addresses that the certificate is valid for. */
  subject_alternative_names: {
    /** The host names. */
    dns_names: string[]
    /** The IP addresses. */
    ips: string[]
  }
  /** When it was issued automatically; null for an uploaded certificate. */
  issued_at: string | null
  /** The start of the validity period. */
  not_before: string
  /** The end of the validity period. */
  not_after: string
  /** What the private key may be used for. */
  key_usages: string[]
  /** The extended key usages. */
  extended_key_usages: string[]
  /** The type of the private key. */
  private_key_type: string
  /** The serial number. */
  serial_number: string
}

export interface SSHCertificateAuthority {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The public key of the authority. */
  public_key: string
  /** The type of the key: rsa, ecdsa or ed25519. */
  key_type: string
}

export interface SSHUserCertificate {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The public key on one line, as in an authorized_keys file. */
  public_key: string
  /** The type of the key: rsa, ecdsa or ed25519. */
  key_type: string
  /** The SSH authority that signs the certificate. */
  ssh_certificate_authority_id: string
  /** The user names that the holder may sign in as. Without names, the certificate is valid for all of them. */
  principals: string[]
  /** Critical options of the certificate: force-command and source-address. */
  critical_options: Record<string, string>
  /** Extensions of the certificate. Default: permit-pty and permit-user-rc. Most have no value. */
  extensions: Record<string, string> | null
  /** The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now. */
  valid_after: string | null
  /** The end of the validity period, such as 2027-01-31T12:00:00Z. Default: 24 hours after the start. */
  valid_until: string | null
  /** The signed certificate in the format of an authorized_keys file. */
  certificate: string
}

export interface SSHHostCertificate {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The public key on one line, as in an authorized_keys file. */
  public_key: string
  /** The type of the key: rsa, ecdsa or ed25519. */
  key_type: string
  /** The SSH authority that signs the certificate. */
  ssh_certificate_authority_id: string
  /** The host names that the certificate is valid for. Without names, it is valid for all of them. */
  principals: string[]
  /** The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now. */
  valid_after: string | null
  /** The end of the validity period, such as 2027-01-31T12:00:00Z. Default: one year after the start. */
  valid_until: string | null
  /** The signed certificate in the format of an authorized_keys file. */
  certificate: string
}

export interface WebsocketTcpConverterModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
}

export interface UserAgentFilterModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Regular expressions. If there are any, clients that match none of them are rejected. */
  allow: string[]
  /** Regular expressions. Clients that match one of them are rejected. */
  deny: string[]
}

export interface IssuerOfAToken {
  /** The exact value. */
  value: string
}

export interface IssuerAllowList {
  /** The accepted values. */
  allow_list: IssuerOfAToken[]
}

export interface AudienceOfAToken {
  /** The exact value. */
  value: string
}

export interface AudienceAllowList {
  /** The accepted values. */
  allow_list: AudienceOfAToken[]
}

export interface ExpectedToken {
  /** The kind of token. With at+jwt and it+jwt, the header of the token must have the same typ. */
  type: "jwt" | "at+jwt" | "it+jwt" | "access_token" | "id_token" | "plain"
  /** Where the request has the token. */
  method: "header" | "body"
  /** The name of the header, or of the field of a form or JSON body. */
  name: string
  /** The text before the token, such as "Bearer ". */
  prefix: string
}

export interface TokensOfARequest {
  /** The request must contain all of them. */
  tokens: ExpectedToken[]
}

export interface SourcesOfTokenKeys {
  /** URLs of key sets. Without any, those that the issuer announces are used. */
  additional_jkus: string[]
}

export interface TokenKeys {
  /** Where the keys are published. */
  sources: SourcesOfTokenKeys
}

export interface TokenSignature {
  /** The algorithms with which tokens may be signed. */
  allowed_algorithms: ("ES256" | "ES384" | "ES512" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "EdDSA")[]
  /** The keys that sign tokens. */
  keys: TokenKeys
}

export interface JwtValidationModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The issuers whose tokens are accepted. */
  issuer: IssuerAllowList
  /** The token must contain one of these; an empty list accepts any audience. */
  audience: AudienceAllowList
  /** Where the tokens are. */
  http: TokensOfARequest
  /** How tokens are verified. */
  jws: TokenSignature
}

export interface TrafficPolicyModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The traffic policy, in YAML or JSON. Its rules run in order, after the modules. */
  value: string | null
}

export interface HTTPSEdgeRoute {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The HTTPS edge that the route belongs to. */
  edge_id: string
  /** Whether the request path must be equal to this path or only start with it. */
  match_type: "exact_path" | "path_prefix"
  /** A path such as / or /api/. Prefixes match character by character, so /api also matches /apix. */
  match: string
  /** Sends traffic to a backend. */
  backend: BackendModule | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_restriction: IpRestrictionModule | null
  /** Stops sending requests to a backend that returns too many errors. */
  circuit_breaker: CircuitBreakerModule | null
  /** Compresses responses. */
  compression: CompressionModule | null
  /** Adds and removes request headers. */
  request_headers: RequestHeadersModule | null
  /** Adds and removes response headers. */
  response_headers: ResponseHeadersModule | null
  /** Accepts only webhooks with a valid signature. */
  webhook_verification: WebhookVerificationModule | null
  /** Requires visitors to sign in at an OAuth provider. */
  oauth: OauthModule | null
  /** Requires visitors to sign in at a SAML identity provider. */
  saml: SamlModule | null
  /** Requires visitors to sign in at an OpenID Connect provider. */
  oidc: OidcModule | null
  /** Connects WebSocket clients to a raw TCP service. */
  websocket_tcp_converter: WebsocketTcpConverterModule | null
  /** Rejects clients by their User-Agent header. */
  user_agent_filter: UserAgentFilterModule | null
  /** Admits only requests with valid JSON Web Tokens from an issuer of your choice. */
  jwt_validation: JwtValidationModule | null
  /** Runs the rules of a traffic policy. */
  traffic_policy: TrafficPolicyModule | null
  /** Reserved; always null. */
  policies: null
}

export interface HTTPSEdge {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
  hostports: string[] | null
  /** Requires a client certificate. */
  mutual_tls: MutualTlsModule | null
  /** Where TLS terminates, and the minimum version. */
  tls_termination: TlsTerminationModule | null
  /** The routes of the edge. */
  routes: HTTPSEdgeRoute[]
  /** Reserved; always null. */
  policies: null
}

export interface WebsocketTcpConverterModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
}

export interface UserAgentFilterModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Regular expressions. If there are any, clients that match none of them are rejected. */
  allow?: string[] | null
  /** Regular expressions. Clients that match one of them are rejected. */
  deny?: string[] | null
}

export interface IssuerOfATokenRequest {
  /** The exact value. */
  value: string
}

export interface IssuerAllowListRequest {
  /** The accepted values. */
  allow_list?: IssuerOfATokenRequest[] | null
}

export interface AudienceOfATokenRequest {
  /** The exact value. */
  value: string
}

export interface AudienceAllowListRequest {
  /** The accepted values. */
  allow_list?: AudienceOfATokenRequest[] | null
}

export interface ExpectedTokenRequest {
  /** The kind of token. With at+jwt and it+jwt, the header of the token must have the same typ. */
  type?: "jwt" | "at+jwt" | "it+jwt" | "access_token" | "id_token" | "plain" | null
  /** Where the request has the token. */
  method?: "header" | "body" | null
  /** The name of the header, or of the field of a form or JSON body. */
  name: string
  /** The text before the token, such as "Bearer ". */
  prefix?: string | null
}

export interface TokensOfARequestRequest {
  /** The request must contain all of them. */
  tokens: ExpectedTokenRequest[]
}

export interface SourcesOfTokenKeysRequest {
  /** URLs of key sets. Without any, those that the issuer announces are used. */
  additional_jkus?: string[] | null
}

export interface TokenKeysRequest {
  /** Where the keys are published. */
  sources?: SourcesOfTokenKeysRequest | null
}

export interface TokenSignatureRequest {
  /** The algorithms with which tokens may be signed. */
  allowed_algorithms: ("ES256" | "ES384" | "ES512" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "EdDSA")[]
  /** The keys that sign tokens. */
  keys?: TokenKeysRequest | null
}

export interface JwtValidationModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The issuers whose tokens are accepted. */
  issuer: IssuerAllowListRequest
  /** The token must contain one of these; an empty list accepts any audience. */
  audience?: AudienceAllowListRequest | null
  /** Where the tokens are. */
  http: TokensOfARequestRequest
  /** How tokens are verified. */
  jws: TokenSignatureRequest
}

export interface TrafficPolicyModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The traffic policy, in YAML or JSON. Its rules run in order, after the modules. */
  value: string | null
}

export interface EdgesTlsTlsTerminationModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Where TLS terminates: at this edge, or at the upstream service. */
  terminate_at?: "edge" | "upstream" | null
  /** The minimum TLS version. Older versions are rejected. Default: 1.2. */
  min_version?: "1.0" | "1.1" | "1.2" | "1.3" | null
}

export interface EdgesTlsTrafficPolicyModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The traffic policy, in YAML or JSON. Its rules run in order, after the modules. */
  value: string | null
}

export interface EdgesTlsTlsTerminationModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** Where TLS terminates: at this edge, or at the upstream service. */
  terminate_at: "edge" | "upstream"
  /** The minimum TLS version. Older versions are rejected. Default: 1.2. */
  min_version: "1.0" | "1.1" | "1.2" | "1.3" | null
}

export interface EdgesTlsTrafficPolicyModule {
  /** Whether the module applies to traffic. */
  enabled: boolean
  /** The traffic policy, in YAML or JSON. Its rules run in order, after the modules. */
  value: string | null
}

export interface TLSEdge {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
  hostports: string[] | null
  /** Sends traffic to a backend. */
  backend: BackendModule | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_restriction: IpRestrictionModule | null
  /** Requires a client certificate. */
  mutual_tls: MutualTlsModule | null
  /** Where TLS terminates, and the minimum version. */
  tls_termination: EdgesTlsTlsTerminationModule | null
  /** Runs the rules of a traffic policy. */
  traffic_policy: EdgesTlsTrafficPolicyModule | null
  /** Reserved; always null. */
  policies: null
}

export interface TCPEdge {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
  hostports: string[] | null
  /** Sends traffic to a backend. */
  backend: BackendModule | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_restriction: IpRestrictionModule | null
  /** Runs the rules of a traffic policy. */
  traffic_policy: EdgesTlsTrafficPolicyModule | null
  /** Reserved; always null. */
  policies: null
}

export interface HTTPResponseBackend {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The response body. */
  body: string
  /** The response headers. */
  headers: Record<string, string> | null
  /** The response status, such as 200 or 503. */
  status_code: number
}

export interface TunnelGroupBackend {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** Agents join the group with the same labels, such as app=shop. */
  labels: Record<string, string>
  /** The online tunnels with these labels. */
  tunnels: Ref[]
}

export interface WeightedBackend {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The weight of each backend, by its ID; from 0 to 10000. */
  backends: Record<string, number>
}

export interface FailoverBackend {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The backends in order: the first that is online receives the traffic. */
  backends: string[]
}

export interface StaticBackend {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The host and port of the upstream service, such as 192.0.2.10:8080. */
  address: string
  /** Whether to connect to the upstream service over TLS. */
  tls: {
    /** Whether to use TLS. */
    enabled: boolean
  }
}

export interface ErrorPage {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The status that the page is for, such as 502; 4xx and 5xx for the rest of their class; all for every other status. */
  status: string
  /** A complete HTML page of at most 64 KiB. {{status}}, {{title}}, {{message}}, {{next_step}}, {{owner_step}}, {{code}} and {{host}} are replaced. Styles and images must be in the page; scripts do not run. */
  html: string
}

export interface Vault {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** When it last changed. */
  updated_at: string
  /** The name by which traffic policies find the vault. It must be unique in the account. */
  name: string
  /** The user or bot user who created it. */
  created_by: string
  /** The user or bot user who changed it last. */
  last_updated_by: string
}

export interface VaultSecret {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** When it last changed. */
  updated_at: string
  /** The name by which traffic policies find the secret. It must be unique in its vault. */
  name: string
  /** The secret value. It is never shown again. */
  value: string | null
  /** The vault that the secret belongs to. */
  vault: Ref
  /** The name of the vault that the secret belongs to. Give this or vault_id to create a secret. */
  vault_name: string
  /** The user or bot user who created it. */
  created_by: Ref
  /** The user or bot user who changed it last. */
  last_updated_by: Ref
}

export interface CloudRoleRequest {
  /** The ARN of the role. */
  role_arn: string
}

export interface CloudCredentialsRequest {
  /** The ID of the access key. */
  cloud_access_key_id: string
  /** The secret of the access key. Never shown again. */
  cloud_secret_access_key: string
}

export interface CloudAuthRequest {
  /** A role to assume. */
  role?: CloudRoleRequest | null
  /** A long-term access key. */
  creds?: CloudCredentialsRequest | null
}

export interface EventTargetRequest {
  /** An Amazon Data Firehose delivery stream. */
  firehose?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuthRequest
    /** The ARN of the delivery stream. */
    delivery_stream_arn: string
  } | null
  /** An Amazon Kinesis data stream. */
  kinesis?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuthRequest
    /** The ARN of the stream. */
    stream_arn: string
  } | null
  /** An Amazon CloudWatch log group. */
  cloudwatch_logs?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuthRequest
    /** The ARN of the log group. */
    log_group_arn: string
  } | null
  /** Datadog. */
  monitoring?: {
    /** The Datadog API key. Never shown again. */
    api_key: string
    /** Tags to send with events. */
    ddtags?: string | null
    /** The service name to send with events. */
    service?: string | null
    /** The Datadog site, such as datadoghq.eu. */
    ddsite?: string | null
  } | null
  /** Azure Monitor. */
  azure_logs_ingestion?: {
    /** The ID of the tenant. */
    tenant_id: string
    /** The ID of the application. */
    client_id: string
    /** The secret of the application. Never shown again. */
    client_secret: string
    /** The URL of the logs ingestion endpoint. */
    logs_ingestion_uri: string
    /** The immutable ID of the data collection rule. */
    data_collection_rule_id: string
    /** The name of the stream in the data collection rule. */
    data_collection_stream_name: string
  } | null
  /** An Amazon S3 bucket. */
  s3?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuthRequest
    /** The ARN of the bucket. */
    bucket_arn: string
    /** The prefix of the object names. */
    object_prefix?: string | null
    /** Whether to compress objects with gzip. */
    compression?: boolean | null
    /** The maximum size of an object in bytes. */
    max_file_size?: number | null
    /** The maximum time in seconds before an object is written. */
    max_file_age?: number | null
  } | null
  /** An HTTP endpoint that receives signed requests. */
  webhook?: {
    /** The URL that receives the events. */
    url: string
    /** The secret with which requests are signed. Never shown again. */
    secret: string
  } | null
}

export interface CloudRole {
  /** The ARN of the role. */
  role_arn: string
}

export interface CloudCredentials {
  /** The ID of the access key. */
  cloud_access_key_id: string
  /** The secret of the access key. Never shown again. */
  cloud_secret_access_key: string | null
}

export interface CloudAuth {
  /** A role to assume. */
  role: CloudRole | null
  /** A long-term access key. */
  creds: CloudCredentials | null
}

export interface EventTarget {
  /** An Amazon Data Firehose delivery stream. */
  firehose: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuth
    /** The ARN of the delivery stream. */
    delivery_stream_arn: string
  } | null
  /** An Amazon Kinesis data stream. */
  kinesis: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuth
    /** The ARN of the stream. */
    stream_arn: string
  } | null
  /** An Amazon CloudWatch log group. */
  cloudwatch_logs: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuth
    /** The ARN of the log group. */
    log_group_arn: string
  } | null
  /** Datadog. */
  monitoring: {
    /** The Datadog API key. Never shown again. */
    api_key: string | null
    /** Tags to send with events. */
    ddtags: string
    /** The service name to send with events. */
    service: string
    /** The Datadog site, such as datadoghq.eu. */
    ddsite: string
  } | null
  /** Azure Monitor. */
  azure_logs_ingestion: {
    /** The ID of the tenant. */
    tenant_id: string
    /** The ID of the application. */
    client_id: string
    /** The secret of the application. Never shown again. */
    client_secret: string | null
    /** The URL of the logs ingestion endpoint. */
    logs_ingestion_uri: string
    /** The immutable ID of the data collection rule. */
    data_collection_rule_id: string
    /** The name of the stream in the data collection rule. */
    data_collection_stream_name: string
  } | null
  /** An Amazon S3 bucket. */
  s3: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: CloudAuth
    /** The ARN of the bucket. */
    bucket_arn: string
    /** The prefix of the object names. */
    object_prefix: string
    /** Whether to compress objects with gzip. */
    compression: boolean
    /** The maximum size of an object in bytes. */
    max_file_size: number
    /** The maximum time in seconds before an object is written. */
    max_file_age: number
  } | null
  /** An HTTP endpoint that receives signed requests. */
  webhook: {
    /** The URL that receives the events. */
    url: string
    /** The secret with which requests are signed. Never shown again. */
    secret: string | null
  } | null
}

export interface EventDestinationStatus {
  /** When the last delivery succeeded. */
  last_success_at: string | null
  /** When the last delivery failed. */
  last_error_at: string | null
  /** The error message of the last failed delivery. */
  last_error: string | null
  /** The number of queued events. */
  backlog: number
  /** The number of dead letters: events that could not be delivered. */
  dead: number
  /** The number of events dropped because the queue was full. */
  dropped: number
  /** Whether deliveries have stopped because the destination returned 410 Gone. */
  disabled: boolean
}

export interface EventDestination {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The format of events. The only supported format is json. */
  format: string
  /** Where the events are sent. Choose exactly one target. */
  target: EventTarget
  /** The state of deliveries. */
  status: EventDestinationStatus | null
}

export interface EventSubscription {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The events of the subscription. */
  sources: {
    /** The event type, such as ip_policy_created.v0. */
    type: string
    /** For traffic events only: a CEL expression that selects the events to send. */
    filter: string
    /** For traffic events only: the fields to send. */
    fields: string[]
    /** The address of this object in the API. */
    uri: string
  }[]
  /** The destinations that receive the events. */
  destinations: Ref[]
}

export interface User {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** The email address, which is also the sign-in name. */
  email: string
  /** The display name. */
  name: string
  /** What the user may do: read the account, change it, or administer it. */
  role: "read_only" | "developer" | "admin"
  /** Inactive users can neither sign in nor use their credentials. */
  active: boolean
}

export interface BotUser {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** The program or service that the bot user represents. */
  name: string
  /** What its credentials may do: read the account, change it, or administer it. */
  role: "read_only" | "developer" | "admin"
  /** An inactive bot user cannot use its credentials. */
  active: boolean
}

export interface ReportedHostname {
  /** The host of a reported URL. */
  hostname: string
  /** What was decided about the host. */
  status: "PENDING" | "BANNED" | "UNBANNED" | "IGNORE"
}

export interface AbuseReport {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** The reported URLs, at most 100. */
  urls: string[]
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** The state of the report; always PENDING. */
  status: "PENDING" | "PROCESSED" | "PARTIALLY_PROCESSED"
  /** The hosts of the URLs. */
  hostnames: ReportedHostname[]
}

export interface OperatorDeploymentRequest {
  /** The name of the deployment. */
  name?: string | null
  /** The namespace of the deployment. */
  namespace?: string | null
  /** The version of the operator. */
  version?: string | null
  /** The name of the cluster. */
  cluster_name?: string | null
}

export interface OperatorBindingRequest {
  /** CEL expressions such as endpoint.proto == "https", over the fields of an endpoint in the API. An endpoint with the binding kubernetes is bound to the cluster if one of them is true. */
  endpoint_selectors?: string[] | null
  /** The certificate signing request of the operator, in PEM. A new request gets a new certificate, which immediately replaces the previous one. */
  csr?: string | null
}

export interface OperatorDeployment {
  /** The name of the deployment. */
  name: string
  /** The namespace of the deployment. */
  namespace: string
  /** The version of the operator. */
  version: string
  /** The name of the cluster. */
  cluster_name: string
}

export interface OperatorCertificate {
  /** The certificate, in PEM. It names the operator. */
  cert: string
  /** From when it is valid, in RFC 3339 format. */
  not_before: string
  /** Until when it is valid, in RFC 3339 format. */
  not_after: string
}

export interface OperatorBinding {
  /** CEL expressions such as endpoint.proto == "https", over the fields of an endpoint in the API. An endpoint with the binding kubernetes is bound to the cluster if one of them is true. */
  endpoint_selectors: string[]
  /** The certificate signing request of the operator, in PEM. A new request gets a new certificate, which immediately replaces the previous one. */
  csr: string
  /** The certificate with which the operator connects to `ingress_endpoint`; null without `csr`. */
  cert: OperatorCertificate | null
  /** Where the operator connects for the clients in its cluster: a host and a port. Empty where the server has no HTTPS listener. */
  ingress_endpoint: string
}

export interface KubernetesOperator {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** What it is for. Shown in lists. At most 255 bytes. */
  description: string
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata: string
  /** When it last changed. */
  updated_at: string
  /** The user or bot user who registered it. */
  principal: Ref
  /** What the operator does in its cluster: ingress, gateway, bindings. */
  enabled_features: string[]
  /** The region that the operator connects to. */
  region: string
  /** Where the operator runs. */
  deployment: OperatorDeployment
  /** Which endpoints are bound to the cluster. Without it, none are. */
  binding: OperatorBinding | null
}

export interface ServiceUser {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** The program or service that the bot user represents. */
  name: string
  /** What its credentials may do: read the account, change it, or administer it. */
  role: "read_only" | "developer" | "admin"
  /** An inactive bot user cannot use its credentials. */
  active: boolean
}

export interface Leg {
  /** The source IP address of the connection. */
  ip: string
  /** The region of the server at the other end. */
  region: string
  /** When it was opened, in RFC 3339 format. */
  started_at: string
}

export interface TunnelSession {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** The version of the agent. */
  agent_version: string
  /** The tunnel credential or SSH key that started the session. */
  credential: Ref
  /** The source IP address. */
  ip: string
  /** The metadata that the agent is configured with. */
  metadata: string
  /** The operating system of the agent. */
  os: string
  /** The region of the server. */
  region: string
  /** When it started, in RFC 3339 format. */
  started_at: string
  /** The protocol of the session. */
  transport: string
  /** The connections of the session to all nodes, oldest first. */
  legs: Leg[]
}

export interface Tunnel {
  /** The unique ID. */
  id: string
  /** When it started, in RFC 3339 format. */
  started_at: string
  /** The region of the server. */
  region: string
  /** The local address that the tunnel forwards to. */
  forwards_to: string
  /** The metadata that the agent is configured with. */
  metadata: string
  /** The session of the tunnel. */
  tunnel_session: Ref
  /** The protocol: http, https, tcp or tls. */
  proto: string | null
  /** The public URL. */
  public_url: string | null
  /** The endpoint of the tunnel; null if it has labels. */
  endpoint: Ref | null
  /** The labels of the tunnel; null if it has a public address of its own. */
  labels: Record<string, string> | null
  /** The tunnel groups that the tunnel belongs to. */
  backends: Ref[] | null
}

export interface IdentityProvider {
  /** The name of the identity provider, such as google. */
  name: string
  /** The address of the identity provider; for SAML its entity ID. */
  url: string
}

export interface ApplicationUser {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** Where the visitor signs in. */
  identity_provider: IdentityProvider
  /** The ID of the visitor at the identity provider. */
  provider_user_id: string
  /** The user name at the identity provider, if it provides one. */
  username: string
  /** The verified email address, if the identity provider provides one. */
  email: string
  /** The full name. */
  name: string
  /** When the visitor last sent a request, to the minute. */
  last_active: string
  /** When the visitor last signed in. */
  last_login: string
}

export interface UserAgent {
  /** The User-Agent header of the sign-in. */
  raw: string
  /** The browser, such as Firefox; empty when unknown. */
  browser_name: string
  /** The version of the browser. */
  browser_version: string
  /** Desktop, Mobile, Tablet or Bot. */
  device_type: string
  /** The operating system, such as Windows; empty when unknown. */
  os_name: string
  /** The version of the operating system. */
  os_version: string
}

export interface SessionLocation {
  /** The two-letter country code. */
  country_code: string | null
  /** The latitude in degrees. */
  latitude: number | null
  /** The longitude in degrees. */
  longitude: number | null
  /** The accuracy of the coordinates, in kilometers. */
  lat_long_radius_km: number | null
}

export interface BrowserSession {
  /** The browser and its operating system, from its User-Agent header. */
  user_agent: UserAgent
  /** The IP address of the sign-in. */
  ip_address: string
  /** The location of that address; null unless IP data was imported. */
  location: SessionLocation | null
}

export interface ApplicationSession {
  /** The unique ID. */
  id: string
  /** The address of this object in the API. */
  uri: string
  /** When it was created, in RFC 3339 format. */
  created_at: string
  /** Where the visitor signed in. */
  public_url: string
  /** The browser of the visitor. */
  browser_session: BrowserSession
  /** The visitor who signed in. */
  application_user: Ref | null
  /** When the visitor last sent a request, to the minute. */
  last_active: string
  /** When the session ends without further requests. */
  expires_at: string
  /** The endpoint; null for an edge. */
  endpoint: Ref | null
  /** The edge; null for an endpoint. */
  edge: Ref | null
  /** The route of the edge. */
  route: Ref | null
}

export interface APIKeyRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
  owner_id?: string | null
}

export interface TunnelCredentialRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
  acl?: string[] | null
  /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
  owner_id?: string | null
}

export interface SSHCredentialRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The public key on one line, as in an authorized_keys file. */
  public_key: string
  /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
  acl?: string[] | null
  /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
  owner_id?: string | null
}

export interface IPPolicyRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
}

export interface IPPolicyRuleRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** An IP address or a range in CIDR notation, such as 203.0.113.0/24 or 2001:db8::/32. */
  cidr: string
  /** Whether the range is allowed or denied. A deny rule takes precedence. */
  action: "allow" | "deny"
  /** The IP policy that the rule belongs to. */
  ip_policy_id: string
}

export interface IPRestrictionRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** A restriction has no effect until it is enforced. Make sure that your own address is allowed: you can lock yourself out. */
  enforced?: boolean | null
  /** What is restricted: API calls, the dashboard, agent connections, or public endpoints. */
  type: "dashboard" | "api" | "agent" | "endpoints"
  /** The IP policies, of which at least one must allow the address. */
  ip_policy_ids: string[]
}

export interface ReservedAddressRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** Accepted for compatibility; it has no effect. */
  region?: "au" | "eu" | "ap" | "us" | "jp" | "in" | "sa" | null
  /** The endpoint configuration of type tcp whose modules apply to the endpoints at this address. */
  endpoint_configuration_id?: string | null
}

export interface ReservedDomainRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The host name, such as app.example.com or *.example.com. */
  domain: string
  /** Accepted for compatibility; it has no effect. */
  region?: "au" | "eu" | "ap" | "us" | "jp" | "in" | "sa" | null
  /** The endpoint configuration of type http whose modules apply to the endpoints at this domain. */
  http_endpoint_configuration_id?: string | null
  /** The endpoint configuration of type https whose modules apply to the endpoints at this domain. */
  https_endpoint_configuration_id?: string | null
  /** An uploaded TLS certificate to serve. */
  certificate_id?: string | null
  /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
  certificate_management_policy?: {
    /** The certificate authority to request certificates from. */
    authority?: "letsencrypt" | null
    /** The key type of issued certificates. */
    private_key_type?: "rsa" | "ecdsa" | null
  } | null
  /** Accepted for compatibility; it has no effect. */
  resolves_to?: ReservedDomainResolvesToRequest[] | null
}

export interface AccountIpRestrictionModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The IP policies, of which at least one must allow the address. */
  ip_policy_ids: string[]
}

export interface AccountMutualTlsModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The authorities that may have issued the client certificate. */
  certificate_authority_ids: string[]
}

export interface AccountOauthModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough?: boolean | null
  /** The prefix of its cookie names. */
  cookie_prefix?: string | null
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout?: number | null
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration?: number | null
  /** Seconds after which the session is checked with the provider again; 0 for never. */
  auth_check_interval?: number | null
  /** The provider at which visitors sign in. Choose exactly one. */
  provider: {
    /** Sign-in with Amazon. */
    amazon?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with Facebook. */
    facebook?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with GitHub. */
    github?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
      /** Admits members of one of these teams, such as example/platform. */
      teams?: string[] | null
      /** Admits members of one of these organizations. */
      organizations?: string[] | null
    } | null
    /** Sign-in with GitLab. */
    gitlab?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
      /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
      authorized_groups?: string[] | null
    } | null
    /** Sign-in with Google. */
    google?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with LinkedIn. */
    linkedin?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with Microsoft. */
    microsoft?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
    /** Sign-in with Twitch. */
    twitch?: {
      /** The ID of this application at the provider. */
      client_id?: string | null
      /** The secret of this application at the provider. */
      client_secret?: string | null
      /** The scopes to request. OpenID Connect always requests openid. */
      scopes?: string[] | null
      /** Admits visitors with one of these email addresses. */
      email_addresses?: string[] | null
      /** Admits visitors with an email address at one of these domains. */
      email_domains?: string[] | null
      /** Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough. */
      authorized_claims?: string[] | null
    } | null
  }
}

export interface AccountSamlModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** Lets CORS preflight requests pass without signing in. */
  options_passthrough?: boolean | null
  /** The prefix of its cookie names. */
  cookie_prefix?: string | null
  /** Seconds of inactivity after which visitors must sign in again; 0 for never. */
  inactivity_timeout?: number | null
  /** Seconds after which visitors must sign in again; 0 for never. */
  maximum_duration?: number | null
  /** The metadata XML of the identity provider, if it is not published at a URL. */
  idp_metadata?: string | null
  /** The URL at which the identity provider publishes its metadata. */
  idp_metadata_url?: string | null
  /** Requires visitors to enter their password at every sign-in. */
  force_authn?: boolean | null
  /** Accepts sign-ins that start at the identity provider. */
  allow_idp_initiated?: boolean | null
  /** Admits only members of one of these groups. Without groups, everyone who can sign in is admitted. */
  authorized_groups?: string[] | null
  /** The format of the name that the identity provider sends. */
  nameid_format?: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" | "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" | "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified" | null
  /** The attribute that contains the email address; empty for the usual ones. */
  email_attribute?: string | null
  /** The attribute that contains the name; empty for the usual ones. */
  name_attribute?: string | null
  /** The attribute that contains the groups; empty for the usual ones. */
  groups_attribute?: string | null
}

export interface AccountBackendModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The backend that receives the traffic. */
  backend_id: string
}

export interface EndpointConfigurationRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The protocol. */
  type: "http" | "https" | "tcp"
  /** Asks visitors for a user name and password of the agent. */
  basic_auth?: BasicAuthModuleRequest | null
  /** Stops sending requests to a backend that returns too many errors. */
  circuit_breaker?: CircuitBreakerModuleRequest | null
  /** Compresses responses. */
  compression?: CompressionModuleRequest | null
  /** Adds and removes request headers. */
  request_headers?: RequestHeadersModuleRequest | null
  /** Adds and removes response headers. */
  response_headers?: ResponseHeadersModuleRequest | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_policy?: AccountIpRestrictionModuleRequest | null
  /** Requires a client certificate. */
  mutual_tls?: AccountMutualTlsModuleRequest | null
  /** Where TLS terminates, and the minimum version. */
  tls_termination?: TlsTerminationModuleRequest | null
  /** Accepts only webhooks with a valid signature. */
  webhook_validation?: WebhookVerificationModuleRequest | null
  /** Requires visitors to sign in at an OAuth provider. */
  oauth?: AccountOauthModuleRequest | null
  /** Requires visitors to sign in at a SAML identity provider. */
  saml?: AccountSamlModuleRequest | null
  /** Requires visitors to sign in at an OpenID Connect provider. */
  oidc?: OidcModuleRequest | null
  /** Sends traffic to a backend. */
  backend?: AccountBackendModuleRequest | null
}

export interface AgentIngressRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The host name through which your agents connect, such as connect.example.com. */
  domain: string
  /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
  certificate_management_policy?: {
    /** The certificate authority to request certificates from. */
    authority?: "letsencrypt" | null
    /** The key type of issued certificates. */
    private_key_type?: "rsa" | "ecdsa" | null
  } | null
}

export interface EndpointRequest {
  /** Whether the endpoint belongs to an agent (ephemeral), to an edge, or is a cloud endpoint. Only cloud endpoints can be created. */
  type?: string | null
  /** The URL, such as https://app.example.com for a reserved domain, tcp://1.tcp.example.com:20000 for a reserved address or https://app.internal. The scheme of a cloud endpoint cannot be changed. */
  url: string
  /** Where the endpoint is reachable: by visitors (public), by traffic policies of the account (internal), or in Kubernetes clusters whose operator selects it (kubernetes). By default names below .internal are internal. */
  bindings?: ("public" | "internal" | "kubernetes")[] | null
  /** Whether several endpoints, including those of agents, can share the URL. */
  pooling_enabled?: boolean | null
  /** Its share of the traffic where endpoints share the URL, relative to the others; from 0 to 10000. An endpoint with weight 0 gets traffic only while all others have weight 0 or are unreachable. */
  pooling_weight?: number | null
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The traffic policy, in YAML or JSON. The policy of a cloud endpoint must end every request or connection; other endpoints may have none. */
  traffic_policy?: string | null
}

export interface CertificateAuthorityRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The certificate of the authority in PEM format. */
  ca_pem: string
}

export interface TLSCertificateRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The certificate in PEM format, followed by its intermediate certificates. */
  certificate_pem: string
  /** The private key in PEM format. It is stored encrypted and never shown again. */
  private_key_pem?: string
}

export interface SSHCertificateAuthorityRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The type of the key to generate. */
  private_key_type?: "rsa" | "ecdsa" | "ed25519" | null
  /** The curve of an ECDSA key. */
  elliptic_curve?: "p256" | "p384" | "p521" | null
  /** The size of an RSA key in bits. */
  key_size?: 2048 | 4096 | null
}

export interface SSHUserCertificateRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The public key on one line, as in an authorized_keys file. */
  public_key: string
  /** The SSH authority that signs the certificate. */
  ssh_certificate_authority_id: string
  /** The user names that the holder may sign in as. Without names, the certificate is valid for all of them. */
  principals?: string[] | null
  /** Critical options of the certificate: force-command and source-address. */
  critical_options?: Record<string, string> | null
  /** Extensions of the certificate. Default: permit-pty and permit-user-rc. Most have no value. */
  extensions?: Record<string, string> | null
  /** The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now. */
  valid_after?: string | null
  /** The end of the validity period, such as 2027-01-31T12:00:00Z. Default: 24 hours after the start. */
  valid_until?: string | null
}

export interface SSHHostCertificateRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The public key on one line, as in an authorized_keys file. */
  public_key: string
  /** The SSH authority that signs the certificate. */
  ssh_certificate_authority_id: string
  /** The host names that the certificate is valid for. Without names, it is valid for all of them. */
  principals?: string[] | null
  /** The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now. */
  valid_after?: string | null
  /** The end of the validity period, such as 2027-01-31T12:00:00Z. Default: one year after the start. */
  valid_until?: string | null
}

export interface HTTPSEdgeRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
  hostports?: string[] | null
  /** Requires a client certificate. */
  mutual_tls?: AccountMutualTlsModuleRequest | null
  /** Where TLS terminates, and the minimum version. */
  tls_termination?: TlsTerminationModuleRequest | null
}

export interface AccountTrafficPolicyModuleRequest {
  /** Whether the module applies to traffic. */
  enabled?: boolean | null
  /** The traffic policy, in YAML or JSON. Its rules run in order, after the modules. */
  value?: string | null
}

export interface HTTPSEdgeRouteRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The HTTPS edge that the route belongs to. */
  edge_id: string
  /** Whether the request path must be equal to this path or only start with it. */
  match_type: "exact_path" | "path_prefix"
  /** A path such as / or /api/. Prefixes match character by character, so /api also matches /apix. */
  match: string
  /** Sends traffic to a backend. */
  backend?: AccountBackendModuleRequest | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_restriction?: AccountIpRestrictionModuleRequest | null
  /** Stops sending requests to a backend that returns too many errors. */
  circuit_breaker?: CircuitBreakerModuleRequest | null
  /** Compresses responses. */
  compression?: CompressionModuleRequest | null
  /** Adds and removes request headers. */
  request_headers?: RequestHeadersModuleRequest | null
  /** Adds and removes response headers. */
  response_headers?: ResponseHeadersModuleRequest | null
  /** Accepts only webhooks with a valid signature. */
  webhook_verification?: WebhookVerificationModuleRequest | null
  /** Requires visitors to sign in at an OAuth provider. */
  oauth?: AccountOauthModuleRequest | null
  /** Requires visitors to sign in at a SAML identity provider. */
  saml?: AccountSamlModuleRequest | null
  /** Requires visitors to sign in at an OpenID Connect provider. */
  oidc?: OidcModuleRequest | null
  /** Connects WebSocket clients to a raw TCP service. */
  websocket_tcp_converter?: WebsocketTcpConverterModuleRequest | null
  /** Rejects clients by their User-Agent header. */
  user_agent_filter?: UserAgentFilterModuleRequest | null
  /** Admits only requests with valid JSON Web Tokens from an issuer of your choice. */
  jwt_validation?: JwtValidationModuleRequest | null
  /** Runs the rules of a traffic policy. */
  traffic_policy?: AccountTrafficPolicyModuleRequest | null
}

export interface TLSEdgeRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
  hostports?: string[] | null
  /** Sends traffic to a backend. */
  backend?: AccountBackendModuleRequest | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_restriction?: AccountIpRestrictionModuleRequest | null
  /** Requires a client certificate. */
  mutual_tls?: AccountMutualTlsModuleRequest | null
  /** Where TLS terminates, and the minimum version. */
  tls_termination?: EdgesTlsTlsTerminationModuleRequest | null
  /** Runs the rules of a traffic policy. */
  traffic_policy?: AccountTrafficPolicyModuleRequest | null
}

export interface TCPEdgeRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
  hostports?: string[] | null
  /** Sends traffic to a backend. */
  backend?: AccountBackendModuleRequest | null
  /** Allows only addresses that one of the IP policies allows. */
  ip_restriction?: AccountIpRestrictionModuleRequest | null
  /** Runs the rules of a traffic policy. */
  traffic_policy?: AccountTrafficPolicyModuleRequest | null
}

export interface HTTPResponseBackendRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The response body. */
  body?: string | null
  /** The response headers. */
  headers?: Record<string, string> | null
  /** The response status, such as 200 or 503. */
  status_code?: number | null
}

export interface TunnelGroupBackendRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** Agents join the group with the same labels, such as app=shop. */
  labels?: Record<string, string> | null
}

export interface WeightedBackendRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The weight of each backend, by its ID; from 0 to 10000. */
  backends?: Record<string, number> | null
}

export interface FailoverBackendRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The backends in order: the first that is online receives the traffic. */
  backends?: string[] | null
}

export interface StaticBackendRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The host and port of the upstream service, such as 192.0.2.10:8080. */
  address: string
  /** Whether to connect to the upstream service over TLS. */
  tls?: {
    /** Whether to use TLS. */
    enabled?: boolean | null
  } | null
}

export interface ErrorPageRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The status that the page is for, such as 502; 4xx and 5xx for the rest of their class; all for every other status. */
  status: string
  /** A complete HTML page of at most 64 KiB. {{status}}, {{title}}, {{message}}, {{next_step}}, {{owner_step}}, {{code}} and {{host}} are replaced. Styles and images must be in the page; scripts do not run. */
  html: string
}

export interface VaultRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The name by which traffic policies find the vault. It must be unique in the account. */
  name: string
}

export interface VaultSecretRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The name by which traffic policies find the secret. It must be unique in its vault. */
  name: string
  /** The secret value. It is never shown again. */
  value?: string
  /** The vault that the secret belongs to. */
  vault_id?: string | null
  /** The name of the vault that the secret belongs to. Give this or vault_id to create a secret. */
  vault_name?: string | null
}

export interface AccountCloudCredentialsRequest {
  /** The ID of the access key. */
  cloud_access_key_id: string
  /** The secret of the access key. Never shown again. */
  cloud_secret_access_key?: string
}

export interface AccountCloudAuthRequest {
  /** A role to assume. */
  role?: CloudRoleRequest | null
  /** A long-term access key. */
  creds?: AccountCloudCredentialsRequest | null
}

export interface AccountEventTargetRequest {
  /** An Amazon Data Firehose delivery stream. */
  firehose?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: AccountCloudAuthRequest
    /** The ARN of the delivery stream. */
    delivery_stream_arn: string
  } | null
  /** An Amazon Kinesis data stream. */
  kinesis?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: AccountCloudAuthRequest
    /** The ARN of the stream. */
    stream_arn: string
  } | null
  /** An Amazon CloudWatch log group. */
  cloudwatch_logs?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: AccountCloudAuthRequest
    /** The ARN of the log group. */
    log_group_arn: string
  } | null
  /** Datadog. */
  monitoring?: {
    /** The Datadog API key. Never shown again. */
    api_key?: string
    /** Tags to send with events. */
    ddtags?: string | null
    /** The service name to send with events. */
    service?: string | null
    /** The Datadog site, such as datadoghq.eu. */
    ddsite?: string | null
  } | null
  /** Azure Monitor. */
  azure_logs_ingestion?: {
    /** The ID of the tenant. */
    tenant_id: string
    /** The ID of the application. */
    client_id: string
    /** The secret of the application. Never shown again. */
    client_secret?: string
    /** The URL of the logs ingestion endpoint. */
    logs_ingestion_uri: string
    /** The immutable ID of the data collection rule. */
    data_collection_rule_id: string
    /** The name of the stream in the data collection rule. */
    data_collection_stream_name: string
  } | null
  /** An Amazon S3 bucket. */
  s3?: {
    /** How to authenticate with AWS: a role or an access key. */
    auth: AccountCloudAuthRequest
    /** The ARN of the bucket. */
    bucket_arn: string
    /** The prefix of the object names. */
    object_prefix?: string | null
    /** Whether to compress objects with gzip. */
    compression?: boolean | null
    /** The maximum size of an object in bytes. */
    max_file_size?: number | null
    /** The maximum time in seconds before an object is written. */
    max_file_age?: number | null
  } | null
  /** An HTTP endpoint that receives signed requests. */
  webhook?: {
    /** The URL that receives the events. */
    url: string
    /** The secret with which requests are signed. Never shown again. */
    secret?: string
  } | null
}

export interface EventDestinationRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The format of events. The only supported format is json. */
  format?: string | null
  /** Where the events are sent. Choose exactly one target. */
  target: AccountEventTargetRequest
}

export interface EventSubscriptionRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** The events of the subscription. */
  sources?: ({
    /** The event type, such as ip_policy_created.v0. */
    type: string
    /** For traffic events only: a CEL expression that selects the events to send. */
    filter?: string | null
    /** For traffic events only: the fields to send. */
    fields?: string[] | null
  })[] | null
  /** The destinations that receive the events. */
  destination_ids?: string[] | null
}

export interface UserRequest {
  /** The email address, which is also the sign-in name. */
  email: string
  /** The display name. */
  name?: string | null
  /** What the user may do: read the account, change it, or administer it. */
  role?: "read_only" | "developer" | "admin" | null
  /** Inactive users can neither sign in nor use their credentials. */
  active?: boolean | null
}

export interface BotUserRequest {
  /** The program or service that the bot user represents. */
  name: string
  /** What its credentials may do: read the account, change it, or administer it. */
  role?: "read_only" | "developer" | "admin" | null
  /** An inactive bot user cannot use its credentials. */
  active?: boolean | null
}

export interface KubernetesOperatorRequest {
  /** What it is for. Shown in lists. At most 255 bytes. */
  description?: string | null
  /** Free text for your own programs, often JSON. At most 4096 bytes. */
  metadata?: string | null
  /** What the operator does in its cluster: ingress, gateway, bindings. */
  enabled_features?: string[] | null
  /** The region that the operator connects to. */
  region?: string | null
  /** Where the operator runs. */
  deployment?: OperatorDeploymentRequest | null
  /** Which endpoints are bound to the cluster. Without it, none are. */
  binding?: OperatorBindingRequest | null
}

export interface AccountDocumentRequest {
  /** Whether to return the plan and change nothing. */
  dry_run?: boolean
  /** Whether to delete resources that an earlier document had and this one does not. */
  prune?: boolean
  /** Keys with which programs call this API. */
  api_keys?: Record<string, APIKeyRequest>
  /** Authtokens with which agents start tunnels, and the addresses that each of them may bind. */
  credentials?: Record<string, TunnelCredentialRequest>
  /** Public keys with which SSH clients start tunnels without an agent. */
  ssh_credentials?: Record<string, SSHCredentialRequest>
  /** Named sets of address ranges to allow or deny. */
  ip_policies?: Record<string, IPPolicyRequest>
  /** The address ranges of IP policies. */
  ip_policy_rules?: Record<string, IPPolicyRuleRequest>
  /** The addresses from which the API, the dashboard, agents and endpoints can be used. */
  ip_restrictions?: Record<string, IPRestrictionRequest>
  /** Public TCP addresses that belong to the account. */
  reserved_addrs?: Record<string, ReservedAddressRequest>
  /** Host names that belong to the account, with their certificates. */
  reserved_domains?: Record<string, ReservedDomainRequest>
  /** Modules for the endpoints of agents at reserved domains and addresses. Kept for older clients; use edges instead. */
  endpoint_configurations?: Record<string, EndpointConfigurationRequest>
  /** Custom host names at which agents connect. */
  agent_ingresses?: Record<string, AgentIngressRequest>
  /** Public addresses that are online, served by agents, edges or cloud endpoints. */
  endpoints?: Record<string, EndpointRequest>
  /** Authorities whose client certificates edges accept. */
  certificate_authorities?: Record<string, CertificateAuthorityRequest>
  /** Uploaded and automatically issued TLS certificates. */
  tls_certificates?: Record<string, TLSCertificateRequest>
  /** Authorities that sign SSH certificates. */
  ssh_certificate_authorities?: Record<string, SSHCertificateAuthorityRequest>
  /** SSH certificates with which people sign in to servers. */
  ssh_user_certificates?: Record<string, SSHUserCertificateRequest>
  /** SSH certificates that identify servers. */
  ssh_host_certificates?: Record<string, SSHHostCertificateRequest>
  /** Public entry points for HTTP over TLS. */
  edges_https?: Record<string, HTTPSEdgeRequest>
  /** The paths of HTTPS edges, with their modules and backends. */
  edges_https_routes?: Record<string, HTTPSEdgeRouteRequest>
  /** Public entry points for any protocol over TLS. */
  edges_tls?: Record<string, TLSEdgeRequest>
  /** Public entry points for any protocol over TCP. */
  edges_tcp?: Record<string, TCPEdgeRequest>
  /** Backends that return a fixed response. */
  backends_http_response?: Record<string, HTTPResponseBackendRequest>
  /** Backends that send traffic to all tunnels with the same labels. */
  backends_tunnel_group?: Record<string, TunnelGroupBackendRequest>
  /** Backends that split traffic by weight. */
  backends_weighted?: Record<string, WeightedBackendRequest>
  /** Backends that send traffic to the first child backend that is online. */
  backends_failover?: Record<string, FailoverBackendRequest>
  /** Backends that send traffic to an address that the server can reach. */
  backends_static?: Record<string, StaticBackendRequest>
  /** Pages that replace the error pages of the platform on the hosts of the account. */
  error_pages?: Record<string, ErrorPageRequest>
  /** Named collections of secrets. */
  vaults?: Record<string, VaultRequest>
  /** Secret values that traffic policies read. */
  vault_secrets?: Record<string, VaultSecretRequest>
  /** Where events are sent. */
  event_destinations?: Record<string, EventDestinationRequest>
  /** Which events are sent to which destinations. */
  event_subscriptions?: Record<string, EventSubscriptionRequest>
  /** People with access to the account. */
  users?: Record<string, UserRequest>
  /** Users for programs. */
  bot_users?: Record<string, BotUserRequest>
  /** Operators in Kubernetes clusters that manage endpoints for them. */
  kubernetes_operators?: Record<string, KubernetesOperatorRequest>
}

export interface AccountChange {
  /** What happens to the resource. */
  action: "create" | "update" | "delete"
  /** Whether the change is planned, done, or was rejected. */
  status: "planned" | "done" | "failed"
  /** The kind of the resource. */
  kind: string
  /** The name of the resource in the document. */
  name: string
  /** The ID of the resource; null before it is created. */
  id: string | null
  /** The fields that differ. */
  fields: {
    /** The path of the field. */
    field: string
    /** The value in the account; null if it is unset or secret. */
    old: unknown
    /** The value in the document; null if it is unset or secret. */
    new: unknown
    /** Whether the field is a secret, whose values are not shown. */
    secret: boolean
  }[]
  /** The tokens of a new credential, which no later response contains. */
  shown_once: Record<string, string>
  /** Why the change was rejected; null if it was not. */
  error: {
    /** The error code. */
    error_code: string
    /** The cause in one sentence. */
    msg: string
    /** The field that is invalid; null if none is. */
    field: string | null
  } | null
}

export interface AccountReport {
  /** Whether this is a plan: nothing was changed. */
  dry_run: boolean
  /** How many resources were created, or would be. */
  created: number
  /** How many resources were updated, or would be. */
  updated: number
  /** How many resources were deleted, or would be. */
  deleted: number
  /** How many resources already match the document. */
  unchanged: number
  /** How many changes were rejected. */
  failed: number
  /** Every change, in the order in which they are made. */
  changes: AccountChange[]
}

export interface AccountExport {
  /** The document of the account, as POST /apply accepts it. */
  document: Record<string, unknown>
  /** The paths of the secrets that the document leaves out. */
  omitted_secrets: string[]
}

export interface Problem {
  /** The error code, explained in the list of error codes. */
  error_code: string
  /** The HTTP status. */
  status_code: number
  /** The cause and the next step. */
  msg: string
  /** Details for programs, such as the invalid field. */
  details: Record<string, string>
}

/** Every operation of the management API, grouped by resource. */
export interface Operations {
  /** Keys with which programs call this API. */
  readonly apiKeys: {
    /** Create an API key. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
      owner_id?: string | null
    }, options?: CallOptions): Promise<APIKey>
    /** List API keys: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'keys', APIKey>>
    /** List API keys: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<APIKey>
    /** Get an API key. */
    get(id: string, options?: CallOptions): Promise<APIKey>
    /** Update an API key. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<APIKey>
    /** Delete an API key. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Authtokens with which agents start tunnels, and the addresses that each of them may bind. */
  readonly credentials: {
    /** Create a tunnel credential. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
      acl?: string[] | null
      /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
      owner_id?: string | null
    }, options?: CallOptions): Promise<TunnelCredential>
    /** List tunnel credentials: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'credentials', TunnelCredential>>
    /** List tunnel credentials: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<TunnelCredential>
    /** Get a tunnel credential. */
    get(id: string, options?: CallOptions): Promise<TunnelCredential>
    /** Update a tunnel credential. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
      acl?: string[] | null
    }, options?: CallOptions): Promise<TunnelCredential>
    /** Delete a tunnel credential. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Public keys with which SSH clients start tunnels without an agent. */
  readonly sshCredentials: {
    /** Create an SSH credential. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The public key on one line, as in an authorized_keys file. */
      public_key: string
      /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
      acl?: string[] | null
      /** The user or bot user that owns it; you by default. Only administrators can choose another owner. */
      owner_id?: string | null
    }, options?: CallOptions): Promise<SSHCredential>
    /** List SSH credentials: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ssh_credentials', SSHCredential>>
    /** List SSH credentials: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<SSHCredential>
    /** Get an SSH credential. */
    get(id: string, options?: CallOptions): Promise<SSHCredential>
    /** Update an SSH credential. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound. */
      acl?: string[] | null
    }, options?: CallOptions): Promise<SSHCredential>
    /** Delete an SSH credential. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Named sets of address ranges to allow or deny. */
  readonly ipPolicies: {
    /** Create an IP policy. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<IPPolicy>
    /** List IP policies: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ip_policies', IPPolicy>>
    /** List IP policies: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<IPPolicy>
    /** Get an IP policy. */
    get(id: string, options?: CallOptions): Promise<IPPolicy>
    /** Update an IP policy. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<IPPolicy>
    /** Delete an IP policy. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** The address ranges of IP policies. */
  readonly ipPolicyRules: {
    /** Create an IP policy rule. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** An IP address or a range in CIDR notation, such as 203.0.113.0/24 or 2001:db8::/32. */
      cidr: string
      /** Whether the range is allowed or denied. A deny rule takes precedence. */
      action: "allow" | "deny"
      /** The IP policy that the rule belongs to. */
      ip_policy_id: string
    }, options?: CallOptions): Promise<IPPolicyRule>
    /** List IP policy rules: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ip_policy_rules', IPPolicyRule>>
    /** List IP policy rules: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<IPPolicyRule>
    /** Get an IP policy rule. */
    get(id: string, options?: CallOptions): Promise<IPPolicyRule>
    /** Update an IP policy rule. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** An IP address or a range in CIDR notation, such as 203.0.113.0/24 or 2001:db8::/32. */
      cidr?: string | null
    }, options?: CallOptions): Promise<IPPolicyRule>
    /** Delete an IP policy rule. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** The addresses from which the API, the dashboard, agents and endpoints can be used. */
  readonly ipRestrictions: {
    /** Create an IP restriction. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** A restriction has no effect until it is enforced. Make sure that your own address is allowed: you can lock yourself out. */
      enforced?: boolean | null
      /** What is restricted: API calls, the dashboard, agent connections, or public endpoints. */
      type: "dashboard" | "api" | "agent" | "endpoints"
      /** The IP policies, of which at least one must allow the address. */
      ip_policy_ids: string[]
    }, options?: CallOptions): Promise<IPRestriction>
    /** List IP restrictions: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ip_restrictions', IPRestriction>>
    /** List IP restrictions: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<IPRestriction>
    /** Get an IP restriction. */
    get(id: string, options?: CallOptions): Promise<IPRestriction>
    /** Update an IP restriction. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** A restriction has no effect until it is enforced. Make sure that your own address is allowed: you can lock yourself out. */
      enforced?: boolean | null
      /** The IP policies, of which at least one must allow the address. */
      ip_policy_ids?: string[] | null
    }, options?: CallOptions): Promise<IPRestriction>
    /** Delete an IP restriction. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Public TCP addresses that belong to the account. */
  readonly reservedAddrs: {
    /** Create a reserved address. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** Accepted for compatibility; it has no effect. */
      region?: "au" | "eu" | "ap" | "us" | "jp" | "in" | "sa" | null
      /** The endpoint configuration of type tcp whose modules apply to the endpoints at this address. */
      endpoint_configuration_id?: string | null
    }, options?: CallOptions): Promise<ReservedAddress>
    /** List reserved addresses: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'reserved_addrs', ReservedAddress>>
    /** List reserved addresses: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<ReservedAddress>
    /** Get a reserved address. */
    get(id: string, options?: CallOptions): Promise<ReservedAddress>
    /** Update a reserved address. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The endpoint configuration of type tcp whose modules apply to the endpoints at this address. */
      endpoint_configuration_id?: string | null
    }, options?: CallOptions): Promise<ReservedAddress>
    /** Delete a reserved address. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly endpointConfiguration: {
      /** Detach the endpoint_configuration of a reserved address. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Host names that belong to the account, with their certificates. */
  readonly reservedDomains: {
    /** Create a reserved domain. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The host name, such as app.example.com or *.example.com. */
      domain: string
      /** Accepted for compatibility; it has no effect. */
      region?: "au" | "eu" | "ap" | "us" | "jp" | "in" | "sa" | null
      /** The endpoint configuration of type http whose modules apply to the endpoints at this domain. */
      http_endpoint_configuration_id?: string | null
      /** The endpoint configuration of type https whose modules apply to the endpoints at this domain. */
      https_endpoint_configuration_id?: string | null
      /** An uploaded TLS certificate to serve. */
      certificate_id?: string | null
      /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
      certificate_management_policy?: {
        /** The certificate authority to request certificates from. */
        authority?: "letsencrypt" | null
        /** The key type of issued certificates. */
        private_key_type?: "rsa" | "ecdsa" | null
      } | null
      /** Accepted for compatibility; it has no effect. */
      resolves_to?: ReservedDomainResolvesToRequest[] | null
    }, options?: CallOptions): Promise<ReservedDomain>
    /** List reserved domains: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'reserved_domains', ReservedDomain>>
    /** List reserved domains: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<ReservedDomain>
    /** Get a reserved domain. */
    get(id: string, options?: CallOptions): Promise<ReservedDomain>
    /** Update a reserved domain. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The endpoint configuration of type http whose modules apply to the endpoints at this domain. */
      http_endpoint_configuration_id?: string | null
      /** The endpoint configuration of type https whose modules apply to the endpoints at this domain. */
      https_endpoint_configuration_id?: string | null
      /** An uploaded TLS certificate to serve. */
      certificate_id?: string | null
      /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
      certificate_management_policy?: {
        /** The certificate authority to request certificates from. */
        authority?: "letsencrypt" | null
        /** The key type of issued certificates. */
        private_key_type?: "rsa" | "ecdsa" | null
      } | null
      /** Accepted for compatibility; it has no effect. */
      resolves_to?: ReservedDomainResolvesToRequest[] | null
    }, options?: CallOptions): Promise<ReservedDomain>
    /** Delete a reserved domain. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly certificate: {
      /** Detach the certificate of a reserved domain. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly certificateManagementPolicy: {
      /** Detach the certificate_management_policy of a reserved domain. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly httpEndpointConfiguration: {
      /** Detach the http_endpoint_configuration of a reserved domain. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly httpsEndpointConfiguration: {
      /** Detach the https_endpoint_configuration of a reserved domain. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Modules for the endpoints of agents at reserved domains and addresses. Kept for older clients; use edges instead. */
  readonly endpointConfigurations: {
    /** Create an endpoint configuration. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The protocol. */
      type: "http" | "https" | "tcp"
      /** Asks visitors for a user name and password of the agent. */
      basic_auth?: BasicAuthModuleRequest | null
      /** Stops sending requests to a backend that returns too many errors. */
      circuit_breaker?: CircuitBreakerModuleRequest | null
      /** Compresses responses. */
      compression?: CompressionModuleRequest | null
      /** Adds and removes request headers. */
      request_headers?: RequestHeadersModuleRequest | null
      /** Adds and removes response headers. */
      response_headers?: ResponseHeadersModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_policy?: IpRestrictionModuleRequest | null
      /** Requires a client certificate. */
      mutual_tls?: MutualTlsModuleRequest | null
      /** Where TLS terminates, and the minimum version. */
      tls_termination?: TlsTerminationModuleRequest | null
      /** Accepts only webhooks with a valid signature. */
      webhook_validation?: WebhookVerificationModuleRequest | null
      /** Requires visitors to sign in at an OAuth provider. */
      oauth?: OauthModuleRequest | null
      /** Requires visitors to sign in at a SAML identity provider. */
      saml?: SamlModuleRequest | null
      /** Requires visitors to sign in at an OpenID Connect provider. */
      oidc?: OidcModuleRequest | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
    }, options?: CallOptions): Promise<EndpointConfiguration>
    /** List endpoint configurations: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'endpoint_configurations', EndpointConfiguration>>
    /** List endpoint configurations: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<EndpointConfiguration>
    /** Get an endpoint configuration. */
    get(id: string, options?: CallOptions): Promise<EndpointConfiguration>
    /** Update an endpoint configuration. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** Asks visitors for a user name and password of the agent. */
      basic_auth?: BasicAuthModuleRequest | null
      /** Stops sending requests to a backend that returns too many errors. */
      circuit_breaker?: CircuitBreakerModuleRequest | null
      /** Compresses responses. */
      compression?: CompressionModuleRequest | null
      /** Adds and removes request headers. */
      request_headers?: RequestHeadersModuleRequest | null
      /** Adds and removes response headers. */
      response_headers?: ResponseHeadersModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_policy?: IpRestrictionModuleRequest | null
      /** Requires a client certificate. */
      mutual_tls?: MutualTlsModuleRequest | null
      /** Where TLS terminates, and the minimum version. */
      tls_termination?: TlsTerminationModuleRequest | null
      /** Accepts only webhooks with a valid signature. */
      webhook_validation?: WebhookVerificationModuleRequest | null
      /** Requires visitors to sign in at an OAuth provider. */
      oauth?: OauthModuleRequest | null
      /** Requires visitors to sign in at a SAML identity provider. */
      saml?: SamlModuleRequest | null
      /** Requires visitors to sign in at an OpenID Connect provider. */
      oidc?: OidcModuleRequest | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
    }, options?: CallOptions): Promise<EndpointConfiguration>
    /** Delete an endpoint configuration. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly basicAuth: {
      /** Replace the basic_auth module of an endpoint configuration. */
      replace(id: string, body?: BasicAuthModuleRequest, options?: CallOptions): Promise<BasicAuthModule>
      /** Get the basic_auth module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<BasicAuthModule>
      /** Delete the basic_auth module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly circuitBreaker: {
      /** Replace the circuit_breaker module of an endpoint configuration. */
      replace(id: string, body?: CircuitBreakerModuleRequest, options?: CallOptions): Promise<CircuitBreakerModule>
      /** Get the circuit_breaker module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<CircuitBreakerModule>
      /** Delete the circuit_breaker module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly compression: {
      /** Replace the compression module of an endpoint configuration. */
      replace(id: string, body?: CompressionModuleRequest, options?: CallOptions): Promise<CompressionModule>
      /** Get the compression module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<CompressionModule>
      /** Delete the compression module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly requestHeaders: {
      /** Replace the request_headers module of an endpoint configuration. */
      replace(id: string, body?: RequestHeadersModuleRequest, options?: CallOptions): Promise<RequestHeadersModule>
      /** Get the request_headers module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<RequestHeadersModule>
      /** Delete the request_headers module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly responseHeaders: {
      /** Replace the response_headers module of an endpoint configuration. */
      replace(id: string, body?: ResponseHeadersModuleRequest, options?: CallOptions): Promise<ResponseHeadersModule>
      /** Get the response_headers module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<ResponseHeadersModule>
      /** Delete the response_headers module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly ipPolicy: {
      /** Replace the ip_policy module of an endpoint configuration. */
      replace(id: string, body: IpRestrictionModuleRequest, options?: CallOptions): Promise<IpRestrictionModule>
      /** Get the ip_policy module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<IpRestrictionModule>
      /** Delete the ip_policy module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly mutualTls: {
      /** Replace the mutual_tls module of an endpoint configuration. */
      replace(id: string, body: MutualTlsModuleRequest, options?: CallOptions): Promise<MutualTlsModule>
      /** Get the mutual_tls module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<MutualTlsModule>
      /** Delete the mutual_tls module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly tlsTermination: {
      /** Replace the tls_termination module of an endpoint configuration. */
      replace(id: string, body?: TlsTerminationModuleRequest, options?: CallOptions): Promise<TlsTerminationModule>
      /** Get the tls_termination module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<TlsTerminationModule>
      /** Delete the tls_termination module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly webhookValidation: {
      /** Replace the webhook_validation module of an endpoint configuration. */
      replace(id: string, body: WebhookVerificationModuleRequest, options?: CallOptions): Promise<WebhookVerificationModule>
      /** Get the webhook_validation module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<WebhookVerificationModule>
      /** Delete the webhook_validation module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly oauth: {
      /** Replace the oauth module of an endpoint configuration. */
      replace(id: string, body: OauthModuleRequest, options?: CallOptions): Promise<OauthModule>
      /** Get the oauth module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<OauthModule>
      /** Delete the oauth module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly saml: {
      /** Replace the saml module of an endpoint configuration. */
      replace(id: string, body?: SamlModuleRequest, options?: CallOptions): Promise<SamlModule>
      /** Get the saml module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<SamlModule>
      /** Delete the saml module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly oidc: {
      /** Replace the oidc module of an endpoint configuration. */
      replace(id: string, body: OidcModuleRequest, options?: CallOptions): Promise<OidcModule>
      /** Get the oidc module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<OidcModule>
      /** Delete the oidc module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly backend: {
      /** Replace the backend module of an endpoint configuration. */
      replace(id: string, body: BackendModuleRequest, options?: CallOptions): Promise<BackendModule>
      /** Get the backend module of an endpoint configuration. */
      get(id: string, options?: CallOptions): Promise<BackendModule>
      /** Delete the backend module of an endpoint configuration. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Custom host names at which agents connect. */
  readonly agentIngresses: {
    /** Create an agent ingress. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The host name through which your agents connect, such as connect.example.com. */
      domain: string
      /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
      certificate_management_policy?: {
        /** The certificate authority to request certificates from. */
        authority?: "letsencrypt" | null
        /** The key type of issued certificates. */
        private_key_type?: "rsa" | "ecdsa" | null
      } | null
    }, options?: CallOptions): Promise<AgentIngress>
    /** List agent ingresses: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ingresses', AgentIngress>>
    /** List agent ingresses: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<AgentIngress>
    /** Get an agent ingress. */
    get(id: string, options?: CallOptions): Promise<AgentIngress>
    /** Update an agent ingress. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** How certificates are issued and renewed automatically. Leave it unset to use certificates of your own. */
      certificate_management_policy?: {
        /** The certificate authority to request certificates from. */
        authority?: "letsencrypt" | null
        /** The key type of issued certificates. */
        private_key_type?: "rsa" | "ecdsa" | null
      } | null
    }, options?: CallOptions): Promise<AgentIngress>
    /** Delete an agent ingress. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly certificateManagementPolicy: {
      /** Detach the certificate_management_policy of an agent ingress. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Public addresses that are online, served by agents, edges or cloud endpoints. */
  readonly endpoints: {
    /** Create an endpoint. */
    create(body: {
      /** Whether the endpoint belongs to an agent (ephemeral), to an edge, or is a cloud endpoint. Only cloud endpoints can be created. */
      type?: string | null
      /** The URL, such as https://app.example.com for a reserved domain, tcp://1.tcp.example.com:20000 for a reserved address or https://app.internal. The scheme of a cloud endpoint cannot be changed. */
      url: string
      /** Where the endpoint is reachable: by visitors (public), by traffic policies of the account (internal), or in Kubernetes clusters whose operator selects it (kubernetes). By default names below .internal are internal. */
      bindings?: ("public" | "internal" | "kubernetes")[] | null
      /** Whether several endpoints, including those of agents, can share the URL. */
      pooling_enabled?: boolean | null
      /** Its share of the traffic where endpoints share the URL, relative to the others; from 0 to 10000. An endpoint with weight 0 gets traffic only while all others have weight 0 or are unreachable. */
      pooling_weight?: number | null
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The traffic policy, in YAML or JSON. The policy of a cloud endpoint must end every request or connection; other endpoints may have none. */
      traffic_policy: string | null
    }, options?: CallOptions): Promise<Endpoint>
    /** List endpoints: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
      /** Only items with one of these values of `id`. May be repeated. */
      id?: string[]
      /** Only items with one of these values of `url`. May be repeated. */
      url?: string[]
    }, options?: CallOptions): Promise<Page<'endpoints', Endpoint>>
    /** List endpoints: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
      /** Only items with one of these values of `id`. May be repeated. */
      id?: string[]
      /** Only items with one of these values of `url`. May be repeated. */
      url?: string[]
    }, options?: CallOptions): AsyncIterable<Endpoint>
    /** Get an endpoint. */
    get(id: string, options?: CallOptions): Promise<Endpoint>
    /** Update an endpoint. */
    update(id: string, body?: {
      /** The URL, such as https://app.example.com for a reserved domain, tcp://1.tcp.example.com:20000 for a reserved address or https://app.internal. The scheme of a cloud endpoint cannot be changed. */
      url?: string | null
      /** Where the endpoint is reachable: by visitors (public), by traffic policies of the account (internal), or in Kubernetes clusters whose operator selects it (kubernetes). By default names below .internal are internal. */
      bindings?: ("public" | "internal" | "kubernetes")[] | null
      /** Whether several endpoints, including those of agents, can share the URL. */
      pooling_enabled?: boolean | null
      /** Its share of the traffic where endpoints share the URL, relative to the others; from 0 to 10000. An endpoint with weight 0 gets traffic only while all others have weight 0 or are unreachable. */
      pooling_weight?: number | null
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The traffic policy, in YAML or JSON. The policy of a cloud endpoint must end every request or connection; other endpoints may have none. */
      traffic_policy?: string | null
    }, options?: CallOptions): Promise<Endpoint>
    /** Delete an endpoint. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Authorities whose client certificates edges accept. */
  readonly certificateAuthorities: {
    /** Create a certificate authority. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The certificate of the authority in PEM format. */
      ca_pem: string
    }, options?: CallOptions): Promise<CertificateAuthority>
    /** List certificate authorities: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'certificate_authorities', CertificateAuthority>>
    /** List certificate authorities: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<CertificateAuthority>
    /** Get a certificate authority. */
    get(id: string, options?: CallOptions): Promise<CertificateAuthority>
    /** Update a certificate authority. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<CertificateAuthority>
    /** Delete a certificate authority. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Uploaded and automatically issued TLS certificates. */
  readonly tlsCertificates: {
    /** Create a TLS certificate. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The certificate in PEM format, followed by its intermediate certificates. */
      certificate_pem: string
      /** The private key in PEM format. It is stored encrypted and never shown again. */
      private_key_pem: string
    }, options?: CallOptions): Promise<TLSCertificate>
    /** List TLS certificates: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'tls_certificates', TLSCertificate>>
    /** List TLS certificates: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<TLSCertificate>
    /** Get a TLS certificate. */
    get(id: string, options?: CallOptions): Promise<TLSCertificate>
    /** Update a TLS certificate. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<TLSCertificate>
    /** Delete a TLS certificate. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Authorities that sign SSH certificates. */
  readonly sshCertificateAuthorities: {
    /** Create an SSH certificate authority. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The type of the key to generate. */
      private_key_type?: "rsa" | "ecdsa" | "ed25519" | null
      /** The curve of an ECDSA key. */
      elliptic_curve?: "p256" | "p384" | "p521" | null
      /** The size of an RSA key in bits. */
      key_size?: 2048 | 4096 | null
    }, options?: CallOptions): Promise<SSHCertificateAuthority>
    /** List SSH certificate authorities: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ssh_certificate_authorities', SSHCertificateAuthority>>
    /** List SSH certificate authorities: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<SSHCertificateAuthority>
    /** Get an SSH certificate authority. */
    get(id: string, options?: CallOptions): Promise<SSHCertificateAuthority>
    /** Update an SSH certificate authority. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<SSHCertificateAuthority>
    /** Delete an SSH certificate authority. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** SSH certificates with which people sign in to servers. */
  readonly sshUserCertificates: {
    /** Create an SSH user certificate. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The public key on one line, as in an authorized_keys file. */
      public_key: string
      /** The SSH authority that signs the certificate. */
      ssh_certificate_authority_id: string
      /** The user names that the holder may sign in as. Without names, the certificate is valid for all of them. */
      principals?: string[] | null
      /** Critical options of the certificate: force-command and source-address. */
      critical_options?: Record<string, string> | null
      /** Extensions of the certificate. Default: permit-pty and permit-user-rc. Most have no value. */
      extensions?: Record<string, string> | null
      /** The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now. */
      valid_after?: string | null
      /** The end of the validity period, such as 2027-01-31T12:00:00Z. Default: 24 hours after the start. */
      valid_until?: string | null
    }, options?: CallOptions): Promise<SSHUserCertificate>
    /** List SSH user certificates: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ssh_user_certificates', SSHUserCertificate>>
    /** List SSH user certificates: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<SSHUserCertificate>
    /** Get an SSH user certificate. */
    get(id: string, options?: CallOptions): Promise<SSHUserCertificate>
    /** Update an SSH user certificate. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<SSHUserCertificate>
    /** Delete an SSH user certificate. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** SSH certificates that identify servers. */
  readonly sshHostCertificates: {
    /** Create an SSH host certificate. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The public key on one line, as in an authorized_keys file. */
      public_key: string
      /** The SSH authority that signs the certificate. */
      ssh_certificate_authority_id: string
      /** The host names that the certificate is valid for. Without names, it is valid for all of them. */
      principals?: string[] | null
      /** The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now. */
      valid_after?: string | null
      /** The end of the validity period, such as 2027-01-31T12:00:00Z. Default: one year after the start. */
      valid_until?: string | null
    }, options?: CallOptions): Promise<SSHHostCertificate>
    /** List SSH host certificates: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'ssh_host_certificates', SSHHostCertificate>>
    /** List SSH host certificates: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<SSHHostCertificate>
    /** Get an SSH host certificate. */
    get(id: string, options?: CallOptions): Promise<SSHHostCertificate>
    /** Update an SSH host certificate. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<SSHHostCertificate>
    /** Delete an SSH host certificate. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Public entry points for HTTP over TLS. */
  readonly edgesHttps: {
    /** Create an HTTPS edge. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
      hostports?: string[] | null
      /** Requires a client certificate. */
      mutual_tls?: MutualTlsModuleRequest | null
      /** Where TLS terminates, and the minimum version. */
      tls_termination?: TlsTerminationModuleRequest | null
    }, options?: CallOptions): Promise<HTTPSEdge>
    /** List HTTPS edges: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'https_edges', HTTPSEdge>>
    /** List HTTPS edges: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<HTTPSEdge>
    /** Get an HTTPS edge. */
    get(id: string, options?: CallOptions): Promise<HTTPSEdge>
    /** Update an HTTPS edge. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
      hostports?: string[] | null
      /** Requires a client certificate. */
      mutual_tls?: MutualTlsModuleRequest | null
      /** Where TLS terminates, and the minimum version. */
      tls_termination?: TlsTerminationModuleRequest | null
    }, options?: CallOptions): Promise<HTTPSEdge>
    /** Delete an HTTPS edge. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly mutualTls: {
      /** Replace the mutual_tls module of an HTTPS edge. */
      replace(id: string, body: MutualTlsModuleRequest, options?: CallOptions): Promise<MutualTlsModule>
      /** Get the mutual_tls module of an HTTPS edge. */
      get(id: string, options?: CallOptions): Promise<MutualTlsModule>
      /** Delete the mutual_tls module of an HTTPS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly tlsTermination: {
      /** Replace the tls_termination module of an HTTPS edge. */
      replace(id: string, body?: TlsTerminationModuleRequest, options?: CallOptions): Promise<TlsTerminationModule>
      /** Get the tls_termination module of an HTTPS edge. */
      get(id: string, options?: CallOptions): Promise<TlsTerminationModule>
      /** Delete the tls_termination module of an HTTPS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** The paths of HTTPS edges, with their modules and backends. */
  readonly edgesHttpsRoutes: {
    /** Create an HTTPS edge route. */
    create(edgeId: string, body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** Whether the request path must be equal to this path or only start with it. */
      match_type: "exact_path" | "path_prefix"
      /** A path such as / or /api/. Prefixes match character by character, so /api also matches /apix. */
      match: string
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_restriction?: IpRestrictionModuleRequest | null
      /** Stops sending requests to a backend that returns too many errors. */
      circuit_breaker?: CircuitBreakerModuleRequest | null
      /** Compresses responses. */
      compression?: CompressionModuleRequest | null
      /** Adds and removes request headers. */
      request_headers?: RequestHeadersModuleRequest | null
      /** Adds and removes response headers. */
      response_headers?: ResponseHeadersModuleRequest | null
      /** Accepts only webhooks with a valid signature. */
      webhook_verification?: WebhookVerificationModuleRequest | null
      /** Requires visitors to sign in at an OAuth provider. */
      oauth?: OauthModuleRequest | null
      /** Requires visitors to sign in at a SAML identity provider. */
      saml?: SamlModuleRequest | null
      /** Requires visitors to sign in at an OpenID Connect provider. */
      oidc?: OidcModuleRequest | null
      /** Connects WebSocket clients to a raw TCP service. */
      websocket_tcp_converter?: WebsocketTcpConverterModuleRequest | null
      /** Rejects clients by their User-Agent header. */
      user_agent_filter?: UserAgentFilterModuleRequest | null
      /** Admits only requests with valid JSON Web Tokens from an issuer of your choice. */
      jwt_validation?: JwtValidationModuleRequest | null
      /** Runs the rules of a traffic policy. */
      traffic_policy?: TrafficPolicyModuleRequest | null
    }, options?: CallOptions): Promise<HTTPSEdgeRoute>
    /** Get an HTTPS edge route. */
    get(edgeId: string, id: string, options?: CallOptions): Promise<HTTPSEdgeRoute>
    /** Update an HTTPS edge route. */
    update(edgeId: string, id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** Whether the request path must be equal to this path or only start with it. */
      match_type?: "exact_path" | "path_prefix" | null
      /** A path such as / or /api/. Prefixes match character by character, so /api also matches /apix. */
      match?: string | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_restriction?: IpRestrictionModuleRequest | null
      /** Stops sending requests to a backend that returns too many errors. */
      circuit_breaker?: CircuitBreakerModuleRequest | null
      /** Compresses responses. */
      compression?: CompressionModuleRequest | null
      /** Adds and removes request headers. */
      request_headers?: RequestHeadersModuleRequest | null
      /** Adds and removes response headers. */
      response_headers?: ResponseHeadersModuleRequest | null
      /** Accepts only webhooks with a valid signature. */
      webhook_verification?: WebhookVerificationModuleRequest | null
      /** Requires visitors to sign in at an OAuth provider. */
      oauth?: OauthModuleRequest | null
      /** Requires visitors to sign in at a SAML identity provider. */
      saml?: SamlModuleRequest | null
      /** Requires visitors to sign in at an OpenID Connect provider. */
      oidc?: OidcModuleRequest | null
      /** Connects WebSocket clients to a raw TCP service. */
      websocket_tcp_converter?: WebsocketTcpConverterModuleRequest | null
      /** Rejects clients by their User-Agent header. */
      user_agent_filter?: UserAgentFilterModuleRequest | null
      /** Admits only requests with valid JSON Web Tokens from an issuer of your choice. */
      jwt_validation?: JwtValidationModuleRequest | null
      /** Runs the rules of a traffic policy. */
      traffic_policy?: TrafficPolicyModuleRequest | null
    }, options?: CallOptions): Promise<HTTPSEdgeRoute>
    /** Delete an HTTPS edge route. */
    delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    readonly backend: {
      /** Replace the backend module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: BackendModuleRequest, options?: CallOptions): Promise<BackendModule>
      /** Get the backend module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<BackendModule>
      /** Delete the backend module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly ipRestriction: {
      /** Replace the ip_restriction module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: IpRestrictionModuleRequest, options?: CallOptions): Promise<IpRestrictionModule>
      /** Get the ip_restriction module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<IpRestrictionModule>
      /** Delete the ip_restriction module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly circuitBreaker: {
      /** Replace the circuit_breaker module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: CircuitBreakerModuleRequest, options?: CallOptions): Promise<CircuitBreakerModule>
      /** Get the circuit_breaker module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<CircuitBreakerModule>
      /** Delete the circuit_breaker module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly compression: {
      /** Replace the compression module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: CompressionModuleRequest, options?: CallOptions): Promise<CompressionModule>
      /** Get the compression module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<CompressionModule>
      /** Delete the compression module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly requestHeaders: {
      /** Replace the request_headers module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: RequestHeadersModuleRequest, options?: CallOptions): Promise<RequestHeadersModule>
      /** Get the request_headers module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<RequestHeadersModule>
      /** Delete the request_headers module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly responseHeaders: {
      /** Replace the response_headers module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: ResponseHeadersModuleRequest, options?: CallOptions): Promise<ResponseHeadersModule>
      /** Get the response_headers module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<ResponseHeadersModule>
      /** Delete the response_headers module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly webhookVerification: {
      /** Replace the webhook_verification module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: WebhookVerificationModuleRequest, options?: CallOptions): Promise<WebhookVerificationModule>
      /** Get the webhook_verification module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<WebhookVerificationModule>
      /** Delete the webhook_verification module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly oauth: {
      /** Replace the oauth module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: OauthModuleRequest, options?: CallOptions): Promise<OauthModule>
      /** Get the oauth module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<OauthModule>
      /** Delete the oauth module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly saml: {
      /** Replace the saml module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: SamlModuleRequest, options?: CallOptions): Promise<SamlModule>
      /** Get the saml module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<SamlModule>
      /** Delete the saml module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly oidc: {
      /** Replace the oidc module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: OidcModuleRequest, options?: CallOptions): Promise<OidcModule>
      /** Get the oidc module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<OidcModule>
      /** Delete the oidc module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly websocketTcpConverter: {
      /** Replace the websocket_tcp_converter module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: WebsocketTcpConverterModuleRequest, options?: CallOptions): Promise<WebsocketTcpConverterModule>
      /** Get the websocket_tcp_converter module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<WebsocketTcpConverterModule>
      /** Delete the websocket_tcp_converter module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly userAgentFilter: {
      /** Replace the user_agent_filter module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body?: UserAgentFilterModuleRequest, options?: CallOptions): Promise<UserAgentFilterModule>
      /** Get the user_agent_filter module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<UserAgentFilterModule>
      /** Delete the user_agent_filter module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly jwtValidation: {
      /** Replace the jwt_validation module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: JwtValidationModuleRequest, options?: CallOptions): Promise<JwtValidationModule>
      /** Get the jwt_validation module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<JwtValidationModule>
      /** Delete the jwt_validation module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
    readonly trafficPolicy: {
      /** Replace the traffic_policy module of an HTTPS edge route. */
      replace(edgeId: string, id: string, body: TrafficPolicyModuleRequest, options?: CallOptions): Promise<TrafficPolicyModule>
      /** Get the traffic_policy module of an HTTPS edge route. */
      get(edgeId: string, id: string, options?: CallOptions): Promise<TrafficPolicyModule>
      /** Delete the traffic_policy module of an HTTPS edge route. */
      delete(edgeId: string, id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Public entry points for any protocol over TLS. */
  readonly edgesTls: {
    /** Create a TLS edge. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
      hostports?: string[] | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_restriction?: IpRestrictionModuleRequest | null
      /** Requires a client certificate. */
      mutual_tls?: MutualTlsModuleRequest | null
      /** Where TLS terminates, and the minimum version. */
      tls_termination?: EdgesTlsTlsTerminationModuleRequest | null
      /** Runs the rules of a traffic policy. */
      traffic_policy?: EdgesTlsTrafficPolicyModuleRequest | null
    }, options?: CallOptions): Promise<TLSEdge>
    /** List TLS edges: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'tls_edges', TLSEdge>>
    /** List TLS edges: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<TLSEdge>
    /** Get a TLS edge. */
    get(id: string, options?: CallOptions): Promise<TLSEdge>
    /** Update a TLS edge. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
      hostports?: string[] | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_restriction?: IpRestrictionModuleRequest | null
      /** Requires a client certificate. */
      mutual_tls?: MutualTlsModuleRequest | null
      /** Where TLS terminates, and the minimum version. */
      tls_termination?: EdgesTlsTlsTerminationModuleRequest | null
      /** Runs the rules of a traffic policy. */
      traffic_policy?: EdgesTlsTrafficPolicyModuleRequest | null
    }, options?: CallOptions): Promise<TLSEdge>
    /** Delete a TLS edge. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly backend: {
      /** Replace the backend module of a TLS edge. */
      replace(id: string, body: BackendModuleRequest, options?: CallOptions): Promise<BackendModule>
      /** Get the backend module of a TLS edge. */
      get(id: string, options?: CallOptions): Promise<BackendModule>
      /** Delete the backend module of a TLS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly ipRestriction: {
      /** Replace the ip_restriction module of a TLS edge. */
      replace(id: string, body: IpRestrictionModuleRequest, options?: CallOptions): Promise<IpRestrictionModule>
      /** Get the ip_restriction module of a TLS edge. */
      get(id: string, options?: CallOptions): Promise<IpRestrictionModule>
      /** Delete the ip_restriction module of a TLS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly mutualTls: {
      /** Replace the mutual_tls module of a TLS edge. */
      replace(id: string, body: MutualTlsModuleRequest, options?: CallOptions): Promise<MutualTlsModule>
      /** Get the mutual_tls module of a TLS edge. */
      get(id: string, options?: CallOptions): Promise<MutualTlsModule>
      /** Delete the mutual_tls module of a TLS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly tlsTermination: {
      /** Replace the tls_termination module of a TLS edge. */
      replace(id: string, body?: EdgesTlsTlsTerminationModuleRequest, options?: CallOptions): Promise<EdgesTlsTlsTerminationModule>
      /** Get the tls_termination module of a TLS edge. */
      get(id: string, options?: CallOptions): Promise<EdgesTlsTlsTerminationModule>
      /** Delete the tls_termination module of a TLS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly trafficPolicy: {
      /** Replace the traffic_policy module of a TLS edge. */
      replace(id: string, body: EdgesTlsTrafficPolicyModuleRequest, options?: CallOptions): Promise<EdgesTlsTrafficPolicyModule>
      /** Get the traffic_policy module of a TLS edge. */
      get(id: string, options?: CallOptions): Promise<EdgesTlsTrafficPolicyModule>
      /** Delete the traffic_policy module of a TLS edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Public entry points for any protocol over TCP. */
  readonly edgesTcp: {
    /** Create a TCP edge. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
      hostports?: string[] | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_restriction?: IpRestrictionModuleRequest | null
      /** Runs the rules of a traffic policy. */
      traffic_policy?: EdgesTlsTrafficPolicyModuleRequest | null
    }, options?: CallOptions): Promise<TCPEdge>
    /** List TCP edges: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'tcp_edges', TCPEdge>>
    /** List TCP edges: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<TCPEdge>
    /** Get a TCP edge. */
    get(id: string, options?: CallOptions): Promise<TCPEdge>
    /** Update a TCP edge. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The addresses that the edge serves, each a host and a port: app.example.com:443. */
      hostports?: string[] | null
      /** Sends traffic to a backend. */
      backend?: BackendModuleRequest | null
      /** Allows only addresses that one of the IP policies allows. */
      ip_restriction?: IpRestrictionModuleRequest | null
      /** Runs the rules of a traffic policy. */
      traffic_policy?: EdgesTlsTrafficPolicyModuleRequest | null
    }, options?: CallOptions): Promise<TCPEdge>
    /** Delete a TCP edge. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly backend: {
      /** Replace the backend module of a TCP edge. */
      replace(id: string, body: BackendModuleRequest, options?: CallOptions): Promise<BackendModule>
      /** Get the backend module of a TCP edge. */
      get(id: string, options?: CallOptions): Promise<BackendModule>
      /** Delete the backend module of a TCP edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly ipRestriction: {
      /** Replace the ip_restriction module of a TCP edge. */
      replace(id: string, body: IpRestrictionModuleRequest, options?: CallOptions): Promise<IpRestrictionModule>
      /** Get the ip_restriction module of a TCP edge. */
      get(id: string, options?: CallOptions): Promise<IpRestrictionModule>
      /** Delete the ip_restriction module of a TCP edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
    readonly trafficPolicy: {
      /** Replace the traffic_policy module of a TCP edge. */
      replace(id: string, body: EdgesTlsTrafficPolicyModuleRequest, options?: CallOptions): Promise<EdgesTlsTrafficPolicyModule>
      /** Get the traffic_policy module of a TCP edge. */
      get(id: string, options?: CallOptions): Promise<EdgesTlsTrafficPolicyModule>
      /** Delete the traffic_policy module of a TCP edge. */
      delete(id: string, options?: CallOptions): Promise<void>
    }
  }
  /** Backends that return a fixed response. */
  readonly backendsHttpResponse: {
    /** Create an HTTP response backend. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The response body. */
      body?: string | null
      /** The response headers. */
      headers?: Record<string, string> | null
      /** The response status, such as 200 or 503. */
      status_code?: number | null
    }, options?: CallOptions): Promise<HTTPResponseBackend>
    /** List HTTP response backends: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'backends', HTTPResponseBackend>>
    /** List HTTP response backends: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<HTTPResponseBackend>
    /** Get an HTTP response backend. */
    get(id: string, options?: CallOptions): Promise<HTTPResponseBackend>
    /** Update an HTTP response backend. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The response body. */
      body?: string | null
      /** The response headers. */
      headers?: Record<string, string> | null
      /** The response status, such as 200 or 503. */
      status_code?: number | null
    }, options?: CallOptions): Promise<HTTPResponseBackend>
    /** Delete an HTTP response backend. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Backends that send traffic to all tunnels with the same labels. */
  readonly backendsTunnelGroup: {
    /** Create a tunnel group backend. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** Agents join the group with the same labels, such as app=shop. */
      labels?: Record<string, string> | null
    }, options?: CallOptions): Promise<TunnelGroupBackend>
    /** List tunnel group backends: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'backends', TunnelGroupBackend>>
    /** List tunnel group backends: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<TunnelGroupBackend>
    /** Get a tunnel group backend. */
    get(id: string, options?: CallOptions): Promise<TunnelGroupBackend>
    /** Update a tunnel group backend. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** Agents join the group with the same labels, such as app=shop. */
      labels?: Record<string, string> | null
    }, options?: CallOptions): Promise<TunnelGroupBackend>
    /** Delete a tunnel group backend. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Backends that split traffic by weight. */
  readonly backendsWeighted: {
    /** Create a weighted backend. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The weight of each backend, by its ID; from 0 to 10000. */
      backends?: Record<string, number> | null
    }, options?: CallOptions): Promise<WeightedBackend>
    /** List weighted backends: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'backends', WeightedBackend>>
    /** List weighted backends: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<WeightedBackend>
    /** Get a weighted backend. */
    get(id: string, options?: CallOptions): Promise<WeightedBackend>
    /** Update a weighted backend. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The weight of each backend, by its ID; from 0 to 10000. */
      backends?: Record<string, number> | null
    }, options?: CallOptions): Promise<WeightedBackend>
    /** Delete a weighted backend. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Backends that send traffic to the first child backend that is online. */
  readonly backendsFailover: {
    /** Create a failover backend. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The backends in order: the first that is online receives the traffic. */
      backends?: string[] | null
    }, options?: CallOptions): Promise<FailoverBackend>
    /** List failover backends: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'backends', FailoverBackend>>
    /** List failover backends: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<FailoverBackend>
    /** Get a failover backend. */
    get(id: string, options?: CallOptions): Promise<FailoverBackend>
    /** Update a failover backend. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The backends in order: the first that is online receives the traffic. */
      backends?: string[] | null
    }, options?: CallOptions): Promise<FailoverBackend>
    /** Delete a failover backend. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Backends that send traffic to an address that the server can reach. */
  readonly backendsStatic: {
    /** Create a static backend. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The host and port of the upstream service, such as 192.0.2.10:8080. */
      address: string
      /** Whether to connect to the upstream service over TLS. */
      tls?: {
        /** Whether to use TLS. */
        enabled?: boolean | null
      } | null
    }, options?: CallOptions): Promise<StaticBackend>
    /** List static backends: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'backends', StaticBackend>>
    /** List static backends: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<StaticBackend>
    /** Get a static backend. */
    get(id: string, options?: CallOptions): Promise<StaticBackend>
    /** Update a static backend. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The host and port of the upstream service, such as 192.0.2.10:8080. */
      address?: string | null
      /** Whether to connect to the upstream service over TLS. */
      tls?: {
        /** Whether to use TLS. */
        enabled?: boolean | null
      } | null
    }, options?: CallOptions): Promise<StaticBackend>
    /** Delete a static backend. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Pages that replace the error pages of the platform on the hosts of the account. */
  readonly errorPages: {
    /** Create an error page. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The status that the page is for, such as 502; 4xx and 5xx for the rest of their class; all for every other status. */
      status: string
      /** A complete HTML page of at most 64 KiB. {{status}}, {{title}}, {{message}}, {{next_step}}, {{owner_step}}, {{code}} and {{host}} are replaced. Styles and images must be in the page; scripts do not run. */
      html: string
    }, options?: CallOptions): Promise<ErrorPage>
    /** List error pages: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'error_pages', ErrorPage>>
    /** List error pages: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<ErrorPage>
    /** Get an error page. */
    get(id: string, options?: CallOptions): Promise<ErrorPage>
    /** Update an error page. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The status that the page is for, such as 502; 4xx and 5xx for the rest of their class; all for every other status. */
      status?: string | null
      /** A complete HTML page of at most 64 KiB. {{status}}, {{title}}, {{message}}, {{next_step}}, {{owner_step}}, {{code}} and {{host}} are replaced. Styles and images must be in the page; scripts do not run. */
      html?: string | null
    }, options?: CallOptions): Promise<ErrorPage>
    /** Delete an error page. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Named collections of secrets. */
  readonly vaults: {
    /** Create a vault. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The name by which traffic policies find the vault. It must be unique in the account. */
      name: string
    }, options?: CallOptions): Promise<Vault>
    /** List vaults: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'vaults', Vault>>
    /** List vaults: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<Vault>
    /** Get a vault. */
    get(id: string, options?: CallOptions): Promise<Vault>
    /** Update a vault. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The name by which traffic policies find the vault. It must be unique in the account. */
      name?: string | null
    }, options?: CallOptions): Promise<Vault>
    /** Delete a vault. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly secrets: {
      /** List the secrets of a vault: one page. */
      list(id: string, query?: {
        /** The maximum number of items. */
        limit?: number
        /** Only items created before this one. */
        before_id?: string
        /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
        filter?: string
      }, options?: CallOptions): Promise<Page<'secrets', VaultSecret>>
      /** List the secrets of a vault: the objects of all pages. */
      listAll(id: string, query?: {
        /** The maximum number of items. */
        limit?: number
        /** Only items created before this one. */
        before_id?: string
        /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
        filter?: string
      }, options?: CallOptions): AsyncIterable<VaultSecret>
    }
  }
  /** Secret values that traffic policies read. */
  readonly vaultSecrets: {
    /** Create a vault secret. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The name by which traffic policies find the secret. It must be unique in its vault. */
      name: string
      /** The secret value. It is never shown again. */
      value: string
      /** The vault that the secret belongs to. */
      vault_id?: string | null
      /** The name of the vault that the secret belongs to. Give this or vault_id to create a secret. */
      vault_name?: string | null
    }, options?: CallOptions): Promise<VaultSecret>
    /** List vault secrets: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'secrets', VaultSecret>>
    /** List vault secrets: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<VaultSecret>
    /** Get a vault secret. */
    get(id: string, options?: CallOptions): Promise<VaultSecret>
    /** Update a vault secret. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The name by which traffic policies find the secret. It must be unique in its vault. */
      name?: string | null
      /** The secret value. It is never shown again. */
      value?: string | null
    }, options?: CallOptions): Promise<VaultSecret>
    /** Delete a vault secret. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Where events are sent. */
  readonly eventDestinations: {
    /** Create an event destination. */
    create(body: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The format of events. The only supported format is json. */
      format?: string | null
      /** Where the events are sent. Choose exactly one target. */
      target: EventTargetRequest
    }, options?: CallOptions): Promise<EventDestination>
    /** List event destinations: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'event_destinations', EventDestination>>
    /** List event destinations: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<EventDestination>
    /** Get an event destination. */
    get(id: string, options?: CallOptions): Promise<EventDestination>
    /** Update an event destination. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The format of events. The only supported format is json. */
      format?: string | null
      /** Where the events are sent. Choose exactly one target. */
      target?: EventTargetRequest | null
    }, options?: CallOptions): Promise<EventDestination>
    /** Delete an event destination. */
    delete(id: string, options?: CallOptions): Promise<void>
    /** Send a test event to an event destination immediately, bypassing the queue. */
    sendTestEvent(id: string, body?: Record<string, never>, options?: CallOptions): Promise<{
      /** The ID of the test event. */
      event_id: string
    }>
  }
  /** Which events are sent to which destinations. */
  readonly eventSubscriptions: {
    /** Create an event subscription. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The events of the subscription. */
      sources?: ({
        /** The event type, such as ip_policy_created.v0. */
        type: string
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter?: string | null
        /** For traffic events only: the fields to send. */
        fields?: string[] | null
      })[] | null
      /** The destinations that receive the events. */
      destination_ids?: string[] | null
    }, options?: CallOptions): Promise<EventSubscription>
    /** List event subscriptions: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'event_subscriptions', EventSubscription>>
    /** List event subscriptions: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<EventSubscription>
    /** Get an event subscription. */
    get(id: string, options?: CallOptions): Promise<EventSubscription>
    /** Update an event subscription. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** The events of the subscription. */
      sources?: ({
        /** The event type, such as ip_policy_created.v0. */
        type: string
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter?: string | null
        /** For traffic events only: the fields to send. */
        fields?: string[] | null
      })[] | null
      /** The destinations that receive the events. */
      destination_ids?: string[] | null
    }, options?: CallOptions): Promise<EventSubscription>
    /** Delete an event subscription. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly sources: {
      /** Add an event source to a subscription. */
      create(subscriptionId: string, body: {
        /** The event type, such as ip_policy_created.v0. */
        type: string
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter?: string | null
        /** For traffic events only: the fields to send. */
        fields?: string[] | null
      }, options?: CallOptions): Promise<{
        /** The event type, such as ip_policy_created.v0. */
        type: string
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter: string
        /** For traffic events only: the fields to send. */
        fields: string[]
        /** The address of this object in the API. */
        uri: string
      }>
      /** List the event sources of a subscription. */
      list(subscriptionId: string, options?: CallOptions): Promise<{
        /** The events of the subscription. */
        sources: {
          /** The event type, such as ip_policy_created.v0. */
          type: string
          /** For traffic events only: a CEL expression that selects the events to send. */
          filter: string
          /** For traffic events only: the fields to send. */
          fields: string[]
          /** The address of this object in the API. */
          uri: string
        }[]
        /** The address of this object in the API. */
        uri: string
      }>
      /** Get an event source of a subscription. */
      get(subscriptionId: string, type: string, options?: CallOptions): Promise<{
        /** The event type, such as ip_policy_created.v0. */
        type: string
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter: string
        /** For traffic events only: the fields to send. */
        fields: string[]
        /** The address of this object in the API. */
        uri: string
      }>
      /** Update an event source of a subscription. */
      update(subscriptionId: string, type: string, body?: {
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter?: string | null
        /** For traffic events only: the fields to send. */
        fields?: string[] | null
      }, options?: CallOptions): Promise<{
        /** The event type, such as ip_policy_created.v0. */
        type: string
        /** For traffic events only: a CEL expression that selects the events to send. */
        filter: string
        /** For traffic events only: the fields to send. */
        fields: string[]
        /** The address of this object in the API. */
        uri: string
      }>
      /** Remove an event source from a subscription. */
      delete(subscriptionId: string, type: string, options?: CallOptions): Promise<void>
    }
  }
  /** People with access to the account. */
  readonly users: {
    /** Create a user. */
    create(body: {
      /** The email address, which is also the sign-in name. */
      email: string
      /** The display name. */
      name?: string | null
      /** What the user may do: read the account, change it, or administer it. */
      role?: "read_only" | "developer" | "admin" | null
      /** Inactive users can neither sign in nor use their credentials. */
      active?: boolean | null
    }, options?: CallOptions): Promise<User>
    /** List users: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'users', User>>
    /** List users: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<User>
    /** Get a user. */
    get(id: string, options?: CallOptions): Promise<User>
    /** Update a user. */
    update(id: string, body?: {
      /** The display name. */
      name?: string | null
      /** What the user may do: read the account, change it, or administer it. */
      role?: "read_only" | "developer" | "admin" | null
      /** Inactive users can neither sign in nor use their credentials. */
      active?: boolean | null
    }, options?: CallOptions): Promise<User>
    /** Delete a user. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Users for programs. */
  readonly botUsers: {
    /** Create a bot user. */
    create(body: {
      /** The program or service that the bot user represents. */
      name: string
      /** What its credentials may do: read the account, change it, or administer it. */
      role?: "read_only" | "developer" | "admin" | null
      /** An inactive bot user cannot use its credentials. */
      active?: boolean | null
    }, options?: CallOptions): Promise<BotUser>
    /** List bot users: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'bot_users', BotUser>>
    /** List bot users: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<BotUser>
    /** Get a bot user. */
    get(id: string, options?: CallOptions): Promise<BotUser>
    /** Update a bot user. */
    update(id: string, body?: {
      /** The program or service that the bot user represents. */
      name?: string | null
      /** What its credentials may do: read the account, change it, or administer it. */
      role?: "read_only" | "developer" | "admin" | null
      /** An inactive bot user cannot use its credentials. */
      active?: boolean | null
    }, options?: CallOptions): Promise<BotUser>
    /** Delete a bot user. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Records of URLs that were reported for abuse. A report does not block anything. */
  readonly abuseReports: {
    /** Create an abuse report. */
    create(body: {
      /** The reported URLs, at most 100. */
      urls: string[]
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
    }, options?: CallOptions): Promise<AbuseReport>
    /** List abuse reports: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'abuse_reports', AbuseReport>>
    /** List abuse reports: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<AbuseReport>
    /** Get an abuse report. */
    get(id: string, options?: CallOptions): Promise<AbuseReport>
  }
  /** Operators in Kubernetes clusters that manage endpoints for them. */
  readonly kubernetesOperators: {
    /** Create a Kubernetes operator. */
    create(body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** What the operator does in its cluster: ingress, gateway, bindings. */
      enabled_features?: string[] | null
      /** The region that the operator connects to. */
      region?: string | null
      /** Where the operator runs. */
      deployment?: OperatorDeploymentRequest | null
      /** Which endpoints are bound to the cluster. Without it, none are. */
      binding?: OperatorBindingRequest | null
    }, options?: CallOptions): Promise<KubernetesOperator>
    /** List Kubernetes operators: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'operators', KubernetesOperator>>
    /** List Kubernetes operators: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<KubernetesOperator>
    /** Get a Kubernetes operator. */
    get(id: string, options?: CallOptions): Promise<KubernetesOperator>
    /** Update a Kubernetes operator. */
    update(id: string, body?: {
      /** What it is for. Shown in lists. At most 255 bytes. */
      description?: string | null
      /** Free text for your own programs, often JSON. At most 4096 bytes. */
      metadata?: string | null
      /** What the operator does in its cluster: ingress, gateway, bindings. */
      enabled_features?: string[] | null
      /** The region that the operator connects to. */
      region?: string | null
      /** Where the operator runs. */
      deployment?: OperatorDeploymentRequest | null
      /** Which endpoints are bound to the cluster. Without it, none are. */
      binding?: OperatorBindingRequest | null
    }, options?: CallOptions): Promise<KubernetesOperator>
    /** Delete a Kubernetes operator. */
    delete(id: string, options?: CallOptions): Promise<void>
    readonly boundEndpoints: {
      /** List the endpoints that are bound to the cluster of a Kubernetes operator: one page. */
      list(id: string, query?: {
        /** The maximum number of items. */
        limit?: number
        /** Only items created before this one. */
        before_id?: string
        /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
        filter?: string
      }, options?: CallOptions): Promise<Page<'endpoints', Endpoint>>
      /** List the endpoints that are bound to the cluster of a Kubernetes operator: the objects of all pages. */
      listAll(id: string, query?: {
        /** The maximum number of items. */
        limit?: number
        /** Only items created before this one. */
        before_id?: string
        /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
        filter?: string
      }, options?: CallOptions): AsyncIterable<Endpoint>
    }
  }
  /** Users for programs: another name for bot users. */
  readonly serviceUsers: {
    /** Create a service user. */
    create(body: {
      /** The program or service that the bot user represents. */
      name: string
      /** What its credentials may do: read the account, change it, or administer it. */
      role?: "read_only" | "developer" | "admin" | null
      /** An inactive bot user cannot use its credentials. */
      active?: boolean | null
    }, options?: CallOptions): Promise<ServiceUser>
    /** List service users: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'service_users', ServiceUser>>
    /** List service users: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<ServiceUser>
    /** Get a service user. */
    get(id: string, options?: CallOptions): Promise<ServiceUser>
    /** Update a service user. */
    update(id: string, body?: {
      /** The program or service that the bot user represents. */
      name?: string | null
      /** What its credentials may do: read the account, change it, or administer it. */
      role?: "read_only" | "developer" | "admin" | null
      /** An inactive bot user cannot use its credentials. */
      active?: boolean | null
    }, options?: CallOptions): Promise<ServiceUser>
    /** Delete a service user. */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  /** Connected agents and SSH clients. */
  readonly tunnelSessions: {
    /** List tunnel sessions that are online: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'tunnel_sessions', TunnelSession>>
    /** List tunnel sessions that are online: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<TunnelSession>
    /** Get a tunnel session that is online. */
    get(id: string, options?: CallOptions): Promise<TunnelSession>
    /** Restart the agent of a tunnel session; it reconnects with a new session ID. */
    restart(id: string, body?: Record<string, never>, options?: CallOptions): Promise<void>
    /** Stop the agent of a tunnel session. */
    stop(id: string, body?: Record<string, never>, options?: CallOptions): Promise<void>
    /** Update the agent of a tunnel session, never to a new major version. */
    update(id: string, body?: Record<string, never>, options?: CallOptions): Promise<void>
  }
  /** Tunnels that are online. */
  readonly tunnels: {
    /** List tunnels that are online: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'tunnels', Tunnel>>
    /** List tunnels that are online: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<Tunnel>
    /** Get a tunnel that is online. */
    get(id: string, options?: CallOptions): Promise<Tunnel>
  }
  /** Visitors who have signed in through the OAuth, OpenID Connect and SAML modules and actions. Deleting one ends all their sessions; they can sign in again. */
  readonly appUsers: {
    /** Get an application user. */
    get(id: string, options?: CallOptions): Promise<ApplicationUser>
    /** Delete an application user. */
    delete(id: string, options?: CallOptions): Promise<void>
    /** List application users: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'application_users', ApplicationUser>>
    /** List application users: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<ApplicationUser>
  }
  /** Sessions of visitors who have signed in through the OAuth, OpenID Connect and SAML modules and actions. Deleting one signs the visitor out. */
  readonly appSessions: {
    /** Get an application session. */
    get(id: string, options?: CallOptions): Promise<ApplicationSession>
    /** Delete an application session. */
    delete(id: string, options?: CallOptions): Promise<void>
    /** List application sessions: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'application_sessions', ApplicationSession>>
    /** List application sessions: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<ApplicationSession>
  }
  /** A record of every change and every sign-in. */
  readonly auditEvents: {
    /** List the audit log, newest first: one page. */
    list(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): Promise<Page<'audit_events', {
      /** The unique ID. */
      id: string
      /** When it happened, in RFC 3339 format. */
      at: string
      /** The user or bot user who made the call. */
      principal: string | null
      /** The API key or dashboard session of the call. */
      credential: string | null
      /** The IP address of the call. */
      source: string | null
      /** The ID of the call, which is also in its response headers and in the log of the server. */
      operation_id: string
      /** What was done. */
      action: string
      /** The kind of object. */
      kind: string
      /** The ID of the object. */
      object: string | null
      /** Whether the call succeeded. */
      outcome: string
      /** Further details. */
      detail: string | null
      /** The fields that the call changed or, for a deletion, removed. */
      changes: {
        /** The name of the field, with dots for nested ones. */
        field: string
        /** The value before the call; null if it was unset. */
        old?: unknown
        /** The value after the call; null if it is unset. */
        new?: unknown
        /** True for a secret, whose values are never recorded. */
        secret?: boolean
      }[] | null
      /** The hash of this record and the previous one, which makes changes to the log detectable. */
      hash: string
    }>>
    /** List the audit log, newest first: the objects of all pages. */
    listAll(query?: {
      /** The maximum number of items. */
      limit?: number
      /** Only items created before this one. */
      before_id?: string
      /** Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`. */
      filter?: string
    }, options?: CallOptions): AsyncIterable<{
      /** The unique ID. */
      id: string
      /** When it happened, in RFC 3339 format. */
      at: string
      /** The user or bot user who made the call. */
      principal: string | null
      /** The API key or dashboard session of the call. */
      credential: string | null
      /** The IP address of the call. */
      source: string | null
      /** The ID of the call, which is also in its response headers and in the log of the server. */
      operation_id: string
      /** What was done. */
      action: string
      /** The kind of object. */
      kind: string
      /** The ID of the object. */
      object: string | null
      /** Whether the call succeeded. */
      outcome: string
      /** Further details. */
      detail: string | null
      /** The fields that the call changed or, for a deletion, removed. */
      changes: {
        /** The name of the field, with dots for nested ones. */
        field: string
        /** The value before the call; null if it was unset. */
        old?: unknown
        /** The value after the call; null if it is unset. */
        new?: unknown
        /** True for a secret, whose values are never recorded. */
        secret?: boolean
      }[] | null
      /** The hash of this record and the previous one, which makes changes to the log detectable. */
      hash: string
    }>
  }
  /** The whole account as one document. */
  readonly account: {
    /** Make the account match a document. */
    apply(body?: AccountDocumentRequest, options?: CallOptions): Promise<AccountReport>
    /** Export the account as a document. */
    export(options?: CallOptions): Promise<AccountExport>
  }
  /** What the API holds, and who is calling it. */
  readonly root: {
    /** List the addresses of all lists. */
    get(options?: CallOptions): Promise<{
      /** The address of the API. */
      uri: string
      /** The address of every list by its name. */
      subresource_uris: Record<string, string>
    }>
    /** Get the API key, the account and the user of the call. */
    self(options?: CallOptions): Promise<{
      /** The API key of the call; null for a call of the dashboard. */
      api_key: APIKey | null
      /** The account that the call acts on. */
      account: {
        /** The unique ID. */
        id: string
        /** The name of the account. */
        name: string
        /** When it was created, in RFC 3339 format. */
        created_at: string
        /** Always false. */
        suspended: boolean
        /** Always false. */
        enforce_sso: boolean
        /** The oldest version of the API that is served. */
        min_api_version: number
        /** Always empty: agents of every version may connect. */
        min_agent_version: string
        /** Always false. */
        user_mfa_required: boolean
        /** Always false. */
        traffic_full_capture: boolean
      }
      /** The ID of the user or bot user for whom the call acts. */
      user: string
    }>
  }
}
